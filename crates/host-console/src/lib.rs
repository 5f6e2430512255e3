//! The web console's server side: one console for all agents of a user.
//!
//! [`Console`] owns conversations, messages and the turns that are underway; a browser holds a picture of them.
//! It never talks to an agent itself but through [`AgentHosts`], keeps its rows in a [`ConsoleStore`] and uploads
//! in [`UploadFiles`]. [`Console::answer`] takes one request of a browser, already parsed by whoever listens, and
//! gives the response. What both sides say to each other is the page `docs/design/console-api.md`.
//!
//! Read `routes.rs` next, then `turns.rs`.

mod agents;
mod answer;
mod asks;
mod assets;
mod console;
mod error;
mod feed;
mod find;
mod guard;
mod parts;
mod paths;
mod routes;
mod shapes;
mod store;
mod submit;
mod thread_routes;
mod turns;
mod uploads;
mod web;

pub use agents::{
    AgentHosts, FoundAgent, HostAnswer, HostApproval, HostFault, HostFrame, HostQuestion, TurnLink, TurnOrder,
};
pub use console::{Console, ConsoleParts};
pub use error::{Fault, Refused};
pub use guard::{Access, LoginToken};
pub use shapes::{
    Answer, Ask, AskKind, Call, CallState, Density, FollowUp, FollowUpState, Message, Quote, RunState,
    RunStatus, Settings, Step, Thread, Upload, UserMessage,
};
pub use store::{
    Change, ConsoleStore, HitRow, MessageRow, StoreError, Submission, ThreadPlace, ThreadQuery, UploadRow,
};
pub use uploads::{StoredFile, UploadError, UploadFiles};
pub use web::{WebBody, WebRequest, WebResponse};
