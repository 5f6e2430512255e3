//! The log, the stored prompts, and what stands in front of them.

use crate::clock::SystemClock;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::environment::Environment;
use host_config::spec::host::Durability as SpecDurability;
use host_history::CeilingLog;
use host_ports::log::{Log, Recorder};
use host_redact::Redactor;
use host_store::{Durability, EventLog, Incarnation, OpenError, OpenOptions, PromptVault};
use host_vocab::{Code, Diagnostic, Kind, Secret};
use std::sync::Arc;

/// Everything that lasts.
pub(crate) struct Store {
    pub(crate) log: Arc<EventLog>,
    pub(crate) vault: Arc<PromptVault>,
    pub(crate) incarnation: Incarnation,
    pub(crate) recorder: Recorder,
    /// The log as runs write it: they wait a bounded time for what may come later (HIS-2).
    pub(crate) ceiling: Arc<CeilingLog>,
}

impl Store {
    /// Opens it. An unreadable database is an error that names it, never a fresh start.
    pub(crate) fn open(spec: &AgentSpec, env: &Environment, state: &StateFolder) -> Result<Self, Diagnostic> {
        let durability = match spec.store.durability {
            SpecDurability::Default => Durability::Process,
            SpecDurability::Full => Durability::Full,
        };
        let dir = state.log();
        host_files::state::ensure_private_dir(state.root()).map_err(|error| broken(&error))?;
        let log = EventLog::open(OpenOptions::new(&dir).durability(durability))
            .map_err(|error| unusable(&error))?;
        let vault = PromptVault::open(&dir, durability).map_err(|error| unusable(&error))?;
        let incarnation = Incarnation::take(&dir).map_err(|error| unusable(&error))?;
        let log = Arc::new(log);
        let ceiling = Arc::new(CeilingLog::new(Arc::clone(&log) as Arc<dyn Log>));
        let recorder = Recorder::new(
            Arc::clone(&ceiling) as Arc<dyn Log>,
            Arc::new(redactor(spec, env)),
            Arc::new(SystemClock),
        );
        Ok(Store { log, vault: Arc::new(vault), incarnation, recorder, ceiling })
    }
}

/// What must not be written: every credential of the environment that the host resolved, and every secret
/// of the settings.
pub(crate) fn redactor(spec: &AgentSpec, env: &Environment) -> Redactor {
    let providers = spec.providers.iter().flat_map(|provider| {
        let headers = provider.headers.values().flat_map(crate::parts::servers::header_secrets);
        provider.api_key.iter().cloned().chain(headers)
    });
    let servers = spec.mcp.servers.iter().flat_map(crate::parts::servers::secrets_of);
    let channels = [
        &spec.channels.webhook.api_key,
        &spec.channels.openai_api.api_key,
        &spec.channels.tui.api_key,
        &spec.channels.telegram.bot_token,
        &spec.channels.slack.bot_token,
        &spec.channels.slack.app_token,
    ];
    let memory = spec.memory.iter().flat_map(|it| [&it.embeddings.api_key, &it.supermemory.api_key]);
    let all: Vec<Secret> = providers
        .chain(servers)
        .chain(memory.flatten().cloned())
        .chain(channels.into_iter().flatten().cloned())
        .collect();
    let brokered = spec.credentials.broker.iter().filter_map(|it| env.get(&it.env)).cloned().map(Secret::new);
    let from_env = env.iter().map(|(name, value)| (name.clone(), value.clone()));
    Redactor::from_environment(from_env).with_more(all.into_iter().chain(brokered))
}

fn unusable(error: &OpenError) -> Diagnostic {
    Diagnostic::new(Kind::Environment, Code::new("store_unusable"), error.to_string())
}

fn broken(error: &host_files::state::StateError) -> Diagnostic {
    Diagnostic::new(Kind::Environment, Code::new("state_unusable"), error.to_string()).hint(
        "the agent keeps its state in .mono-agent below its folder; make that writable for this user alone",
    )
}
