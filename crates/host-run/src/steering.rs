//! What people say to a turn that runs (ENG-8). It is offered to the run, which reads it between two requests to its
//! model; what comes after the last one is never read, and whoever sent it is told so by silence.

use std::sync::Mutex;
use tokio::sync::mpsc;

/// The most words that wait for a run.
const WAITING_MAX: usize = 100;

/// One thing said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A follow-up.
    FollowUp {
        /// Names it.
        id: String,
        /// The words.
        text: String,
    },
    /// A follow-up is taken back, if it was not read yet.
    TakenBack {
        /// Which.
        id: String,
    },
}

/// The run's end.
pub struct Steering(pub(crate) Mutex<mpsc::Receiver<Said>>);

/// The people's end.
#[derive(Debug, Clone)]
pub struct Steer(mpsc::Sender<Said>);

/// Both ends.
pub fn steering() -> (Steer, Steering) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    (Steer(sender), Steering(Mutex::new(receiver)))
}

impl Steer {
    /// Offers a follow-up. One that there is no room for is as if it had come too late.
    pub fn say(&self, id: String, text: String) {
        let _full = self.0.try_send(Said::FollowUp { id, text });
    }

    /// Takes one back.
    pub fn take_back(&self, id: String) {
        let _full = self.0.try_send(Said::TakenBack { id });
    }
}
