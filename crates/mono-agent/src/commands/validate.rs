//! `validate` (and `doctor`): what is right and what is not.

use crate::answer::{Failure, print};
use crate::args::Place;
use crate::door::{names_a_missing_file, whereabouts};
use host_app::validate;
use std::fmt::Write as _;
use std::process::ExitCode;

pub async fn run(place: &Place) -> Result<ExitCode, Failure> {
    let whereabouts = whereabouts(place)?;
    // A file that was named and isn't there is misuse, not a report.
    let loaded = host_app::load_agent(&whereabouts);
    if names_a_missing_file(place, &loaded) {
        return Err(Failure::of_findings(&loaded.findings, true));
    }
    drop(loaded);
    let report = validate(&whereabouts).await;
    print(place, &report, || {
        let mut text = String::new();
        for section in &report.sections {
            let status = format!("{:?}", section.status).to_lowercase();
            let _infallible = writeln!(text, "{status:<8} {}", section.title);
            for line in &section.lines {
                let _infallible = writeln!(text, "         {}", line.replace('\n', "\n         "));
            }
        }
        text
    });
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
