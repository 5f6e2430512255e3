//! The sandbox and the files of an agent, from one set of roots.

use crate::parts::plugins;
use crate::state::StateFolder;
use host_config::environment::Environment;
use host_config::spec::sandbox::{NetworkMode, SandboxMode, SandboxSpec};
use host_config::{AgentSpec, CONFIG_FILE};
use host_files::FilesConfig;
use host_files::state::real;
use host_ports::kept::{KeepNothing, KeptOutput};
use host_sandbox::{
    Broker, BrokeredSecret, Effective, Fallback, HostEnvironment, HostList, Limits, Mode, Network, Sandbox,
    SandboxPolicy, SandboxSetup, TraceEgress,
};
use host_vocab::{Code, Diagnostic, Kind, Secret};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The agent's own files that tools may read and never write, whether or not they are there yet: with them
/// an agent could give itself more than it was given.
fn guarded(spec: &AgentSpec, named: &[PathBuf]) -> Vec<PathBuf> {
    let folder = &spec.places.folder;
    let always = [CONFIG_FILE, ".env"].map(|name| folder.join(name));
    let config = spec.places.config_file.iter().chain(&spec.mcp.file).chain(named).cloned();
    let mut all: Vec<PathBuf> = always.into_iter().chain(config).collect();
    // A link to the file would lead round the rule on its name.
    all.extend(all.clone().iter().map(|path| real(path)));
    all.sort();
    all.dedup();
    all
}

/// `denyWrite` with the guarded files, as patterns of the workspace where they lie in it.
fn deny_write(spec: &AgentSpec, named: &[PathBuf]) -> Vec<String> {
    let mut patterns = spec.sandbox.deny_write.clone();
    for path in guarded(spec, named) {
        let workspace = real(&spec.places.workspace);
        let below = path.strip_prefix(&spec.places.workspace).or_else(|_| path.strip_prefix(&workspace));
        let below = below.unwrap_or(&path);
        patterns.push(literal(below));
    }
    patterns.extend(of_plugins(spec));
    patterns
}

/// Manifests of plugins, there or not, and whole plugins that are there (LIB-2). Absolute, and not the whole folder: a
/// project may have a folder of that name, which is no business of ours.
fn of_plugins(spec: &AgentSpec) -> Vec<String> {
    let folder = plugins::folder_of(spec);
    let manifests = [&folder, &real(&folder)].map(|it| format!("{}/*/{}", literal(it), plugins::MANIFEST));
    let mut patterns = manifests.to_vec();
    for name in plugins::names_in(&folder) {
        let plugin = folder.join(name);
        patterns.extend([&plugin, &real(&plugin)].map(|path| format!("{}/**", literal(path))));
    }
    patterns.sort();
    patterns.dedup();
    patterns
}

/// The writable roots, and the agent's own folder where it lies inside one: as a root of its own it can't be
/// renamed away by a command, with the settings in it.
fn writable(spec: &AgentSpec) -> Vec<PathBuf> {
    let mut roots = spec.sandbox.writable_roots.clone();
    let folder = real(&spec.places.folder);
    let inside = |root: &PathBuf| {
        let root = real(root);
        folder.starts_with(&root) && folder != root
    };
    if roots.iter().any(inside) {
        roots.push(folder);
    }
    roots
}

/// A path as a pattern that matches it alone.
fn literal(path: &Path) -> String {
    let mut out = String::new();
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}') {
            out.push('[');
            out.push(c);
            out.push(']');
        } else {
            out.push(c);
        }
    }
    out
}

/// What commands may do.
pub(crate) fn policy(spec: &AgentSpec, named: &[PathBuf]) -> Result<SandboxPolicy, Diagnostic> {
    let SandboxSpec { mode, network, allowlist, unsafe_host_process, limits, .. } = &spec.sandbox;
    let network = match network {
        NetworkMode::None => Network::None,
        NetworkMode::Localhost => Network::Localhost,
        NetworkMode::All => Network::All,
        NetworkMode::Allowlist => Network::Allowlist(HostList::parse(allowlist).map_err(|error| {
            Diagnostic::new(Kind::Config, Code::new("config_bad_value"), error.to_string())
        })?),
    };
    let defaults = Limits::default();
    Ok(SandboxPolicy {
        mode: match mode {
            SandboxMode::Native => Mode::Native,
            SandboxMode::Off => Mode::Off,
        },
        workspace: spec.places.workspace.clone(),
        readable: spec.sandbox.readable_roots.clone(),
        writable: writable(spec),
        deny_write: deny_write(spec, named),
        network,
        fallback: if *unsafe_host_process { Fallback::UnsafeHostProcess } else { Fallback::FailClosed },
        unsafe_allow_host_process: *unsafe_host_process,
        limits: Limits {
            memory_bytes_max: limits.memory_bytes.or(defaults.memory_bytes_max),
            pids_max: limits.processes.and_then(|it| u32::try_from(it).ok()).or(defaults.pids_max),
            cpu_seconds_max: limits.cpu_seconds.or(defaults.cpu_seconds_max),
            file_bytes_max: limits.file_bytes.or(defaults.file_bytes_max),
            open_files_max: limits.open_files.or(defaults.open_files_max),
        },
    })
}

/// The secrets that commands use and never see (SBX-7). One whose variable isn't set is not lent.
fn broker(spec: &AgentSpec, env: &Environment) -> Result<Broker, Diagnostic> {
    let mut broker = Broker::default();
    for (index, wanted) in spec.credentials.broker.iter().enumerate() {
        let hosts = HostList::parse(&wanted.hosts).map_err(|error| {
            let why = format!("credentials.broker[{index}].hosts: {:?} {}", error.entry, error.why);
            Diagnostic::new(Kind::Config, Code::new("config_bad_value"), why)
        })?;
        match env.get(&wanted.env) {
            Some(value) => broker.secrets.push(BrokeredSecret {
                env: wanted.env.clone(),
                value: Secret::new(value.clone()),
                hosts,
                headers: wanted.headers.clone(),
            }),
            None => tracing::warn!(env = %wanted.env, "credentials.broker: the variable is not set"),
        }
    }
    Ok(broker)
}

/// The sandbox itself. No engine is tried yet.
pub(crate) fn sandbox(
    spec: &AgentSpec,
    env: &Environment,
    state: &StateFolder,
    named: &[PathBuf],
    keep: Arc<dyn KeptOutput>,
) -> Result<Sandbox, Diagnostic> {
    let text = |name: &str| env.get(name).cloned().unwrap_or_default();
    Sandbox::new(SandboxSetup {
        policy: policy(spec, named)?,
        environment: HostEnvironment {
            path: text("PATH"),
            home: text("HOME"),
            lang: text("LANG"),
            tmpdir: text("TMPDIR"),
        },
        state: Some(state.root().to_owned()),
        hidden: private(spec, state),
        keep,
        egress: Arc::new(TraceEgress),
        broker: broker(spec, env)?,
    })
    .map_err(|error| Diagnostic::new(Kind::Config, Code::new("sandbox_policy"), error.to_string()))
}

/// What lies outside the state folder and is the host's own all the same: artifacts, and the notes of memory, which
/// no tool but memory's own may change (A2.1).
fn private(spec: &AgentSpec, state: &StateFolder) -> Vec<PathBuf> {
    let memory = spec.memory.iter().map(|it| it.path.clone());
    [state.artifacts().to_owned()].into_iter().chain(memory).collect()
}

/// What the file tools may reach: the sandbox's roots, and more of them while it is off.
pub(crate) fn files(spec: &AgentSpec, state: &StateFolder, named: &[PathBuf]) -> FilesConfig {
    let off = spec.sandbox.mode == SandboxMode::Off;
    let more = |roots: &[PathBuf], extra: &[PathBuf]| -> Vec<PathBuf> {
        let extra = if off { extra } else { &[] };
        roots.iter().chain(extra).cloned().collect()
    };
    FilesConfig {
        workspace: spec.places.workspace.clone(),
        // What came with a turn lies in the host's own folder; the model is told its path and may read it.
        read_roots: more(&spec.sandbox.readable_roots, &spec.tools.filesystem.readable_roots)
            .into_iter()
            .chain([state.attachments()])
            .collect(),
        write_roots: more(&spec.sandbox.writable_roots, &spec.tools.filesystem.writable_roots),
        deny_write: deny_write(spec, named),
        private: [state.root().to_owned()].into_iter().chain(private(spec, state)).collect(),
        aliases: Vec::new(),
    }
}

/// Whether an engine of this machine would confine the commands of an agent in this folder, with the defaults.
pub async fn sandbox_works(folder: &Path, env: &Environment) -> bool {
    let path = env.get("PATH").cloned().unwrap_or_default();
    let setup = SandboxSetup {
        policy: SandboxPolicy::native(folder),
        environment: HostEnvironment { path, ..HostEnvironment::default() },
        state: None,
        hidden: Vec::new(),
        keep: Arc::new(KeepNothing),
        egress: Arc::new(TraceEgress),
        broker: Broker::default(),
    };
    match Sandbox::new(setup) {
        Ok(sandbox) => sandbox.status().await.effective == Effective::Native,
        Err(_) => false,
    }
}
