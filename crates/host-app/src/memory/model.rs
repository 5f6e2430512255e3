//! The model that takes notes.

use crate::desks::Desks;
use crate::parts::models::Maker;
use host_config::environment::Environment;
use host_config::{AgentSpec, ModelRef};
use host_model::{ProviderKind, ProviderSettings, build};
use host_ports::http::Http;
use host_ports::model::Model;
use host_vocab::{Code, Diagnostic, Kind};
use std::sync::Arc;
use std::time::Duration;

/// The model that takes notes for memory: it stands alone, without the chain's fall-backs (A1.11). `None` where
/// none is configured.
pub(crate) fn of(
    spec: &AgentSpec,
    env: &Environment,
    http: &Arc<dyn Http>,
    desks: &Arc<Desks>,
) -> Result<Option<Arc<dyn Model>>, Diagnostic> {
    const SETTING: &str = "memory.llm.model";
    let Some(llm) = spec.memory.as_ref().map(|it| &it.llm) else { return Ok(None) };
    let Some(provider) = llm.provider.as_deref() else { return Ok(None) };
    let wrong = |text: String| {
        Diagnostic::new(Kind::Config, Code::new("config_memory"), text)
            .hint("set memory.llm.model to the model that takes notes")
    };
    let named = llm.model.as_deref().ok_or_else(|| wrong(format!("{SETTING}: it isn't set")))?;
    let maker = Maker::new(spec, env, http, desks);
    if provider == "agent-host" {
        let reference = ModelRef::parse(named).map_err(|error| wrong(format!("{SETTING}: {error}")))?;
        return maker.model(&reference, SETTING).map(Some);
    }
    let base = llm.endpoint.as_deref().unwrap_or("http://localhost:11434");
    let settings = ProviderSettings {
        kind: Some(ProviderKind::OpenaiCompatible),
        base_url: Some(format!("{}/v1", base.trim_end_matches('/').trim_end_matches("/v1"))),
        head_timeout: Some(Duration::from_millis(llm.timeout_ms)),
        ..ProviderSettings::new("ollama".to_owned(), named.to_owned())
    };
    build(settings, maker.ports()).map(Some).map_err(|error| wrong(format!("{SETTING}: {error}")))
}
