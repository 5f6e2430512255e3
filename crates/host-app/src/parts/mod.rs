//! From settings to parts: one file for each part of the host.

pub(crate) mod governance;
pub(crate) mod history;
pub(crate) mod kept;
pub(crate) mod models;
pub(crate) mod plugins;
pub(crate) mod prompt;
pub(crate) mod sandbox;
pub(crate) mod servers;
pub(crate) mod sources;
pub(crate) mod store;
pub(crate) mod vault;
pub(crate) mod web;
