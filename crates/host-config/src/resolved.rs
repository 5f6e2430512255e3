//! From checked settings to the typed agent.

use crate::environment::Environment;
use crate::finding::{Findings, code};
use crate::load::STATE_FOLDER;
use crate::paths::{Bases, tidy};
use crate::registry::Base;
use crate::settings::Settings;
use crate::spec::{AgentSpec, Dialect, Places};
use host_vocab::Diagnostic;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The folders that paths start from.
pub(crate) fn bases(folder: &Path, home: Option<PathBuf>, settings: &Settings) -> Bases {
    let mut bases = Bases { folder: folder.to_owned(), workspace: folder.to_owned(), home };
    let written = settings.text("runtime.workspace").unwrap_or_else(|| ".".to_owned());
    if let Ok(workspace) = bases.resolve(&written, Base::Folder) {
        bases.workspace = workspace;
    }
    bases
}

/// Everything that an agent is typed from.
pub(crate) struct Resolved {
    pub dialect: Dialect,
    pub config_file: Option<PathBuf>,
    pub bases: Bases,
    pub env: Environment,
    pub settings: Settings,
    pub mcp: crate::McpConfig,
}

impl Resolved {
    /// What a folder without any config has.
    pub(crate) fn defaults(folder: &Path) -> Self {
        let env = Environment::new();
        let mut findings = Findings::default();
        let settings = Settings::resolve("defaults", None, &env, &mut findings);
        let bases = bases(&tidy(folder), None, &settings);
        let mcp = crate::McpConfig::default();
        Resolved { dialect: Dialect::Embedded, config_file: None, bases, env, settings, mcp }
    }

    fn typed<T: DeserializeOwned>(&self, section: &str, findings: &mut Findings) -> Option<T> {
        match self.settings.typed(section, &self.bases) {
            Ok(typed) => Some(typed),
            // After a finding some value may be missing or odd; without one this is our own mistake.
            Err(_) if findings.is_fatal() => None,
            Err(error) => {
                let message =
                    format!("the section `{section}` passed every check and has no typed form: {error}");
                findings.error(Diagnostic::new(host_vocab::Kind::Bug, code::BUG, message));
                None
            }
        }
    }

    fn present<T: DeserializeOwned>(&self, section: &str, findings: &mut Findings) -> Option<Option<T>> {
        if self.settings.is_set_below(section) { self.typed(section, findings).map(Some) } else { Some(None) }
    }

    /// The agent, where every section has a typed form.
    pub(crate) fn spec(&self, findings: &mut Findings) -> Option<AgentSpec> {
        let settings = &self.settings;
        let providers = crate::spec::routes::resolve(settings, &self.bases, &self.env, findings);
        let prices = crate::spec::routes::prices(settings, &providers, findings);
        crate::rules::check_models(self, &providers, findings);
        let sandbox: crate::spec::sandbox::RawSandbox = self.typed("sandbox", findings)?;
        Some(AgentSpec {
            dialect: self.dialect,
            places: Places {
                folder: self.bases.folder.clone(),
                config_file: self.config_file.clone(),
                workspace: self.bases.workspace.clone(),
                state: self.bases.folder.join(STATE_FOLDER),
            },
            agent: self.typed("agent", findings)?,
            runtime: self.typed("runtime", findings)?,
            providers,
            prices,
            context: self.typed("context", findings)?,
            concurrency: self.typed("concurrency", findings)?,
            tools: self.tools(findings)?,
            mcp: self.mcp.clone(),
            tool_output: self.typed("toolOutput", findings)?,
            sandbox: sandbox.resolve(&self.bases.workspace, settings.is_set_below("sandbox")),
            credentials: self.typed("credentials", findings)?,
            store: self.typed("store", findings)?,
            artifacts: self.typed("artifacts", findings)?,
            interaction: self.typed("interaction", findings)?,
            continuations: self.present("continuations", findings)?,
            process_jobs: self.typed("processJobs", findings)?,
            subagents: self.typed("subagents", findings)?,
            memory: self.present("memory", findings)?,
            channels: crate::spec::channels::ChannelsSpec {
                webhook: self.typed("webhook", findings)?,
                cron: self.typed("cron", findings)?,
                openai_api: self.typed("openaiApi", findings)?,
                tui: self.typed("tui", findings)?,
                telegram: self.typed("telegram", findings)?,
                slack: self.typed("slack", findings)?,
                plugins: self.typed("channels.plugins", findings)?,
            },
            traceability: self.typed("traceability", findings)?,
            observability: self.typed("observability", findings)?,
            settings: settings.clone(),
        })
    }

    fn tools(&self, findings: &mut Findings) -> Option<crate::spec::tools::ToolsSpec> {
        use crate::spec::tools::{McpToolPolicy, RawBlock, ToolList, ToolsSpec};
        let settings = &self.settings;
        let ms = |path: &str| {
            settings.get(path).and_then(|s| s.value()).and_then(|v| v.as_u64()).unwrap_or_default()
        };
        let gated = settings.text("tools.mcpToolPolicy").as_deref() == Some("gated");
        Some(ToolsSpec {
            allowed: settings.get("tools.allowedTools").and_then(ToolList::of),
            disallowed: settings.get("tools.disallowedTools").and_then(ToolList::of),
            mcp_policy: if gated { McpToolPolicy::Gated } else { McpToolPolicy::Open },
            approvals: settings.get("tools.approvals").and_then(RawBlock::of),
            request_context_servers: settings.texts("tools.mcpRequestContextServers"),
            continuation_servers: settings.texts("tools.continuationServers"),
            sampling_servers: settings.texts("tools.mcpSampling"),
            mcp_call_timeout_ms: ms("tools.mcpCallTimeoutMs"),
            mcp_call_max_total_timeout_ms: ms("tools.mcpCallMaxTotalTimeoutMs"),
            filesystem: self.typed("tools.filesystem", findings)?,
            web: self.typed("tools.web", findings)?,
        })
    }
}
