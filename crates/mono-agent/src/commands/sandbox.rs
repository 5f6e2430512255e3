//! `sandbox status`, `sandbox check`.

use crate::answer::{Failure, print};
use crate::args::{Place, Sandbox};
use crate::door::load;
use host_app::{Agent, OpenOptions};
use std::process::ExitCode;

pub async fn run(place: &Place, verb: &Sandbox) -> Result<ExitCode, Failure> {
    let options = OpenOptions { needs_model: false, ..OpenOptions::default() };
    let agent = Agent::open(load(place)?, options).await?;
    let sandbox = agent.sandbox().cloned();
    let _ = (sandbox, verb);
    agent.close().await;
    Ok(ExitCode::SUCCESS)
}
