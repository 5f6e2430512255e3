//! `call TOOL JSON`: one tool through the same gate as a run, without a model.

use crate::answer::{Failure, print};
use crate::args::{Call, Place};
use crate::door::{Door, on_interrupt};
use host_app::operator::protocol::{Request, UNKNOWN_CHANNEL};
use host_app::{OpenOptions, People};
use host_channels::terminal::{Lines, TerminalAsk, TerminalElicit};
use host_run::EventSink;
use host_surface::Arguments;
use host_vocab::limits::ARGUMENT_BYTES_MAX;
use serde_json::Value;
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

pub async fn run(place: &Place, call: Call) -> Result<ExitCode, Failure> {
    let arguments = arguments(&call)?;
    let options = OpenOptions { needs_model: false, ..OpenOptions::default() };
    let door = Door::open(place, call.local, options).await?;
    let lines = Arc::new(Lines::of_stdin());
    let timeout = match &door {
        Door::Here(agent) => agent.approval_timeout(),
        // The host keeps its own time; this end only must not be quicker.
        Door::Joined(_) => std::time::Duration::from_secs(600),
    };
    let people = People {
        ask: Arc::new(TerminalAsk::new(Arc::clone(&lines), timeout)),
        desk: None,
        elicit: Some(Arc::new(TerminalElicit::new(lines, timeout))),
    };
    let cancel = on_interrupt();
    let settled = match &door {
        Door::Here(agent) => agent
            .call(&call.channel, &call.tool, Arguments::Raw(arguments), people, cancel)
            .await
            .map(|settled| settled.to_json())
            .map_err(|error| super::tools::sealed(&error)),
        Door::Joined(client) => {
            let request = Request::Call {
                channel: call.channel.clone(),
                tool: call.tool.clone(),
                arguments,
                can_approve: true,
                can_elicit: true,
            };
            client.with_people(request, &people, EventSink::default(), cancel).await.map_err(Failure::from)
        }
    };
    door.close().await;
    let settled = settled?;
    if let Some(error) = settled.get("error").and_then(Value::as_str) {
        return Err(if settled["code"] == UNKNOWN_CHANNEL {
            Failure::usage(error)
        } else {
            Failure::system(error)
        });
    }
    print(place, &settled, || text(&settled));
    let done = settled["settled"] == "done";
    if !done && !place.json {
        eprintln!(
            "{} ({})",
            settled["settled"].as_str().unwrap_or("?"),
            settled["code"].as_str().unwrap_or("?")
        );
    }
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The arguments as they were given, checked for being JSON: anything else is misuse, not a tool's answer.
fn arguments(call: &Call) -> Result<String, Failure> {
    let (text, from) = match (&call.input_file, call.arguments.as_str()) {
        (Some(path), _) => {
            let bytes = host_files::state::read_bounded(path, ARGUMENT_BYTES_MAX as u64)
                .map_err(|error| Failure::usage(format!("--input-file: {error}")))?;
            let text = String::from_utf8(bytes).map_err(|_| Failure::usage("the input file is not UTF-8"))?;
            (text, path.display().to_string())
        }
        (None, "-") => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(ARGUMENT_BYTES_MAX as u64 + 1)
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage(format!("standard input can't be read: {error}")))?;
            (text, "standard input".to_owned())
        }
        (None, given) => (given.to_owned(), "the arguments".to_owned()),
    };
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.len() > ARGUMENT_BYTES_MAX {
        return Err(Failure::usage(format!("{from}: more than {ARGUMENT_BYTES_MAX} bytes")));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("{from}: no JSON: {error}"))),
    }
}

fn text(settled: &Value) -> String {
    let blocks: Vec<host_vocab::Block> =
        serde_json::from_value(settled["content"].clone()).unwrap_or_default();
    host_vocab::text::printable(&host_vocab::blocks_text(&blocks))
}
