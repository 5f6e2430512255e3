//! A folder in memory, and what loading an agent from it says.
#![allow(dead_code, reason = "each test file uses a part")]

use host_config::{Finding, LoadInput, Loaded, Severity, load};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The agent's folder in all tests.
pub const ROOT: &str = "/w/a";

/// A config that is complete, with a place for more.
pub fn config(more: &str) -> String {
    format!(
        "{{\n  \"runtime\": {{ \"model\": \"manual:operator\" }},\n  \"context\": {{ \"identityPath\": \"IDENTITY.md\" }},\n{more}\n}}"
    )
}

/// Files and variables.
#[derive(Default)]
pub struct Folder {
    files: BTreeMap<PathBuf, Vec<u8>>,
    env: BTreeMap<String, String>,
    config_path: Option<PathBuf>,
    env_file: Option<PathBuf>,
}

impl Folder {
    /// A folder with an identity file and nothing else.
    pub fn new() -> Self {
        Folder::default().file("IDENTITY.md", "You are a test.").env("HOME", "/home/u")
    }

    /// A folder with this config.
    pub fn with(config: &str) -> Self {
        Folder::new().file("mono-agent.config.json", config)
    }

    pub fn file(self, name: &str, text: &str) -> Self {
        self.bytes(name, text.as_bytes())
    }

    pub fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.files.insert(Path::new(ROOT).join(name), bytes.to_vec());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn without_env(mut self, name: &str) -> Self {
        self.env.remove(name);
        self
    }

    pub fn config_path(mut self, path: &str) -> Self {
        self.config_path = Some(path.into());
        self
    }

    pub fn env_file(mut self, path: &str) -> Self {
        self.env_file = Some(path.into());
        self
    }

    pub fn load(&self) -> Loaded {
        let read = |path: &Path| {
            self.files
                .get(path)
                .cloned()
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
        };
        load(LoadInput {
            folder: ROOT.into(),
            config_path: self.config_path.clone(),
            env_file: self.env_file.clone(),
            env: self.env.clone(),
            home: None,
            read: &read,
        })
    }

    /// All findings as people see them, and whether there is an agent.
    pub fn said(&self) -> String {
        said(&self.load())
    }
}

/// All findings as people see them, and whether there is an agent.
pub fn said(loaded: &Loaded) -> String {
    let mut out = String::new();
    for finding in &loaded.findings {
        out.push_str(&line(finding));
        out.push('\n');
    }
    out.push_str(if loaded.spec.is_some() { "=> an agent" } else { "=> no agent" });
    out
}

fn line(finding: &Finding) -> String {
    let severity = match (finding.severity, finding.fatal) {
        (Severity::Error, true) => "error",
        (Severity::Error, false) => "error (this part alone)",
        (Severity::Warning, _) => "warning",
    };
    format!("{severity} [{}] {}", finding.diagnostic.code, finding.diagnostic)
}
