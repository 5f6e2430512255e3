//! The part of an entry that only a stdio server has.

use super::entry::Entry;
use super::names::{is_host_owned, refused_variable};
use super::server::StdioSpec;
use crate::environment::is_name;
use crate::finding::{code, quote_str};
use crate::secrets::{is_secret_name, looks_secret};
use host_vocab::{Secret, text::one_line};

const ENV_WAY_OUT: &str =
    "set the variable where the host starts (or in `.env`) and name it in \"inheritEnv\"";

/// Reads what a stdio server has.
pub(super) fn read(entry: &mut Entry<'_>) -> Option<StdioSpec> {
    let command = command(entry)?;
    let runs_shell = is_shell(&command);
    let mut args = Vec::new();
    for (arg, at) in entry.items_of("args") {
        if arg.contains('\0') {
            entry.bad(
                code::BAD_VALUE,
                at.clone(),
                "an argument holds a NUL character".into(),
                "take it away",
            );
        }
        if !runs_shell {
            entry.note_placeholder(
                "an argument",
                &arg,
                &at,
                "write the value out; a program can read its variables",
            );
        }
        args.push(entry.tilde(&arg, &at));
    }
    let cwd_at = entry.place_of("cwd");
    let cwd = match entry.text("cwd") {
        Some(text) => {
            entry.note_placeholder(
                "`cwd`",
                &text,
                &cwd_at,
                "write the folder out, from the workspace or with `~`",
            );
            entry.resolve(&text, &cwd_at)
        }
        None => entry.bases.workspace.clone(),
    };
    let env = literal_env(entry);
    let inherit_env = inherit_env(entry);
    Some(StdioSpec { command, args, env, cwd, inherit_env })
}

/// The program: absolute where it holds a slash (T1-09), else a name for the child's `PATH`.
fn command(entry: &mut Entry<'_>) -> Option<String> {
    let at = entry.place_of("command");
    let text = entry.text("command")?;
    if text.trim().is_empty() {
        return None;
    }
    entry.note_placeholder("`command`", &text, &at, "write the path out, from the workspace or with `~`");
    if text.starts_with('~') || text.contains('/') {
        let path = entry.resolve(&text, &at);
        let Some(path) = path.to_str() else {
            let message = "the path of the program is no UTF-8 text".to_owned();
            entry.bad(code::BAD_VALUE, at, message, "move the workspace to a path of plain text");
            return None;
        };
        return Some(path.to_owned());
    }
    let mut words = text.split_whitespace();
    if let (Some(program), Some(_)) = (words.next(), words.next()) {
        let rest: Vec<String> = words_after_first(&text).map(quote_str).collect();
        let hint = format!("write \"command\": {}, \"args\": [{}]", quote_str(program), rest.join(", "));
        let message = format!("`command` is the program alone, and {} holds spaces", quote_str(&text));
        entry.suspect(at, message, hint);
    }
    Some(text)
}

fn words_after_first(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().skip(1)
}

fn is_shell(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command);
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh" | "env" | "cmd" | "cmd.exe" | "powershell" | "pwsh"
    )
}

fn literal_env(entry: &mut Entry<'_>) -> Vec<(String, Secret)> {
    let mut env = Vec::new();
    for (name, value, at) in entry.texts_of("env") {
        let shown = one_line(&name, 64);
        if !is_name(&name) {
            // Bash hides functions under names that are none; they are refused by name before that.
            let why = refused_variable(&name).unwrap_or("it is no name of a variable");
            let hint = "a name has letters, digits and `_`";
            entry.bad(code::BAD_VALUE, at, format!("the variable `{shown}` is refused: {why}"), hint);
            continue;
        }
        if let Some(why) = refused_variable(&name) {
            let message = format!("the variable `{shown}` is refused: {why}");
            entry.bad(
                code::MCP_ENTRY,
                at,
                message,
                "take it away; write a small script that sets it, if you must",
            );
            continue;
        }
        if value.contains('\0') {
            entry.bad(
                code::BAD_VALUE,
                at,
                format!("the variable `{shown}` holds a NUL character"),
                "take it away",
            );
            continue;
        }
        if is_host_owned(&name) {
            let message = format!("the variable `{shown}` is the host's own; its value here is not used");
            entry.suspect(at.clone(), message, "take it away");
        }
        entry.note_placeholder(&format!("the variable `{shown}`"), &value, &at, ENV_WAY_OUT);
        let is_literal_secret = super::placeholder(&value).is_none() && !value.is_empty();
        if is_literal_secret && (is_secret_name(&name) || looks_secret(&value)) {
            entry.suspect(
                at.clone(),
                format!("the variable `{shown}` looks like a secret in a file"),
                ENV_WAY_OUT,
            );
        }
        let value = entry.tilde(&value, &at);
        env.push((name, Secret::new(value)));
    }
    env
}

fn inherit_env(entry: &mut Entry<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for (name, at) in entry.items_of("inheritEnv") {
        let shown = one_line(&name, 64);
        if let Some(why) = refused_variable(&name) {
            let message = format!("the variable `{shown}` is refused: {why}");
            entry.bad(code::MCP_ENTRY, at, message, "take it away");
        } else if !entry.env.contains_key(&name) {
            let message = format!("the variable `{shown}` of `inheritEnv` is not set");
            entry.suspect(at, message, format!("set {shown} where the host starts, or in `.env`"));
            names.push(name);
        } else {
            names.push(name);
        }
    }
    names
}
