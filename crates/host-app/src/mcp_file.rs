//! Adding a server to the agent's MCP config and taking one out, with comments and order kept (MCP-17).

use crate::load::{Whereabouts, read};
use crate::state::StateFolder;
use host_config::finding::code;
use host_config::source::edit::{self, EditError};
use host_config::{Finding, LoadInput, Loaded, STATE_FOLDER, Severity, load};
use host_files::state::{self, ProcessLock, StateError};
use host_vocab::{Code, Diagnostic, Kind, Place};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

const SERVERS: &str = "mcpServers";
const NAMES_THE_FILE: &str = "mcpConfigPath";

/// What was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEdit {
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// What is worth knowing of the new entry.
    pub warnings: Vec<Diagnostic>,
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum ServerEditError {
    /// What was asked for can't be done: with the place and the way out.
    Refused(Vec<Diagnostic>),
    /// A file could not be written.
    Write(StateError),
}

impl From<Diagnostic> for ServerEditError {
    fn from(diagnostic: Diagnostic) -> Self {
        ServerEditError::Refused(vec![diagnostic])
    }
}

/// A text that is to be written.
struct Draft {
    path: PathBuf,
    text: String,
}

/// Adds an entry under a new name: to the file that `tools.mcpConfigPath` names; to `tools.mcpServers` where no
/// file is named and servers stand there; else to a new `mcp.json`, which the config is made to name.
///
/// # Errors
/// Where the name is taken, the entry can't be used, or a file can't be read or written. Nothing is written then.
pub fn add_server(at: &Whereabouts, name: &str, entry: &Value) -> Result<ServerEdit, ServerEditError> {
    let _alone = lock(at)?;
    let files = Files::of(at)?;
    if let Some(place) = files.place_of(name) {
        let message = format!("the server {name} is declared already, at {place}");
        let hint = format!("mono-agent mcp remove {name} takes it out; or choose another name");
        return Err(Diagnostic::new(Kind::Usage, Code::new("mcp_name_taken"), message).hint(hint).into());
    }
    let drafts = files.with(name, entry)?;
    let loaded = files.load_with(at, &drafts);
    let own = entry_findings(&loaded, name);
    let bad: Vec<Diagnostic> =
        own.iter().filter(|it| it.severity == Severity::Error).map(diagnostic).collect();
    if !bad.is_empty() {
        return Err(ServerEditError::Refused(bad));
    }
    write(&drafts)?;
    Ok(ServerEdit {
        files: drafts.into_iter().map(|draft| draft.path).collect(),
        warnings: own.iter().map(diagnostic).collect(),
    })
}

/// Takes a server out of the file and of `tools.mcpServers`.
///
/// # Errors
/// Where no server has that name, or a file can't be read or written.
pub fn remove_server(at: &Whereabouts, name: &str) -> Result<ServerEdit, ServerEditError> {
    let _alone = lock(at)?;
    let files = Files::of(at)?;
    let drafts = files.without(name)?;
    if drafts.is_empty() {
        let known = files.names();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("no MCP server is named {name}; declared are: {known}");
        return Err(Diagnostic::new(Kind::Usage, Code::new("mcp_unknown_server"), message).into());
    }
    write(&drafts)?;
    Ok(ServerEdit { files: drafts.into_iter().map(|draft| draft.path).collect(), warnings: Vec::new() })
}

/// One edit at a time, so that none is lost.
fn lock(at: &Whereabouts) -> Result<ProcessLock, ServerEditError> {
    let folder = match at.config.as_deref().and_then(Path::parent) {
        Some(folder) => folder.to_owned(),
        None => at.folder.clone(),
    };
    let run = StateFolder::new(folder.join(STATE_FOLDER), None).root().join("run");
    state::ensure_private_dir(&run).map_err(ServerEditError::Write)?;
    ProcessLock::wait(&run.join("mcp-edit.lock")).map_err(ServerEditError::Write)
}

/// The texts in which servers may stand.
struct Files {
    config: (PathBuf, String),
    /// The file that `tools.mcpConfigPath` names, and its text where it is there.
    named: Option<(PathBuf, Option<String>)>,
    /// Where a new file goes.
    workspace: PathBuf,
}

impl Files {
    fn of(at: &Whereabouts) -> Result<Self, ServerEditError> {
        let loaded = crate::load::load_agent(at);
        let path_of = |role: &str| loaded.sources.iter().find(|it| it.role == role).map(|it| it.path.clone());
        let Some(config) = path_of("config").filter(|_| loaded.has_config) else {
            let message = "there is no config here, so no MCP config can be named".to_owned();
            let found = Diagnostic::new(Kind::Usage, code::MISSING_FILE, message);
            return Err(found.hint("mono-agent init writes one; --agent names another folder").into());
        };
        let text = text_of(&config)?.unwrap_or_default();
        let named = match path_of("mcp") {
            Some(path) => {
                let text = text_of(&path)?;
                Some((path, text))
            }
            None => None,
        };
        let workspace = loaded
            .spec
            .as_ref()
            .map(|spec| spec.places.workspace.clone())
            .or_else(|| config.parent().map(Path::to_owned))
            .unwrap_or_default();
        Ok(Files { config: (config, text), named, workspace })
    }

    fn inline(&self) -> Result<Value, ServerEditError> {
        Ok(object(&self.config.0, &self.config.1)?["tools"][SERVERS].clone())
    }

    fn names(&self) -> Vec<String> {
        let file = self.named.as_ref().and_then(|(path, text)| object(path, text.as_deref()?).ok());
        let file = file.map(|it| it[SERVERS].clone());
        let inline = self.inline().ok();
        let keys = |value: &Value| {
            value.as_object().into_iter().flatten().map(|(k, _)| k.clone()).collect::<Vec<_>>()
        };
        file.iter().chain(&inline).flat_map(keys).collect()
    }

    fn place_of(&self, name: &str) -> Option<String> {
        if let Some((path, Some(text))) = &self.named
            && object(path, text).is_ok_and(|it| it[SERVERS].get(name).is_some())
        {
            return Some(format!("{} ({SERVERS}.{name})", path.display()));
        }
        let inline = self.inline().ok()?.get(name).is_some();
        inline.then(|| format!("{} (tools.{SERVERS}.{name})", self.config.0.display()))
    }

    fn with(&self, name: &str, entry: &Value) -> Result<Vec<Draft>, ServerEditError> {
        let (config, config_text) = &self.config;
        if let Some((path, text)) = &self.named {
            let text = text.clone().unwrap_or_else(|| "{}\n".to_owned());
            return Ok(vec![insert(path, &text, &[SERVERS], name, entry)?]);
        }
        if self.inline()?.as_object().is_some_and(|inline| !inline.is_empty()) {
            return Ok(vec![insert(config, config_text, &["tools", SERVERS], name, entry)?]);
        }
        let path = self.workspace.join("mcp.json");
        let text = text_of(&path)?.unwrap_or_else(|| "{}\n".to_owned());
        let names = Value::from("./mcp.json");
        Ok(vec![
            insert(&path, &text, &[SERVERS], name, entry)?,
            insert(config, config_text, &["tools"], NAMES_THE_FILE, &names)?,
        ])
    }

    fn without(&self, name: &str) -> Result<Vec<Draft>, ServerEditError> {
        let mut drafts = Vec::new();
        let mut take = |file: &PathBuf, text: &str, path: &[&str]| match edit::remove(text, path, name) {
            Ok(text) => {
                drafts.push(Draft { path: file.clone(), text });
                Ok(())
            }
            Err(EditError::Missing(_)) => Ok(()),
            Err(error) => Err(edit_failed(file, error)),
        };
        if let Some((file, Some(text))) = &self.named {
            take(file, text, &[SERVERS])?;
        }
        take(&self.config.0, &self.config.1, &["tools", SERVERS])?;
        Ok(drafts)
    }

    /// What loading would give with these texts in place.
    fn load_with(&self, at: &Whereabouts, drafts: &[Draft]) -> Loaded {
        let drafted = |path: &Path| -> io::Result<Vec<u8>> {
            match drafts.iter().find(|draft| draft.path == path) {
                Some(draft) => Ok(draft.text.clone().into_bytes()),
                None => read(path),
            }
        };
        load(LoadInput {
            folder: at.folder.clone(),
            config_path: at.config.clone(),
            env_file: at.env_file.clone(),
            env: at.env.clone(),
            home: None,
            read: &drafted,
        })
    }
}

/// What was found out about one entry.
fn entry_findings(loaded: &Loaded, name: &str) -> Vec<Finding> {
    let own = [format!("{SERVERS}.{name}"), format!("{SERVERS}[\"{name}\"]")];
    let about = |finding: &&Finding| {
        let path = finding.diagnostic.place.as_ref().and_then(|place| place.path.clone()).unwrap_or_default();
        own.iter().any(|own| {
            let rest = path.strip_prefix("tools.").unwrap_or(&path).strip_prefix(own.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    loaded.findings.iter().filter(about).cloned().collect()
}

fn diagnostic(finding: &Finding) -> Diagnostic {
    finding.diagnostic.clone()
}

fn insert(
    file: &Path,
    text: &str,
    path: &[&str],
    key: &str,
    value: &Value,
) -> Result<Draft, ServerEditError> {
    match edit::insert(text, path, key, value) {
        Ok(text) => Ok(Draft { path: file.to_owned(), text }),
        Err(error) => Err(edit_failed(file, error).into()),
    }
}

fn object(file: &Path, text: &str) -> Result<Value, ServerEditError> {
    let read = host_config::source::read(text.as_bytes());
    let document = read.map_err(|error| edit_failed(file, EditError::Syntax(error)))?;
    Ok(document.root.to_json())
}

fn edit_failed(file: &Path, error: EditError) -> Diagnostic {
    let file = file.display().to_string();
    let place = match &error {
        EditError::Syntax(at) => {
            Place { file, line: Some(at.pos.line), column: Some(at.pos.column), path: None }
        }
        _ => Place { file, ..Place::default() },
    };
    let hint = match &error {
        EditError::Syntax(at) => at.hint.clone(),
        _ => None,
    };
    let mut found = Diagnostic::new(Kind::Config, code::SYNTAX, error.to_string()).at(place);
    found.hints.extend(hint);
    found.hint("nothing was changed")
}

/// A file's text; none = it is not there.
fn text_of(path: &Path) -> Result<Option<String>, ServerEditError> {
    let failed = |why: String| {
        let place = Place { file: path.display().to_string(), ..Place::default() };
        Diagnostic::new(Kind::Config, code::UNREADABLE, format!("it can't be read: {why}")).at(place)
    };
    match read(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| failed("it is not UTF-8 text".to_owned()).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error.to_string()).into()),
    }
}

/// Writes the files, each in one step, with the rights that they had; a new one is its owner's alone. Links are
/// followed.
fn write(drafts: &[Draft]) -> Result<(), ServerEditError> {
    for draft in drafts {
        let real = state::real(&draft.path);
        let mode = state::mode_of(&real).unwrap_or(0o600);
        state::write_atomic(&real, draft.text.as_bytes(), mode).map_err(ServerEditError::Write)?;
    }
    Ok(())
}
