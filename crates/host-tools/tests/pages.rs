//! docs/tools/ has one page a tool, made from the tool's own file: what stands there is what the model is told.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

use host_surface::{Belongs, Tool};
use host_tools::{
    AgentTool, AskCollaboratorTool, AskUser, BashTool, EditTool, ExecTool, GlobTool, GrepTool, ListDirTool,
    MemoryJournalTool, MemoryRecallTool, NodeReplTool, ProposeRestart, PublishReplyFile, ReadSkill, ReadTool,
    RememberTool, RunHistoryTool, SessionHistoryTool, SetConversationTitle, SuggestReplies, WebFetchTool,
    WebSearchTool, WriteTool,
};
use serde_json::Value;
use std::path::PathBuf;

/// One page: the tool's name, and the text that its file gives.
struct Page {
    name: &'static str,
    text: String,
}

/// Where more is written by hand.
fn more(name: &str) -> &'static str {
    match name {
        "Read" | "Write" | "Edit" | "Glob" | "Grep" | "ListDir" => {
            "[The file tools](files.md): which files, bounds, how edits are matched."
        }
        "Exec" | "Bash" | "NodeRepl" => "[The sandbox](../sandbox.md): what a command can reach.",
        "WebFetch" | "WebSearch" => "[The web tools](web.md): which hosts, what becomes of a page.",
        "RunHistory" | "SessionHistory" => "[History](../history.md).",
        "Agent" | "AskCollaborator" => "[Helpers and collaborators](../helpers.md).",
        "AskUser" | "ProposeRestart" | "PublishReplyFile" | "SetConversationTitle" | "SuggestReplies" => {
            "[Replies](../replies.md): what each place does with them."
        }
        "Remember" | "MemoryRecall" | "MemoryJournal" => "[Memory](../memory.md).",
        _ => "[Configuration](../configuration.md).",
    }
}

fn page<T: Tool>(file: &str, source: &str) -> Page {
    let decl = T::DECL;
    let (about, examples) = module_docs(source);
    let schema = schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T::Input>();
    let switch = match decl.belongs {
        Belongs::Lists => "the lists of allowed and disallowed tools",
        Belongs::OwnSwitch => "a switch of its own",
        Belongs::Server(_) => "its server",
    };
    let effects: Vec<String> = decl
        .effects
        .iter()
        .filter_map(|effect| serde_json::to_value(effect).ok()?.as_str().map(|word| format!("`{word}`")))
        .collect();
    let codes: Vec<String> = decl.codes.iter().map(|code| format!("`{code}`")).collect();
    let text = format!(
        "# {name}\n\n<!-- Written by `UPDATE_DOCS=1 cargo test -p host-tools --test pages` from \
         crates/host-tools/src/{file}. -->\n\n{about}\n\n```json\n{examples}\n```\n\n## What the model is told\n\n> \
         {told}\n\n## Arguments\n\n{arguments}## Effects, switch and failures\n\n- Effects: {effects}.\n- Gated by \
         {switch}.\n- Codes of its own: {codes}.\n\n{more}\n",
        name = decl.name,
        told = decl.about,
        arguments = arguments(schema.as_value()),
        effects = effects.join(", "),
        codes = if codes.is_empty() { "none".to_owned() } else { codes.join(", ") },
        more = more(decl.name),
    );
    Page { name: decl.name, text }
}

/// The words of a file's own description, and the example calls in it.
fn module_docs(source: &str) -> (String, String) {
    let docs: Vec<&str> =
        source.lines().take_while(|line| line.starts_with("//!")).map(|line| line[3..].trim()).collect();
    let (calls, words): (Vec<&str>, Vec<&str>) = docs.iter().partition(|line| line.starts_with("`{"));
    let calls: Vec<&str> =
        calls.iter().flat_map(|line| line.split('`')).filter(|part| part.starts_with('{')).collect();
    (words.join("\n").replace("\n\n\n", "\n\n").trim().to_owned(), calls.join("\n"))
}

fn arguments(schema: &Value) -> String {
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else {
        return "None.\n\n".to_owned();
    };
    let mut out = String::from("| name | kind | |\n|---|---|---|\n");
    for (name, property) in properties {
        let star = if needed.contains(&name.as_str()) { " *needed*" } else { "" };
        let words =
            property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        out.push_str(&format!("| `{name}`{star} | {} | {words} |\n", kind(property).replace('|', "\\|")));
    }
    out.push('\n');
    out
}

/// What kind of value a property takes, in words.
fn kind(property: &Value) -> String {
    let choice = property["anyOf"].as_array().or_else(|| property["oneOf"].as_array());
    if let Some(variants) = choice {
        let mut kinds: Vec<String> = variants.iter().map(kind).filter(|it| it != "null").collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    if let Some(values) = property["enum"].as_array() {
        let values: Vec<String> =
            values.iter().filter_map(Value::as_str).map(|it| format!("`{it}`")).collect();
        return values.join(", ");
    }
    if let Some(value) = property["const"].as_str() {
        return format!("`{value}`");
    }
    let name = match &property["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|it| *it != "null").unwrap_or("any")
        }
        _ => "any",
    };
    let range = match (property["minimum"].as_f64(), property["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        _ => String::new(),
    };
    match name {
        "string" => "text".to_owned(),
        "integer" => format!("whole number{range}"),
        "number" => format!("number{range}"),
        "boolean" => "true or false".to_owned(),
        "array" => format!("list of {}", kind(&property["items"])),
        "object" => {
            let names = property["properties"].as_object();
            let names: Vec<String> =
                names.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
            if names.is_empty() { "object".to_owned() } else { format!("object of {}", names.join(", ")) }
        }
        other => other.to_owned(),
    }
}

macro_rules! pages {
    ($($tool:ty, $file:literal;)*) => {
        vec![$(page::<$tool>($file, include_str!(concat!("../src/", $file)))),*]
    };
}

fn pages() -> Vec<Page> {
    pages! {
        AgentTool, "agent.rs";
        AskCollaboratorTool, "ask_collaborator.rs";
        AskUser, "ask_user.rs";
        BashTool, "bash.rs";
        EditTool, "edit.rs";
        ExecTool, "exec.rs";
        GlobTool, "glob.rs";
        GrepTool, "grep.rs";
        ListDirTool, "list_dir.rs";
        MemoryJournalTool, "memory_journal.rs";
        MemoryRecallTool, "memory_recall.rs";
        NodeReplTool, "node_repl.rs";
        ProposeRestart, "propose_restart.rs";
        PublishReplyFile, "publish_reply_file.rs";
        ReadTool, "read.rs";
        ReadSkill, "read_skill.rs";
        RememberTool, "remember.rs";
        RunHistoryTool, "run_history.rs";
        SessionHistoryTool, "session_history.rs";
        SetConversationTitle, "set_conversation_title.rs";
        SuggestReplies, "suggest_replies.rs";
        WebFetchTool, "web_fetch.rs";
        WebSearchTool, "web_search.rs";
        WriteTool, "write.rs";
    }
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools"))
}

/// `NodeRepl` → `node-repl.md`.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for (place, letter) in name.char_indices() {
        if letter.is_uppercase() && place > 0 {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out + ".md"
}

// TOO-1, TOO-2, TOO-4, TOO-5: `UPDATE_DOCS=1 cargo test -p host-tools --test pages` writes the pages anew.
#[test]
fn every_tool_has_its_page_and_the_page_is_true() {
    let mut index =
        "# Tools\n\n<!-- Written by `UPDATE_DOCS=1 cargo test -p host-tools --test pages`. -->\n\n\
                     More by hand: [the file tools](files.md), [the web tools](web.md), [the \
                     sandbox](../sandbox.md).\n\n| tool | effects |\n|---|---|\n"
            .to_owned();
    let mut written = Vec::new();
    for Page { name, text } in pages() {
        let effects = text.lines().find_map(|line| line.strip_prefix("- Effects: ")).unwrap_or_default();
        index.push_str(&format!("| [{name}]({}) | {} |\n", file_name(name), effects.trim_end_matches('.')));
        written.push((file_name(name), text));
    }
    written.push(("README.md".to_owned(), index));
    for (file, text) in written {
        let path = folder().join(&file);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "docs/tools/{file} is not what the tool's file says; run with UPDATE_DOCS=1");
    }
}

// A tool that gets no page is noticed: every tool's file is among them.
#[test]
fn no_tool_is_forgotten() {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let files = std::fs::read_dir(source).expect("listed").flatten();
    let tools = files.filter(|entry| {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        text.contains("const DECL: Decl = Decl {")
    });
    assert_eq!(tools.count(), pages().len());
}

// The example calls of the pages are calls that the schema takes.
#[test]
fn the_examples_are_json() {
    for Page { name, text } in pages() {
        let examples = text.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next());
        let examples = examples.expect("an example");
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples.lines() {
            let value: Value = serde_json::from_str(example).expect(example);
            assert!(value.is_object(), "{name}: {example}");
        }
    }
}
