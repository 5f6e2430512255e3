//! `approvals list|revoke`: what people allowed from now on (TOO-9).

use crate::answer::{Failure, print};
use crate::args::{Approvals, Place};
use crate::door::{client, state_here};
use host_app::operator::protocol::Request;
use host_app::operator::{ClientError, View};
use host_app::{StandingRule, StandingRules};
use host_http::ConnectError;
use host_vocab::text::{one_line, printable};
use serde_json::{Value, json};
use std::process::ExitCode;

pub async fn run(place: &Place, verb: Option<Approvals>) -> Result<ExitCode, Failure> {
    match verb.unwrap_or(Approvals::List) {
        Approvals::List => list(place),
        Approvals::Revoke { id } => revoke(place, &id).await,
    }
}

fn rules(place: &Place) -> Result<StandingRules, Failure> {
    StandingRules::open(state_here(place)?.root()).map_err(Failure::system)
}

fn list(place: &Place) -> Result<ExitCode, Failure> {
    let rules = rules(place)?.list();
    print(place, &json!({"rules": rules}), || {
        if rules.is_empty() {
            return "nothing is allowed from now on; every question is asked".to_owned();
        }
        rules.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    Ok(ExitCode::SUCCESS)
}

fn line(rule: &StandingRule) -> String {
    let used = rule.last_used_at.as_deref().unwrap_or("never used");
    printable(&format!(
        "{}  {}\n    given {} in {}, last used {used}",
        rule.id,
        one_line(&rule.rule.to_string(), 300),
        rule.added_at,
        rule.added_by
    ))
}

/// A running host holds its rules itself, so it is told.
async fn revoke(place: &Place, id: &str) -> Result<ExitCode, Failure> {
    let look = View::RevokeApproval { id: id.to_owned() };
    let none = || {
        Failure::usage(format!(
            "there is no approval {:?}; `mono-agent approvals` lists them",
            one_line(id, 60)
        ))
    };
    match client(&state_here(place)?).ask(Request::View { look }).await {
        Ok(_) => {}
        Err(ClientError::Refused { code, .. }) if code == "not_found" => return Err(none()),
        Err(ClientError::Connect(ConnectError::NotRunning) | ClientError::Gone) => {
            if !rules(place)?.revoke(id).map_err(Failure::system)? {
                return Err(none());
            }
        }
        Err(error) => return Err(error.into()),
    }
    let told: Value = json!({"revoked": id});
    print(place, &told, || "it is asked again from now on".to_owned());
    Ok(ExitCode::SUCCESS)
}
