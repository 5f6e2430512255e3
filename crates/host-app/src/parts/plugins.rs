//! Plugins: folders whose program adds tools under names of its own (LIB-2).
//!
//! A plugin is `plugins/<name>/plugin.json` in the agent's folder, and a program that speaks MCP over its standard
//! streams. It runs like any stdio server, but its tools answer to the allow and deny lists by their own names, and
//! the manifest says which they are before anything runs: a tool that it does not name is never offered.

use crate::parts::servers::{Broken, call_timeout_ms};
use host_config::AgentSpec;
use host_mcp::{McpServerConfig, McpTransport, StdioConfig};
use host_policy::resolve_tool_name;
use host_ports::spawn::Confine;
use host_surface::InputSchema;
use host_vocab::{ServerName, ToolName, text};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that makes a folder a plugin.
pub(crate) const MANIFEST: &str = "plugin.json";
/// The most plugins of one agent.
const PLUGINS_MAX: usize = 64;
/// The most folders that are looked at for a manifest.
const FOLDERS_MAX: usize = 4096;
/// The most tools of one plugin.
const TOOLS_MAX: usize = 256;
/// The largest manifest, in bytes.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
/// The largest config, in bytes: it has to fit into one variable.
const CONFIG_BYTES_MAX: u64 = 64 * 1024;
/// The longest reason why a plugin can't be used, in characters.
const WHY_CHARS_MAX: usize = 800;
/// The variable with the plugin's config, as JSON.
const CONFIG_VARIABLE: &str = "MONO_AGENT_PLUGIN_CONFIG";

/// `plugin.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    name: String,
    version: String,
    #[serde(default)]
    #[allow(dead_code, reason = "for people who read the file")]
    description: Option<String>,
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    inherit_env: Vec<String>,
    tools: Vec<String>,
    config_schema: Option<Value>,
    sandbox: Option<Value>,
}

/// `sandbox`, where it is an object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Roots {
    readable_roots: Vec<PathBuf>,
    writable_roots: Vec<PathBuf>,
    network: Option<String>,
}

/// All plugins of an agent, and those that can't be used with the reason.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plugins {
    pub(crate) usable: Vec<McpServerConfig>,
    pub(crate) broken: Vec<Broken>,
    /// Every tool that a manifest names, for the lists: those of broken plugins too, so that a list which names one is
    /// no fault of its own.
    pub(crate) declared: Vec<ToolName>,
}

/// Where an agent's plugins lie.
pub(crate) fn folder_of(spec: &AgentSpec) -> PathBuf {
    spec.places.folder.join("plugins")
}

/// The folders there that have a manifest. Others are no plugins: a project may have a folder of this name.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names = host_files::state::folders_in(folder, FOLDERS_MAX);
    names.retain(|name| host_files::state::is_file(&folder.join(name).join(MANIFEST)));
    names
}

impl Plugins {
    /// Reads the folder. What is wrong with one plugin costs that one.
    pub(crate) fn read(spec: &AgentSpec) -> Self {
        let mut all = Plugins::default();
        let folder = folder_of(spec);
        let mut read = Vec::new();
        for (at, name) in names_in(&folder).into_iter().enumerate() {
            let mut tools = Vec::new();
            let result = if at < PLUGINS_MAX {
                read_one(&folder.join(&name), &name, spec, &mut tools)
            } else {
                Err(format!("at most {PLUGINS_MAX} plugins are read; remove some"))
            };
            all.declared.extend(tools.iter().cloned());
            match result {
                Ok(plugin) => read.push(plugin),
                // It may quote what a manifest says, however long that is.
                Err(why) => all.broken.push(Broken {
                    name: text::one_line(&name, 64),
                    why: text::one_line(&why, WHY_CHARS_MAX),
                    tools,
                }),
            }
        }
        let owners = owners(&read);
        for plugin in read {
            match clash(&plugin, &owners) {
                None => all.usable.push(plugin),
                Some(why) => all.broken.push(Broken {
                    name: plugin.name.to_string(),
                    why,
                    tools: plugin.own_names.unwrap_or_default(),
                }),
            }
        }
        all
    }
}

/// Which plugins name each tool, whatever the case of its letters.
fn owners(plugins: &[McpServerConfig]) -> BTreeMap<String, Vec<String>> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for plugin in plugins {
        for tool in plugin.own_names.iter().flatten() {
            owners.entry(tool.as_str().to_ascii_lowercase()).or_default().push(plugin.name.to_string());
        }
    }
    owners
}

/// A name that several plugins want refuses each of them: a call must never reach one in another's place.
fn clash(plugin: &McpServerConfig, owners: &BTreeMap<String, Vec<String>>) -> Option<String> {
    plugin.own_names.iter().flatten().find_map(|tool| {
        let all = owners.get(&tool.as_str().to_ascii_lowercase()).filter(|all| all.len() > 1)?;
        Some(format!("its tool {tool} is one of the plugins {}; rename all but one", all.join(" and ")))
    })
}

fn read_one(
    folder: &Path,
    name: &str,
    spec: &AgentSpec,
    declared: &mut Vec<ToolName>,
) -> Result<McpServerConfig, String> {
    let path = folder.join(MANIFEST);
    let bytes =
        host_files::state::read_bounded(&path, MANIFEST_BYTES_MAX).map_err(|error| error.to_string())?;
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| format!("{} is no manifest: {error}", path.display()))?;
    let tools = tools(&manifest.tools).inspect(|tools| declared.extend(tools.iter().cloned()))?;
    if manifest.name != name {
        let written = text::one_line(&manifest.name, 64);
        return Err(format!(
            "\"name\" in plugin.json is {written}, and its folder is {name}; they must be the same"
        ));
    }
    if manifest.version.trim().is_empty() {
        return Err("\"version\" in plugin.json is empty".to_owned());
    }
    if manifest.command.trim().is_empty() {
        return Err("\"command\" in plugin.json is empty".to_owned());
    }
    let server_name = ServerName::parse(name).map_err(|error| error.to_string())?;
    let mut env = manifest.env;
    env.insert(CONFIG_VARIABLE.to_owned(), config(folder, manifest.config_schema)?);
    let stdio = StdioConfig {
        // A path is meant from the plugin's own folder.
        command: manifest.command,
        args: manifest.args,
        env,
        inherit_env: manifest.inherit_env,
        cwd: folder.to_owned(),
    };
    let of = McpServerConfig::of(server_name, McpTransport::Stdio(stdio));
    Ok(McpServerConfig {
        timeout: call_timeout_ms(spec).map_or(of.timeout, Duration::from_millis),
        call_total_max: Duration::from_millis(spec.tools.mcp_call_max_total_timeout_ms),
        confine: confine(folder, manifest.sandbox)?,
        own_names: Some(tools),
        ..of
    })
}

fn tools(names: &[String]) -> Result<Vec<ToolName>, String> {
    if names.is_empty() || names.len() > TOOLS_MAX {
        return Err(format!("\"tools\" in plugin.json names {}; 1 to {TOOLS_MAX} are taken", names.len()));
    }
    let mut tools: Vec<ToolName> = Vec::new();
    for name in names {
        let shown = text::one_line(name, 64);
        let tool = ToolName::parse(name.clone()).map_err(|error| format!("its tool {shown}: {error}"))?;
        if name.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("mcp__")) {
            return Err(format!("its tool {tool}: names that begin with mcp__ are those of servers"));
        }
        // Old spellings of ours count too: the lists would take the name for ours.
        if let Some(ours) = resolve_tool_name(name) {
            return Err(format!(
                "its tool {tool} has the name of a tool of ours ({}); give it another",
                ours.name
            ));
        }
        if tools.iter().any(|known| known.as_str().eq_ignore_ascii_case(name)) {
            return Err(format!("plugin.json names the tool {tool} twice"));
        }
        tools.push(tool);
    }
    Ok(tools)
}

/// `config.json` beside the manifest, held to the manifest's schema.
fn config(folder: &Path, schema: Option<Value>) -> Result<String, String> {
    let config = match host_files::state::read_bounded(&folder.join("config.json"), CONFIG_BYTES_MAX) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|error| format!("its config.json is no JSON: {error}"))?
        }
        Err(error) if error.is_not_found() => Value::Object(Map::new()),
        Err(error) => return Err(error.to_string()),
    };
    if let Some(schema) = schema {
        let schema = InputSchema::new(schema);
        schema.usable().map_err(|why| format!("the configSchema in plugin.json is broken: {why}"))?;
        schema.check(&config).map_err(|problems| {
            let all: Vec<String> = problems
                .iter()
                .map(|it| {
                    if it.path.is_empty() {
                        it.expected.clone()
                    } else {
                        format!("{}: {}", it.path, it.expected)
                    }
                })
                .collect();
            format!("its config.json does not fit: {}", all.join("; "))
        })?;
    }
    Ok(config.to_string())
}

fn confine(folder: &Path, sandbox: Option<Value>) -> Result<Confine, String> {
    let roots = match sandbox {
        None => Roots::default(),
        Some(Value::String(word)) if word == "off" => return Ok(Confine::Off),
        Some(Value::Object(map)) => serde_json::from_value::<Roots>(Value::Object(map))
            .map_err(|error| format!("\"sandbox\" in plugin.json: {error}"))?,
        Some(_) => return Err("\"sandbox\" in plugin.json is neither \"off\" nor an object".to_owned()),
    };
    if let Some(network) = &roots.network
        && !["none", "localhost", "allowlist", "all"].contains(&network.as_str())
    {
        return Err(format!(
            "\"sandbox.network\" in plugin.json is {network:?}, and none of none, localhost, allowlist, all"
        ));
    }
    let from_here = |paths: Vec<PathBuf>| paths.into_iter().map(|path| folder.join(path));
    let read = std::iter::once(folder.to_owned()).chain(from_here(roots.readable_roots)).collect();
    let write = from_here(roots.writable_roots).collect();
    Ok(Confine::Sandbox { read, write, own: Vec::new(), network: roots.network })
}
