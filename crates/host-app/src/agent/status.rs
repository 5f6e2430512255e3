//! How a host is, for its owner.

use super::Agent;
use crate::operator::protocol::{ChannelStatus, Status};
use host_config::{AgentSpec, not_built_yet};
use host_sandbox::{Effective, EngineKind, SandboxStatus};
use serde_json::Value;
use std::sync::atomic::Ordering;

impl Agent {
    /// How this host is.
    pub async fn status(&self) -> Status {
        let inner = &self.inner;
        let home = inner.home.as_ref();
        let servers = inner.servers.as_ref().map(|it| it.pool.status()).unwrap_or_default();
        let sandbox = match home {
            Some(home) => line_of(&home.sandbox.status().await),
            None => "none".to_owned(),
        };
        Status {
            ok: true,
            name: inner.name.clone(),
            pid: std::process::id(),
            generation: home.map_or(0, |home| home.options.generation),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: inner.started_at,
            model: inner.model.reference.clone(),
            active_runs: inner.active.load(Ordering::Relaxed),
            sandbox,
            channels: home.map(|home| channels(&home.spec, inner.web.get())).unwrap_or_default(),
            servers: serde_json::to_value(servers).unwrap_or(Value::Null),
            supervised: self.supervised(),
            capabilities: self.capabilities(),
            settings: home.map(|home| home.settings.clone()).unwrap_or_default(),
            variables: home.map(|home| home.variables.clone()).unwrap_or_default(),
        }
    }
}

impl Agent {
    /// What this host can besides turns and calls.
    fn capabilities(&self) -> Vec<String> {
        let mut all = vec!["attachments", "liveInput", "askUser", "replyAttachments"];
        if self.inner.home.as_ref().is_some_and(|home| home.office.is_configured()) {
            all.push("memory");
        }
        all.into_iter().map(str::to_owned).collect()
    }

    /// Connects to one server and lists its tools; `None` = there is none of that name.
    pub(crate) async fn test_server(&self, name: &str) -> Option<Value> {
        if let Some((_, why)) = self.broken_servers().into_iter().find(|(broken, _)| broken == name) {
            return Some(serde_json::json!({"name": name, "error": why}));
        }
        let report = self.servers()?.test(name).await?;
        serde_json::to_value(report).ok()
    }
}

/// The sandbox in one line.
pub(crate) fn line_of(status: &SandboxStatus) -> String {
    match (&status.blocked, status.effective) {
        (Some(why), _) => format!("blocked: {why}"),
        (None, Effective::UnsafeHostProcess) => {
            "UNSAFE: no engine works here, and commands run with the host's own rights (sandbox.fallback)"
                .to_owned()
        }
        (None, Effective::Off) => "off: commands run with the host's own rights (sandbox.mode)".to_owned(),
        _ => {
            let engine = status.engine.map_or("none", EngineKind::as_str);
            format!("native by {engine}; network {}: {}", status.network.as_str(), status.network_how)
        }
    }
}

fn channels(spec: &AgentSpec, web: Option<&String>) -> Vec<ChannelStatus> {
    let mut all = vec![ChannelStatus {
        name: "terminal".to_owned(),
        state: "running".to_owned(),
        detail: "mono-agent chat, run and call join over the local socket".to_owned(),
    }];
    all.extend(web.map(|address| ChannelStatus {
        name: "web".to_owned(),
        state: "running".to_owned(),
        detail: address.clone(),
    }));
    all.extend(not_built_yet(spec).into_iter().map(|it| ChannelStatus {
        name: it.path.to_owned(),
        state: "waiting_for_config".to_owned(),
        detail: format!("read, not run: {}", it.what),
    }));
    all
}
