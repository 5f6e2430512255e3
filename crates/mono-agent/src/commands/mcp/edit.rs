//! `mcp add`, `mcp remove`: the config with one server more or less (MCP-17).

use crate::answer::{Failure, print};
use crate::args::{McpAdd, Place};
use crate::door::{Door, whereabouts};
use host_app::{ServerEdit, ServerEditError, add_server, load_agent, remove_server};
use host_vocab::ServerName;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

pub async fn add(place: &Place, add: &McpAdd) -> Result<ExitCode, Failure> {
    let name = ServerName::parse(add.name.clone())
        .map_err(|error| Failure::usage(format!("{:?} can't be a server's name: {error}", add.name)))?;
    let entry = Value::Object(entry(add)?);
    let edit = add_server(&whereabouts(place)?, name.as_str(), &entry).map_err(failure)?;
    tell(place, "added", name.as_str(), &edit);
    note_running(place).await;
    Ok(ExitCode::SUCCESS)
}

pub async fn remove(place: &Place, name: &str) -> Result<ExitCode, Failure> {
    let edit = remove_server(&whereabouts(place)?, name).map_err(failure)?;
    tell(place, "removed", name, &edit);
    note_running(place).await;
    Ok(ExitCode::SUCCESS)
}

fn failure(error: ServerEditError) -> Failure {
    match error {
        ServerEditError::Refused(diagnostics) => Failure::of_all(diagnostics),
        ServerEditError::Write(error) => Failure::system(error),
    }
}

fn tell(place: &Place, what: &str, name: &str, edit: &ServerEdit) {
    for warning in &edit.warnings {
        eprintln!("warning: {warning}");
    }
    let answer = json!({"ok": true, what: name, "files": edit.files, "warnings": edit.warnings});
    print(place, &answer, || {
        let files: Vec<String> = edit.files.iter().map(|it: &PathBuf| it.display().to_string()).collect();
        let next = match what {
            "added" => format!("; mono-agent mcp test {name} tries it"),
            _ => String::new(),
        };
        format!("{name} was {what} ({}){next}", files.join(", "))
    });
}

/// A running host has its servers until it starts anew.
async fn note_running(place: &Place) {
    let Ok(at) = whereabouts(place) else { return };
    let _ = Door::running(place, &load_agent(&at), false).await;
}

/// The entry as it will stand in the file.
fn entry(add: &McpAdd) -> Result<Map<String, Value>, Failure> {
    if add.command.is_empty() && add.url.is_none() {
        return Err(Failure::usage(
            "say how the server is reached: --url URL for a remote one, or -- COMMAND ARGS… for a program",
        ));
    }
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    if let Some((command, args)) = add.command.split_first() {
        put("command", json!(command));
        if !args.is_empty() {
            put("args", json!(args));
        }
    }
    if let Some(url) = &add.url {
        put("url", json!(url));
    }
    if let Some(kind) = &add.kind {
        put("type", json!(kind));
    }
    let pairs = [
        ("env", "--env", '=', "NAME=VALUE", &add.env),
        ("headers", "--header", ':', "\"NAME: VALUE\"", &add.header),
        ("headersFromEnv", "--header-from-env", '=', "NAME=VARIABLE", &add.header_from_env),
    ];
    for (key, flag, between, form, given) in pairs {
        if !given.is_empty() {
            put(key, Value::Object(members(flag, between, form, given)?));
        }
    }
    if !add.inherit_env.is_empty() {
        put("inheritEnv", json!(add.inherit_env));
    }
    if let Some(cwd) = &add.cwd {
        put("cwd", json!(cwd));
    }
    if let Some(timeout) = add.timeout {
        put("timeout", json!(timeout));
    }
    if add.required {
        put("required", json!(true));
    }
    let more = match add.more.as_deref().map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(more))) => more,
        Some(Ok(_)) => return Err(Failure::usage("--more takes a JSON object")),
        Some(Err(error)) => return Err(Failure::usage(format!("--more is no JSON object: {error}"))),
    };
    for (key, value) in more {
        if entry.insert(key.clone(), value).is_some() {
            return Err(Failure::usage(format!("--more repeats the key {key:?}, which a flag sets already")));
        }
    }
    Ok(entry)
}

fn members(flag: &str, between: char, form: &str, given: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut members = Map::new();
    for pair in given {
        // The value may be a secret: only the flag and the form are told.
        let (name, value) = pair
            .split_once(between)
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| Failure::usage(format!("{flag} takes {form}")))?;
        let value = if between == ':' { value.trim() } else { value };
        if members.insert(name.trim().to_owned(), json!(value)).is_some() {
            return Err(Failure::usage(format!("{flag} names {} twice", name.trim())));
        }
    }
    Ok(members)
}
