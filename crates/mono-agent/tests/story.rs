//! Whole-host stories: the built binary, real folders, the real sandbox, real servers.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "stories prepare folders and start the built program; what can't be set up fails the test"
)]

mod story {
    pub mod agent;
    mod approvals;
    mod canary;
    mod commands;
    mod config;
    mod hard_luck;
    mod helpers;
    mod history;
    mod history_edges;
    mod hosts;
    mod library;
    mod machine_forms;
    mod mcp_config;
    mod memory;
    mod memory_models;
    mod plugins;
    mod policy;
    mod providers;
    mod run_context;
    mod servers;
    mod terminal;
    mod tool_search;
    mod turns;
    mod web;
}
