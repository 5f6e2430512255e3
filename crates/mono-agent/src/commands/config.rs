//! `config`: every setting with its value and where it comes from; the schema; the reference page.

use crate::answer::{Failure, print, print_line};
use crate::args::Place;
use crate::door::whereabouts;
use host_app::load_agent;
use host_config::{reference_markdown, schema, view};
use serde_json::json;
use std::process::ExitCode;

pub fn run(place: &Place, wants_schema: bool, wants_reference: bool) -> Result<ExitCode, Failure> {
    if wants_schema {
        print_line(&serde_json::to_string_pretty(&schema()).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    if wants_reference {
        print_line(&reference_markdown());
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = load_agent(&whereabouts(place)?);
    let rows = view(&loaded.settings);
    let findings: Vec<_> = loaded.findings.iter().map(|it| it.diagnostic.to_string()).collect();
    print(place, &json!({"settings": rows, "findings": loaded.findings}), || {
        let mut lines: Vec<String> = rows.iter().map(host_config::ViewRow::line).collect();
        if !findings.is_empty() {
            lines.push(String::new());
            lines.extend(findings);
        }
        lines.join("\n")
    });
    Ok(if loaded.spec.is_some() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
