//! One file for each verb.

pub mod approvals;
pub mod audit;
pub mod call;
pub mod chat;
pub mod completions;
pub mod config;
pub mod control;
pub mod host;
pub mod init;
pub mod logs;
pub mod mcp;
pub mod memory;
pub mod run;
pub mod runs;
pub mod sandbox;
pub mod sessions;
pub mod show;
pub mod standing;
pub mod tools;
pub mod validate;
pub mod web;
