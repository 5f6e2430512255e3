//! `init`: a folder becomes an agent.

use crate::answer::{Failure, print};
use crate::args::{Init, Place};
use crate::door::whereabouts;
use host_app::{Whereabouts, sandbox_works};
use host_channels::terminal::{LineRead, Lines};
use host_config::{
    InitChoices, InitFile, InitTools, ModelRef, allow_all_opens, init_files, needs_second_confirmation,
};
use host_policy::{PolicyInput, create_tool_policy};
use serde_json::json;
use std::process::ExitCode;

pub fn run(place: &Place, init: &Init) -> Result<ExitCode, Failure> {
    let at = whereabouts(place)?;
    let folder = at.folder.clone();
    let mut choices =
        InitChoices { name: init.name.clone(), model: init.model.clone(), ..InitChoices::default() };
    if let Some(names) = &init.allow {
        choices.tools = InitTools::Only(names.iter().filter(|name| !name.is_empty()).cloned().collect());
    }
    check(&choices)?;
    choices.names_mcp_file = host_files::state::is_file(&folder.join("mcp.json"));
    // Any flag, a pipe, or --json means that nobody is to be asked.
    let guided =
        init.model.is_none() && init.name.is_none() && init.allow.is_none() && !init.dry_run && !place.json;
    if guided && !ask(&mut choices, &at)? {
        return Err(Failure::usage("nothing was written"));
    }
    check(&choices)?;
    let is_there = |name: &str| host_files::state::is_file(&folder.join(name));
    let files = init_files(&choices, &is_there);
    for file in files.iter().filter(|file| !file.is_there && !init.dry_run) {
        host_files::state::write_atomic(&folder.join(file.name), file.text.as_bytes(), 0o644)
            .map_err(Failure::system)?;
    }
    let rows: Vec<_> = files
        .iter()
        .map(|file| json!({"file": file.name, "written": !file.is_there && !init.dry_run, "isThere": file.is_there}))
        .collect();
    print(place, &json!({"files": rows, "dryRun": init.dry_run}), || text(&files, init.dry_run));
    Ok(ExitCode::SUCCESS)
}

/// What was typed must hold: a config that `validate` refuses is never written.
fn check(choices: &InitChoices) -> Result<(), Failure> {
    if let Some(model) = &choices.model {
        ModelRef::parse(model)
            .map_err(|error| Failure::usage(format!("the model {model:?}: {}", error.hint())))?;
    }
    if let InitTools::Only(names) = &choices.tools {
        let input = PolicyInput { allowed: Some(names.clone()), ..PolicyInput::default() };
        create_tool_policy(input).map_err(|error| {
            let first = error.problems.first();
            let why = first.map_or(error.message.clone(), |it| match &it.hint {
                Some(hint) => format!("{}; {hint}", it.message),
                None => it.message.clone(),
            });
            Failure::usage(format!("--allow: {why}"))
        })?;
    }
    Ok(())
}

fn text(files: &[InitFile], dry_run: bool) -> String {
    let mut lines = Vec::new();
    for file in files {
        match (file.is_there, dry_run) {
            (true, _) => lines.push(format!("{} is there already and was left as it is", file.name)),
            (false, true) => lines.push(format!("would write {}:\n{}", file.name, file.text)),
            (false, false) => lines.push(format!("wrote {}", file.name)),
        }
    }
    if !dry_run {
        lines.push("next: mono-agent validate, then mono-agent chat".to_owned());
    }
    lines.join("\n")
}

/// The guided questions (POL-17): what all tools open is said before it is accepted, and asked twice where
/// nothing confines them.
fn ask(choices: &mut InitChoices, place: &Whereabouts) -> Result<bool, Failure> {
    let lines = Lines::of_stdin();
    if !lines.interactive() {
        return Ok(true);
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::system)?;
    let read = |prompt: &str| match runtime.block_on(lines.read(prompt)) {
        LineRead::Line(line) => Some(line.trim().to_owned()),
        LineRead::Interrupted | LineRead::End => None,
    };
    let Some(name) = read("The agent's name (empty = the folder's): ") else { return Ok(false) };
    choices.name = Some(name).filter(|name| !name.is_empty());
    let Some(model) = read("The model, such as anthropic:claude-sonnet-4-5 (empty = you play it): ") else {
        return Ok(false);
    };
    choices.model = Some(model).filter(|model| !model.is_empty());
    eprintln!("All tools are allowed unless you choose. That opens:");
    for line in allow_all_opens(&[]) {
        eprintln!("  - {line}");
    }
    let Some(answer) = read("Allow all tools? [Y]es, or a comma-separated list of names: ") else {
        return Ok(false);
    };
    if !matches!(answer.to_ascii_lowercase().as_str(), "" | "y" | "yes") {
        choices.tools = InitTools::Only(
            answer.split(',').map(|name| name.trim().to_owned()).filter(|it| !it.is_empty()).collect(),
        );
    }
    let works = runtime.block_on(sandbox_works(&place.folder, &place.env));
    if needs_second_confirmation(choices, works) {
        eprintln!(
            "No sandbox works on this machine, so commands would be refused or, if you open it, run unconfined."
        );
        let Some(sure) = read("Really allow all tools? [y/N]: ") else { return Ok(false) };
        return Ok(matches!(sure.to_ascii_lowercase().as_str(), "y" | "yes"));
    }
    Ok(true)
}
