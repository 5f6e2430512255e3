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
    let well = match (sandbox, verb) {
        (None, _) => true,
        (Some(sandbox), Sandbox::Status) => {
            let status = sandbox.status().await;
            print(place, &status, || status.to_string());
            true
        }
        (Some(sandbox), Sandbox::Check) => {
            let check = sandbox.check().await;
            print(place, &check, || check.to_string());
            check.passed
        }
    };
    agent.close().await;
    Ok(ExitCode::from(u8::from(!well)))
}
