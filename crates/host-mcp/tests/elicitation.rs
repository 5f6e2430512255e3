//! What servers ask of a person in the middle of a call (MCP-14).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use host_mcp::{McpPool, PoolOptions};
use host_ports::BoxFuture;
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest, Wanted};
use host_surface::{CallRequest, How};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

/// A person who gives one answer after a while, and remembers what was asked.
struct Person {
    answer: ElicitAnswer,
    after: Duration,
    asked: Mutex<Vec<String>>,
}

impl Person {
    fn says(answer: ElicitAnswer) -> Arc<Self> {
        Arc::new(Person { answer, after: Duration::ZERO, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Elicit for Person {
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer> {
        let wanted = match request.wanted.for_renderer() {
            Wanted::Form(schema) => schema["properties"].to_string(),
            Wanted::Visit(url) => url.to_string(),
        };
        let line = format!("{} asks {:?}: {wanted}", request.server, request.message.for_renderer());
        self.asked.lock().unwrap().push(line);
        Box::pin(async move {
            tokio::time::sleep(self.after).await;
            self.answer.clone()
        })
    }
}

fn with(mode: &[&str], person: Option<Arc<Person>>, timeout: Duration) -> McpPool {
    let elicit = person.map(|person| person as Arc<dyn Elicit>);
    let options = PoolOptions { elicit, roots: vec!["/srv/data".into()], ..options() };
    pool_with(vec![hostile_within("a", mode, timeout)], options)
}

const LONG: Duration = Duration::from_secs(20);

async fn ask(pool: &McpPool, tool: &str) -> (How, String) {
    let surface = surface(pool).await;
    let settled = call(&surface, &format!("mcp__a__{tool}"), json!({})).await;
    (settled.how, settled.text())
}

// MCP-14
#[tokio::test]
async fn a_form_is_answered_in_both_eras() {
    for mode in ["asks", "modern-asks"] {
        let person = Person::says(ElicitAnswer::Accepted(json!({"name": "Ada"})));
        let pool = with(&[mode], Some(Arc::clone(&person)), LONG);
        let (how, text) = ask(&pool, "ask").await;
        assert_eq!(how, How::Done, "{mode}: {text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let answer = answer["responses"]["q"].as_object().map_or(answer.clone(), |it| json!(it));
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada", "size": 3}}), "{mode}");
        assert!(person.asked()[0].starts_with("a asks \"Who are you?\""), "{:?}", person.asked());
        let (how, text) = ask(&pool, "visit").await;
        assert!(how == How::Done && text.contains("accept") && !text.contains("content"), "{mode}: {text}");
        assert!(person.asked()[1].contains("https://example.com/in"));
        pool.shutdown().await;
    }
}

// MCP-14
#[tokio::test]
async fn no_and_a_wrong_answer_are_told_and_nothing_is_made_up() {
    let wrong = ElicitAnswer::Accepted(json!({"name": 7}));
    for (answer, action) in
        [(ElicitAnswer::Declined, "decline"), (ElicitAnswer::Cancelled, "cancel"), (wrong, "cancel")]
    {
        for mode in ["asks", "modern-asks"] {
            let pool = with(&[mode], Some(Person::says(answer.clone())), LONG);
            let (how, text) = ask(&pool, "ask").await;
            assert!(how == How::Done && text.contains(action) && !text.contains("content"), "{mode}: {text}");
            pool.shutdown().await;
        }
    }
}

// MCP-14
#[tokio::test]
async fn without_anybody_it_is_declined_or_the_call_says_so() {
    let pool = with(&["asks"], None, LONG);
    assert_eq!(ask(&pool, "ask").await, (How::Done, r#"{"action": "decline"}"#.to_owned()));
    pool.shutdown().await;
    let pool = with(&["modern-asks"], None, LONG);
    let (how, text) = ask(&pool, "ask").await;
    assert!(how != How::Done && text.contains("nobody can be asked"), "{text}");
    // Sampling is off.
    let (how, text) = ask(&pool, "sample").await;
    assert!(how != How::Done && text.contains("model, which is off (tools.mcpSampling)"), "{text}");
    pool.shutdown().await;
}

// MCP-14
#[tokio::test]
async fn rounds_end_after_ten_and_the_state_goes_back_untouched() {
    let pool = with(&["modern-asks", "10"], None, LONG);
    assert_eq!(ask(&pool, "again").await, (How::Done, "10 rounds".to_owned()));
    pool.shutdown().await;
    let pool = with(&["modern-asks", "11"], None, LONG);
    let (how, text) = ask(&pool, "again").await;
    assert!(how != How::Done && text.contains("after 10 rounds"), "{text}");
    // The server is well.
    assert_eq!(ask(&pool, "ping").await.1, "pong");
    pool.shutdown().await;
}

// MCP-3, MCP-14: a call waits until the session's own stream is open; a question on it would be lost else.
#[tokio::test]
async fn what_a_server_asks_on_its_own_stream_is_not_lost() {
    let fake = support::fake::Fake::start("own-stream", "").await;
    let person = Person::says(ElicitAnswer::Accepted(json!({})));
    let mut config = host_mcp::McpServerConfig::http(server_name("a"), fake.url());
    config.timeout = Duration::from_secs(5);
    let elicit = Some(Arc::clone(&person) as Arc<dyn Elicit>);
    let pool = pool_with(vec![config], PoolOptions { elicit, ..options() });
    let (how, text) = ask(&pool, "ping").await;
    assert_eq!(how, How::Done, "{text}");
    assert_eq!(person.asked().len(), 1);
    pool.shutdown().await;
}

// MCP-12, MCP-14
#[tokio::test]
async fn a_person_may_take_longer_than_the_server_and_a_cancelled_call_withdraws_the_question() {
    let slow = |after| {
        let answer = ElicitAnswer::Accepted(json!({"name": "Ada"}));
        Arc::new(Person { answer, after, asked: Mutex::default() })
    };
    let pool = with(&["asks"], Some(slow(Duration::from_secs(4))), Duration::from_secs(2));
    let (how, text) = ask(&pool, "ask").await;
    assert!(how == How::Done && text.contains("Ada"), "{text}");
    pool.shutdown().await;
    for mode in ["asks", "modern-asks"] {
        let person = slow(Duration::from_secs(600));
        let pool = with(&[mode], Some(Arc::clone(&person)), LONG);
        let surface = surface(&pool).await;
        let request = CallRequest::new("mcp__a__ask", json!({}));
        let cancel = request.cancel.clone();
        let stops = async {
            while person.asked().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            cancel.cancel();
        };
        let both = async { tokio::join!(surface.call(request), stops) };
        let (settled, ()) = tokio::time::timeout(Duration::from_secs(10), both).await.unwrap();
        assert!(settled.how != How::Done, "{mode}: {}", settled.text());
        pool.shutdown().await;
    }
}
