//! What `mono-agent init` writes: a starting config with comments, and an identity file.
//!
//! This module makes text; it writes nothing, and a file that is there is never written over.

use serde_json::json;
use std::fmt::Write;

/// The name of the identity file.
pub const IDENTITY_FILE: &str = "IDENTITY.md";

/// The answers to the guided questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitChoices {
    /// A name for people.
    pub name: Option<String>,
    /// The model; none leaves `manual:operator`, in which the person plays the model.
    pub model: Option<String>,
    /// The tools.
    pub tools: InitTools,
    /// The sandbox.
    pub sandbox: InitSandbox,
    /// Whether `mcp.json` is named, because it is there.
    pub names_mcp_file: bool,
}

/// The choice of tools (POL-17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitTools {
    /// Every tool: the default.
    AllowAll,
    /// These alone; the empty list is a chat-only agent.
    Only(Vec<String>),
}

/// The choice of sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitSandbox {
    /// Confined, without network: the default.
    Native,
    /// Confined, with the network of this machine.
    NativeLocalhost,
    /// Not confined.
    Off,
}

impl Default for InitChoices {
    fn default() -> Self {
        InitChoices {
            name: None,
            model: None,
            tools: InitTools::AllowAll,
            sandbox: InitSandbox::Native,
            names_mcp_file: false,
        }
    }
}

/// A file of a new agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitFile {
    /// Its name in the agent's folder.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Whether a file of that name is there: then it is left as it is.
    pub is_there: bool,
}

/// What choosing all tools opens, one line each, to be shown before it is accepted (POL-17).
pub fn allow_all_opens(send_tools: &[&str]) -> Vec<String> {
    let mut lines = vec![
        "code: Exec, Bash and NodeRepl run programs".to_owned(),
        "files: Read, Write, Edit, Glob, Grep and ListDir read and change them".to_owned(),
        "web: WebFetch and WebSearch send requests".to_owned(),
    ];
    if !send_tools.is_empty() {
        lines.push(format!("messages: {} send to people", send_tools.join(", ")));
    }
    lines
}

/// Whether the choice must be confirmed a second time: all tools, and nothing that confines them (POL-17).
pub fn needs_second_confirmation(choices: &InitChoices, sandbox_works: bool) -> bool {
    let confined = sandbox_works && choices.sandbox != InitSandbox::Off;
    choices.tools == InitTools::AllowAll && !confined
}

/// The files of a new agent; `is_there` says which names are taken.
pub fn init_files(choices: &InitChoices, is_there: &dyn Fn(&str) -> bool) -> Vec<InitFile> {
    let file = |name: &'static str, text: String| InitFile { name, text, is_there: is_there(name) };
    vec![file(crate::CONFIG_FILE, init_template(choices)), file(IDENTITY_FILE, identity_template(choices))]
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// The text of a starting config.
pub fn init_template(choices: &InitChoices) -> String {
    let mut out = String::from(
        "{\n  // Every setting is in docs/configuration.md; `mono-agent config` shows what holds.\n",
    );
    if let Some(name) = &choices.name {
        let _ = writeln!(out, "  \"agent\": {{ \"name\": {} }},\n", quoted(name));
    }
    let model = choices.model.as_deref().unwrap_or("manual:operator");
    out.push_str("  \"runtime\": {\n");
    if choices.model.is_none() {
        out.push_str(
            "    // You play the model yourself. For a real one write \"<provider>:<model>\", such as\n    \
             // \"anthropic:…\" or \"openai:…\" with its key in .env, or \"ollama:…\" for one on this machine.\n",
        );
    }
    let _ = writeln!(out, "    \"model\": {},\n  }},\n", quoted(model));
    let _ = writeln!(out, "  \"context\": {{ \"identityPath\": \"./{IDENTITY_FILE}\" }},\n");
    out.push_str("  \"tools\": {\n");
    match &choices.tools {
        InitTools::AllowAll => {
            out.push_str("    // [\"*\"] is every tool; a list of names is those alone; [] is none, a chat-only agent.\n");
            out.push_str("    \"allowedTools\": [\"*\"],\n");
        }
        InitTools::Only(names) => {
            let _ = writeln!(out, "    \"allowedTools\": {},", json!(names));
        }
    }
    if choices.names_mcp_file {
        out.push_str("    \"mcpConfigPath\": \"./mcp.json\",\n");
    }
    out.push_str("  },\n\n  \"sandbox\": {\n");
    match choices.sandbox {
        InitSandbox::Native => {
            out.push_str("    // Commands see this folder alone and have no network.\n");
            out.push_str("    \"mode\": \"native\",\n    \"network\": { \"mode\": \"none\" },\n");
        }
        InitSandbox::NativeLocalhost => {
            out.push_str("    // Commands see this folder alone and reach this machine alone.\n");
            out.push_str("    \"mode\": \"native\",\n    \"network\": { \"mode\": \"localhost\" },\n");
        }
        InitSandbox::Off => {
            out.push_str("    // Commands can do whatever you can do.\n    \"mode\": \"off\",\n");
        }
    }
    out.push_str("  },\n}\n");
    out
}

fn identity_template(choices: &InitChoices) -> String {
    let name = choices
        .name
        .as_deref()
        .map_or_else(|| "this agent".to_owned(), |name| host_vocab::text::one_line(name, 200));
    format!(
        "# Who you are\n\nYou are {name}. You help the people who write to you with the work in this folder.\n\n\
         - Say what you did and what came of it, in plain words.\n\
         - Look before you change something, and keep changes small.\n\
         - When you are not sure what is wanted, ask.\n"
    )
}
