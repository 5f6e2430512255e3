//! From a folder and an environment to an agent: everything is read, everything that is wrong is said.

use crate::check::Walk;
use crate::environment::{Environment, check_names, dotenv};
use crate::finding::{Finding, Findings, code, config, place};
use crate::mcp::{McpFile, McpInput, read_servers};
use crate::paths::{Bases, tidy};
use crate::registry::{self, Base};
use crate::resolved::{Resolved, bases};
use crate::settings::Settings;
use crate::source::{self, Document, Duplicate, Node, Pos};
use crate::spec::{AgentSpec, Dialect};
use host_vocab::Place;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the config file in an agent's folder.
pub const CONFIG_FILE: &str = "mono-agent.config.json";
/// The name of the folder for what the host keeps.
pub const STATE_FOLDER: &str = ".mono-agent";

/// What an agent is loaded from. This crate opens no file itself: `read` does, and decides which may be.
pub struct LoadInput<'l> {
    /// The agent's folder, absolute.
    pub folder: PathBuf,
    /// A config file that was named; a relative one starts from `folder`. The folder that holds it is then
    /// the agent's folder. Without it, `mono-agent.config.json` is read if it is there.
    pub config_path: Option<PathBuf>,
    /// A `.env` file that was named; a relative one starts from `folder`. Without it `.env` in the agent's
    /// folder is read if it is there.
    pub env_file: Option<PathBuf>,
    /// What the process was started with.
    pub env: Environment,
    /// The home folder, where `HOME` isn't in `env`.
    pub home: Option<PathBuf>,
    /// Reads a whole file. It should bound what it reads to [`source::SOURCE_BYTES_MAX`] and one byte.
    pub read: &'l dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it is for: `config`, `env`, `mcp`, `identity`, `soul`, `skill`.
    pub role: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Whether it was read.
    pub found: bool,
}

/// What loading gave. `Debug` leaves the environment out, since keys are in it.
pub struct Loaded {
    /// The agent; none where a finding is fatal.
    pub spec: Option<AgentSpec>,
    /// All that is wrong or worth knowing.
    pub findings: Vec<Finding>,
    /// The files that were looked for, in order.
    pub sources: Vec<Source>,
    /// The environment with what the `.env` file added: where keys and tokens are looked up.
    pub env: Environment,
    /// Every setting, for `config`; there even where the agent isn't.
    pub settings: Settings,
    /// Whether there is a config file at all.
    pub has_config: bool,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("spec", &self.spec.is_some())
            .field("findings", &self.findings)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

/// Loads an agent. It never fails: what is wrong is in the findings.
pub fn load(input: LoadInput<'_>) -> Loaded {
    Loader { input: &input, findings: Findings::default(), sources: Vec::new() }.load()
}

struct Loader<'l> {
    input: &'l LoadInput<'l>,
    findings: Findings,
    sources: Vec<Source>,
}

/// A config file that was read.
struct ConfigFile {
    path: PathBuf,
    shown: String,
    /// None where it is no JSON.
    document: Option<Document>,
}

impl Loader<'_> {
    fn load(mut self) -> Loaded {
        let folder = tidy(&self.input.folder);
        let named = self.input.config_path.as_ref().map(|path| tidy(&folder.join(path)));
        let folder = match &named {
            Some(path) => path.parent().map_or(folder.clone(), Path::to_owned),
            None => folder,
        };
        if folder.to_str().is_none() {
            let message = format!("the name of the folder {} is not UTF-8 text", folder.display());
            let found = config(code::BAD_VALUE, message);
            self.findings.error(found.hint("move the agent to a folder with a plain name"));
        }
        let config_file = self.config_file(&folder, named);
        let env = self.environment(&folder);
        check_names(&env, &mut self.findings);
        let (file, document) = match &config_file {
            Some(found) => (found.shown.as_str(), found.document.as_ref()),
            None => ("defaults", None),
        };
        if let Some(document) = document {
            let own: Vec<Duplicate> =
                document.duplicates.iter().filter(|twice| !is_inline_entry(twice)).cloned().collect();
            let mut walk = Walk::new(file, &mut self.findings);
            walk.duplicates(&own);
            walk.section(registry::tree(), &document.root, "");
        }
        let root = document.map(|document| &document.root);
        let settings = Settings::resolve(file, root, &env, &mut self.findings);
        let home = env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let bases = bases(&folder, home.or_else(|| self.input.home.clone()), &settings);
        self.paths(&settings, &bases);
        let dialect = if config_file.is_some() { Dialect::Json } else { Dialect::Embedded };
        let is_readable = config_file.as_ref().is_none_or(|found| found.document.is_some());
        let mcp = self.mcp(&settings, file, document, &bases, &env, is_readable);
        let resolved = Resolved {
            dialect,
            config_file: config_file.as_ref().map(|found| found.path.clone()),
            bases,
            env,
            settings,
            mcp,
        };
        if is_readable {
            self.needed(&resolved);
            crate::rules::check(&resolved, &mut self.findings);
        }
        let spec = resolved.spec(&mut self.findings);
        let spec = if self.findings.is_fatal() { None } else { spec };
        Loaded {
            spec,
            findings: self.findings.into_list(),
            sources: self.sources,
            env: resolved.env,
            settings: resolved.settings,
            has_config: config_file.is_some(),
        }
    }

    fn read(&mut self, role: &'static str, path: &Path) -> io::Result<Vec<u8>> {
        let content = (self.input.read)(path);
        self.sources.push(Source { role, path: path.to_owned(), found: content.is_ok() });
        content
    }

    fn config_file(&mut self, folder: &Path, named: Option<PathBuf>) -> Option<ConfigFile> {
        let is_named = named.is_some();
        let path = named.unwrap_or_else(|| folder.join(CONFIG_FILE));
        let shown = match &self.input.config_path {
            Some(path) => path.display().to_string(),
            None => CONFIG_FILE.to_owned(),
        };
        let bytes = match self.read("config", &path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => return None,
            Err(error) => {
                let missing = error.kind() == io::ErrorKind::NotFound;
                let (code, hint) = if missing {
                    (
                        code::MISSING_FILE,
                        "name a file that is there, or run `mono-agent init` in the agent's folder",
                    )
                } else {
                    (code::UNREADABLE, "make it a file that you may read")
                };
                let message = format!("the config can't be read: {}", reading_failed(&error));
                let at = Place { file: shown.clone(), ..Place::default() };
                self.findings.error(config(code, message).at(at).hint(hint));
                return Some(ConfigFile { path, shown, document: None });
            }
        };
        match source::read(&bytes) {
            Ok(document) => Some(ConfigFile { path, shown, document: Some(document) }),
            Err(error) => {
                let mut found = config(code::SYNTAX, error.message.clone()).at(place(&shown, error.pos, ""));
                found.hints.extend(error.hint);
                self.findings.error(found);
                Some(ConfigFile { path, shown, document: None })
            }
        }
    }

    /// The process's variables, and those of the `.env` file that it doesn't have (CFG-2).
    fn environment(&mut self, folder: &Path) -> Environment {
        let mut env = self.input.env.clone();
        let named = self.input.env_file.as_ref();
        let path = match named {
            Some(path) => tidy(&self.input.folder.join(path)),
            None => folder.join(".env"),
        };
        let shown = named.map_or_else(|| ".env".to_owned(), |path| path.display().to_string());
        let bytes = match self.read("env", &path) {
            Ok(bytes) => bytes,
            Err(error) => {
                // One that is there and can't be read may hold what closes a tool: it must not count as absent.
                let (code, hint) = match named {
                    Some(_) => (code::MISSING_FILE, "name a file that is there, or leave --env-file out"),
                    None if error.kind() == io::ErrorKind::NotFound => return env,
                    None => (code::UNREADABLE, "make it a file that you may read, or move it away"),
                };
                let message = format!("the environment file can't be read: {}", reading_failed(&error));
                let at = Place { file: shown, ..Place::default() };
                self.findings.error(config(code, message).at(at).hint(hint));
                return env;
            }
        };
        let parsed = dotenv(&bytes);
        for bad in parsed.bad {
            let at = place(&shown, Pos { line: bad.line, column: 1 }, "");
            let found = config(code::SYNTAX, bad.why).at(at).hint(bad.hint);
            if named.is_some() || bad.ours {
                self.findings.error(found)
            } else {
                self.findings.warning(found)
            }
        }
        for (name, value) in parsed.variables {
            env.entry(name).or_insert(value);
        }
        env
    }

    /// `~` in a path that can't be expanded.
    fn paths(&mut self, settings: &Settings, bases: &Bases) {
        for (text, at) in crate::settings::set_paths(settings) {
            if let Some(found) = crate::mcp::placeholder(&text) {
                let message =
                    format!("the path holds `{found}`, which is not expanded: it is used as it stands");
                let found = config(code::SUSPECT, message).at(at.clone());
                self.findings.warning(found.hint("write the folder out, or begin the path with `~`"));
            }
            if let Err(error) = bases.tilde(&text) {
                let found = config(code::BAD_VALUE, error.to_string()).at(at);
                self.findings.error(found.hint("write the folder out"));
            }
        }
    }

    fn mcp(
        &mut self,
        settings: &Settings,
        file: &str,
        document: Option<&Document>,
        bases: &Bases,
        env: &Environment,
        is_readable: bool,
    ) -> crate::McpConfig {
        if !is_readable {
            return crate::McpConfig::default();
        }
        let named = settings.get("tools.mcpConfigPath");
        let mcp_file = named.and_then(|setting| {
            let text = setting.value()?.as_str()?.to_owned();
            let path = bases.resolve(&text, Base::Workspace).ok()?;
            let shown = path.strip_prefix(&bases.folder).unwrap_or(&path).display().to_string();
            let content = self.read("mcp", &path);
            Some(McpFile { path, shown, named_at: setting.place(""), content })
        });
        let node = document.and_then(|document| document.root.at("tools.mcpServers"));
        let duplicates: Vec<Duplicate> = document
            .into_iter()
            .flat_map(|d| d.duplicates.iter().filter(|twice| is_inline_entry(twice)).cloned())
            .collect();
        let inline: Option<(&str, &Node, &[Duplicate])> =
            node.filter(|node| node.members().is_some()).map(|node| (file, node, duplicates.as_slice()));
        if mcp_file.is_none() {
            self.unnamed_mcp_file(bases);
        }
        read_servers(McpInput { file: mcp_file, inline, bases, env }, &mut self.findings)
    }

    /// A file that looks meant and that nothing names is never silently left out (T1-11).
    fn unnamed_mcp_file(&mut self, bases: &Bases) {
        for name in ["mcp.json", ".mcp.json"] {
            if (self.input.read)(&bases.workspace.join(name)).is_ok() {
                let message = format!("{name} is there, yet nothing names it: its servers are not used");
                let at = Place { file: name.to_owned(), ..Place::default() };
                let found = config(code::MCP_SUSPECT, message).at(at);
                self.findings
                    .warning(found.hint(format!("set \"tools\": {{ \"mcpConfigPath\": \"./{name}\" }}")));
            }
        }
    }

    /// What a config must have, and the files that it names.
    fn needed(&mut self, resolved: &Resolved) {
        let settings = &resolved.settings;
        if resolved.dialect == Dialect::Json {
            if settings
                .get("runtime.model")
                .is_some_and(|setting| setting.value().is_none() && !setting.is_misfit())
            {
                let found =
                    config(code::MISSING_KEY, "no model is named").at(settings.place("runtime.model", ""));
                self.findings.error(
                    found
                        .hint(
                            "add \"runtime\": { \"model\": \"<provider>:<model>\" }, or set MONO_AGENT_MODEL",
                        )
                        .hint("\"manual:operator\" lets you play the model yourself"),
                );
            }
            if settings
                .get("context.identityPath")
                .is_some_and(|setting| setting.value().is_none() && !setting.is_misfit())
            {
                let at = settings.place("context.identityPath", "");
                let found = config(code::MISSING_KEY, "no identity file is named").at(at);
                self.findings.error(found.hint(
                    "add \"context\": { \"identityPath\": \"./IDENTITY.md\" }, or set MONO_AGENT_IDENTITY_PATH",
                ));
            }
        }
        for (role, key) in [("identity", "context.identityPath"), ("soul", "context.soulPath")] {
            if let Some(text) = settings.text(key)
                && let Ok(path) = resolved.bases.resolve(&text, Base::Folder)
            {
                let hint = "write the file (`mono-agent init` makes a starting one), or name another";
                self.text_file(role, &path, settings.place(key, ""), hint);
            }
        }
        self.skills(resolved);
    }

    fn skills(&mut self, resolved: &Resolved) {
        let settings = &resolved.settings;
        let Some(root) = settings.text("context.skillsRoot") else { return };
        let Ok(root) = resolved.bases.resolve(&root, Base::Folder) else { return };
        for (index, name) in settings.texts("context.selectedSkills").into_iter().enumerate() {
            let at = settings.place("context.selectedSkills", &format!("[{index}]"));
            if name.contains(['/', '\\', '\0']) || name.starts_with('.') {
                let message = format!("{} can't be a skill's name", crate::finding::quote_str(&name));
                self.findings
                    .error(config(code::BAD_VALUE, message).at(at).hint("a skill is named by its folder"));
                continue;
            }
            let hint = "a skill is a folder with SKILL.md under `context.skillsRoot`";
            self.text_file("skill", &root.join(name).join("SKILL.md"), at, hint);
        }
    }

    fn text_file(&mut self, role: &'static str, path: &Path, at: Place, hint: &str) {
        let (code, why) = match self.read(role, path) {
            Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
                (code::UNREADABLE, "it is not UTF-8 text".to_owned())
            }
            Ok(_) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (code::MISSING_FILE, reading_failed(&error))
            }
            Err(error) => (code::UNREADABLE, reading_failed(&error)),
        };
        let message = format!("the {role} file {} can't be read: {why}", path.display());
        self.findings.error(config(code, message).at(at).hint(hint));
    }
}

/// Whether a duplicate stands in an entry of `tools.mcpServers`, and costs that entry alone.
fn is_inline_entry(twice: &Duplicate) -> bool {
    const BASE: &str = "tools.mcpServers";
    twice.path != BASE && crate::mcp::is_within(&twice.path, BASE)
}

/// Why a file can't be read, in our words.
pub fn reading_failed(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "you may not read it".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::FileTooLarge => "it is too large".into(),
        // What the reader says itself is clearer than the kind of the error.
        io::ErrorKind::Other => error.to_string(),
        kind => format!("{kind}"),
    }
}
