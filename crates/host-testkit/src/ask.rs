//! A person with answers ready.

use host_ports::BoxFuture;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask};
use std::sync::Mutex;

/// Answers every question with the next of a list, then with no; keeps what was asked.
#[derive(Default)]
pub struct Answers {
    answers: Mutex<Vec<ApprovalAnswer>>,
    asked: Mutex<Vec<String>>,
}

impl Answers {
    /// These answers, first one first.
    pub fn new(mut answers: Vec<ApprovalAnswer>) -> Self {
        answers.reverse();
        Answers { answers: Mutex::new(answers), asked: Mutex::default() }
    }

    /// The tools that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics while it holds this").clone()
    }
}

impl Ask for Answers {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.asked.lock().expect("no test panics while it holds this").push(request.tool.to_string());
        let answer = self.answers.lock().expect("no test panics while it holds this").pop();
        Box::pin(async move { answer.unwrap_or(ApprovalAnswer::Denied) })
    }
}
