//! The chain of models, the engine on it, and how conversations are kept.

use crate::clock::SystemClock;
use crate::desks::Desks;
use crate::report::{Report, Section, SectionStatus};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use host_config::environment::Environment;
use host_config::spec::providers::{
    KeySource, KnownModel, ProviderKind as SpecKind, ProviderSpec, ToolCalling as SpecCalling,
};
use host_config::spec::runtime::{
    CompactionSpec, Effort as SpecEffort, Rollover as SpecRollover, SessionMode as SpecMode,
};
use host_config::{AgentSpec, ModelRef};
use host_model::{
    AwsCredentials, LocalCandidate, LocalEndpoint, Manual, ModelPorts, Prices, ProviderError, ProviderKind,
    ProviderSettings, Scripted, ToolCalling, Verdicts, build, discover_local,
};
use host_net::{NetHttp, NetSettings};
use host_ports::http::Http;
use host_ports::model::{Effort, Model, ModelError, ModelEvent, ModelInfo, ModelRequest};
use host_run::{
    CompactionConfig, Engine, EngineConfig, EngineParts, RetryConfig, Rollover, RouteParts, RunLimits,
    SessionConfig, SessionHub, SessionMode,
};
use host_turn::FailureKind;
use host_vocab::{Code, Diagnostic, Kind, Place};
use std::sync::Arc;
use std::time::Duration;

/// A queue that the config leaves unbounded is bounded all the same.
const PENDING_RUNS_MAX: usize = 1_024;
/// Runs at a time, where the config sets no limit.
const CONCURRENT_RUNS_DEFAULT: usize = 64;
/// The most requests to a model in one run, where the config sets no limit.
const STEPS_MAX: u32 = 1_000;

/// The first route, and what people should know about it.
#[derive(Debug, Clone, Default)]
pub struct ModelNote {
    /// Its reference.
    pub reference: String,
    /// Why it is this one, where nobody configured it.
    pub note: Option<String>,
}

/// Makes the models of the chain, first choice first. With no model configured: a local endpoint if one
/// answers, else the operator (ENG-5).
pub(crate) async fn chain(
    spec: &AgentSpec,
    env: &Environment,
    http: &Arc<dyn Http>,
    desks: &Arc<Desks>,
) -> Result<(Vec<RouteParts>, ModelNote), Vec<Diagnostic>> {
    let maker = Maker::new(spec, env, http, desks);
    let Some(first) = &spec.runtime.model else { return Ok(maker.unconfigured().await) };
    let mut routes = Vec::new();
    let mut faults = Vec::new();
    let all = std::iter::once((
        first,
        spec.runtime.effort,
        spec.runtime.retry.primary_attempts,
        "runtime.model".to_owned(),
    ))
    .chain(
        spec.runtime
            .fallbacks
            .iter()
            .enumerate()
            .map(|(n, it)| (&it.model, it.effort, it.attempts, format!("runtime.fallbacks[{n}].model"))),
    );
    for (reference, own_effort, attempts, setting) in all {
        match maker.model(reference, &setting) {
            Ok(model) => routes.push(RouteParts { model, attempts, effort: own_effort.map(effort) }),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() {
        Ok((routes, ModelNote { reference: first.to_string(), note: None }))
    } else {
        Err(faults)
    }
}

/// The routes of the chain as they are set, for a replay: models that are only asked what they are. One that can't
/// be made is told by its reference, and where none is set the recorded one stands in.
pub(crate) fn routes(spec: &AgentSpec, env: &Environment, recorded: &str) -> Vec<RouteParts> {
    let http: Arc<dyn Http> = Arc::new(NetHttp::new(NetSettings::default()));
    let desks = Arc::default();
    let maker = Maker::new(spec, env, &http, &desks);
    let named = |reference: &str| -> Arc<dyn Model> {
        Arc::new(Keyless { reference: reference.to_owned(), why: "it is only replayed".to_owned() })
    };
    let runtime = &spec.runtime;
    let Some(first) = &runtime.model else {
        return vec![RouteParts { model: named(recorded), attempts: 2, effort: None }];
    };
    let primary = (first, runtime.retry.primary_attempts, runtime.effort);
    let others = runtime.fallbacks.iter().map(|it| (&it.model, it.attempts, it.effort));
    std::iter::once(primary)
        .chain(others)
        .map(|(reference, attempts, own)| {
            let model = maker.model(reference, "runtime").unwrap_or_else(|_| named(&reference.to_string()));
            RouteParts { model, attempts, effort: own.map(effort) }
        })
        .collect()
}

/// The engine on a chain; none without one.
pub(crate) fn engine(
    chain: Vec<RouteParts>,
    spec: &AgentSpec,
    hub: Arc<SessionHub>,
    incarnation: String,
) -> Option<Engine> {
    let runtime = &spec.runtime;
    let ms = Duration::from_millis;
    let config = EngineConfig {
        limits: RunLimits {
            steps_max: if runtime.max_turns == 0 { STEPS_MAX } else { runtime.max_turns },
            ..RunLimits::default()
        },
        retry: RetryConfig {
            backoff: ms(runtime.retry.backoff_ms),
            backoff_max: ms(runtime.retry.max_backoff_ms),
            ..RetryConfig::default()
        },
        compaction: compaction(&runtime.compaction),
    };
    Engine::new(EngineParts { chain, hub, config, incarnation }).ok()
}

/// How long prompts are shortened (ENG-4).
fn compaction(spec: &CompactionSpec) -> CompactionConfig {
    CompactionConfig {
        enabled: spec.enabled,
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the loader bounds the ratio"
        )]
        trigger_percent: (spec.trigger_ratio * 100.0).round() as u64,
        keep_recent_tokens: spec.keep_recent_tokens.map(u64::from),
        summary_max_tokens: spec.summary_max_tokens.map(u64::from),
        min_savings_tokens: spec.min_savings_tokens.map(u64::from),
        fixed_overhead: spec.fixed_overhead_enabled,
    }
}

/// How conversations are kept (ENG-4).
pub(crate) fn sessions(spec: &AgentSpec) -> SessionConfig {
    let session = &spec.runtime.session;
    let rollover = match session.rollover {
        SpecRollover::None => Rollover::Off,
        SpecRollover::Daily => {
            let system = || jiff::tz::TimeZone::system().iana_name().map(str::to_owned);
            let zone = session.rollover_timezone.clone().or_else(system).unwrap_or_else(|| "UTC".to_owned());
            // The loader refused a zone that nobody knows; a system without one counts days by UTC.
            Rollover::daily(&zone).or_else(|_| Rollover::daily("UTC")).unwrap_or_default()
        }
    };
    SessionConfig {
        mode: match session.mode {
            SpecMode::Continuous => SessionMode::Continuous,
            SpecMode::PerMessage => SessionMode::PerMessage,
        },
        rollover,
        rollover_notice: session.rollover_notice,
        idle: Duration::from_millis(session.idle_timeout_ms),
        pending_max: spec.concurrency.max_pending_runs.unwrap_or(PENDING_RUNS_MAX),
        concurrent_max: spec.concurrency.max_concurrent_runs.unwrap_or(CONCURRENT_RUNS_DEFAULT),
        isolate_proactive: session.isolate_proactive,
        ..SessionConfig::default()
    }
}

/// The `Models` section of `validate`: every route is made and none is asked (17.10).
pub(crate) fn section(spec: &AgentSpec, env: &Environment) -> Section {
    let Some(first) = &spec.runtime.model else {
        let line = "no model is configured: chat and run look for a local endpoint, else you play the model \
                    (manual:operator); set runtime.model or MONO_AGENT_MODEL";
        return Report::section("Models", SectionStatus::Waiting, vec![line.to_owned()]);
    };
    let http: Arc<dyn Http> = Arc::new(NetHttp::new(NetSettings::default()));
    let desks = Arc::default();
    let maker = Maker::new(spec, env, &http, &desks);
    let mut status = SectionStatus::Ok;
    let mut lines = Vec::new();
    for reference in std::iter::once(first).chain(spec.runtime.fallbacks.iter().map(|it| &it.model)) {
        let key = spec.providers.iter().find(|it| it.id == reference.provider()).map(|it| &it.key_source);
        let line = match (maker.model(reference, "runtime"), key) {
            (Err(fault), _) => {
                status = SectionStatus::Error;
                format!("{reference}: {fault}")
            }
            (Ok(model), _) if model.info().tool_calling == KEYLESS => {
                status = status.max(SectionStatus::Waiting);
                format!("[WARN] {reference}: its key is not there; set {}", missing(key))
            }
            (Ok(_), Some(KeySource::Config)) => format!("{reference}: its key stands in the config"),
            (Ok(_), Some(KeySource::Env(variable))) => format!("{reference}: its key comes from {variable}"),
            (Ok(_), _) => format!("{reference}: no key is sent"),
        };
        let priced = spec.prices.iter().any(|it| it.model == *reference);
        lines.push(if priced { line } else { format!("{line}; not priced") });
    }
    Report::section("Models", status, lines)
}

fn missing(key: Option<&KeySource>) -> String {
    match key {
        Some(KeySource::Missing(variable)) => variable.clone(),
        _ => "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or a key of its own".to_owned(),
    }
}

/// How a route without its key says that no tool reaches it.
const KEYLESS: &str = "none: no key";

/// A route whose key is missing: every request fails with what to set.
struct Keyless {
    reference: String,
    why: String,
}

impl Model for Keyless {
    fn info(&self) -> ModelInfo {
        let provider = self.reference.split(':').next().unwrap_or_default().to_owned();
        ModelInfo {
            reference: self.reference.clone(),
            provider,
            context_window: host_model::DEFAULT_WINDOW,
            images: false,
            operator: false,
            tool_calling: KEYLESS,
        }
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let error = ModelError::new(FailureKind::ProviderAuth, self.why.clone());
        futures_util::stream::iter([Err(error)]).boxed()
    }
}

/// Makes models of references.
pub(crate) struct Maker<'a> {
    spec: &'a AgentSpec,
    env: &'a Environment,
    http: &'a Arc<dyn Http>,
    desks: &'a Arc<Desks>,
    verdicts: Arc<Verdicts>,
}

impl<'a> Maker<'a> {
    /// Of an agent's settings.
    pub(crate) fn new(
        spec: &'a AgentSpec,
        env: &'a Environment,
        http: &'a Arc<dyn Http>,
        desks: &'a Arc<Desks>,
    ) -> Self {
        Maker { spec, env, http, desks, verdicts: Arc::default() }
    }

    /// The model of a reference; `setting` is named where it can't be made.
    pub(crate) fn model(&self, reference: &ModelRef, setting: &str) -> Result<Arc<dyn Model>, Diagnostic> {
        let fault = |message: String| {
            let file = self.spec.places.config_file.as_ref();
            let file = file.map_or_else(|| "defaults".to_owned(), |path| path.display().to_string());
            Diagnostic::new(Kind::Config, Code::new("config_model"), message).at(Place {
                file,
                path: Some(setting.to_owned()),
                ..Place::default()
            })
        };
        let provider = self.spec.providers.iter().find(|it| it.id == reference.provider());
        let Some(provider) = provider else {
            let message = format!("no provider `{}` is known", reference.provider());
            return Err(fault(message).hint("define it under `providers` with its type and baseUrl"));
        };
        match provider.kind {
            SpecKind::Manual => Ok(Arc::new(Manual::new(Arc::clone(self.desks) as _))),
            SpecKind::Scripted => self.scripted(reference.model()).map_err(fault),
            _ => {
                if let (KeySource::Missing(variable), true) =
                    (&provider.key_source, provider.base_url.is_some())
                {
                    let why = format!("`{}` needs a key: set {variable}", provider.id);
                    return Ok(Arc::new(Keyless { reference: reference.to_string(), why }));
                }
                let settings = self.settings(provider, reference);
                match build(settings, self.ports()) {
                    // A key that isn't there yet is no reason not to start (17.4); each request says it.
                    Err(error @ ProviderError::NoKey { .. }) => {
                        Ok(Arc::new(Keyless { reference: reference.to_string(), why: error.to_string() }))
                    }
                    other => other.map_err(|error| fault(error.to_string())),
                }
            }
        }
    }

    fn scripted(&self, file: &str) -> Result<Arc<dyn Model>, String> {
        let path = self.spec.places.folder.join(file);
        let bytes = crate::load::read(&path).map_err(|error| {
            format!("the script {file} can't be read: {}", host_config::reading_failed(&error))
        })?;
        let text = String::from_utf8(bytes).map_err(|_| format!("the script {file} is not UTF-8"))?;
        let scripted =
            Scripted::parse(file, &text, Arc::new(SystemClock)).map_err(|error| error.to_string())?;
        Ok(Arc::new(scripted))
    }

    pub(crate) fn ports(&self) -> ModelPorts {
        ModelPorts {
            http: Arc::clone(self.http),
            clock: Arc::new(SystemClock),
            verdicts: Arc::clone(&self.verdicts),
        }
    }

    fn settings(&self, provider: &ProviderSpec, reference: &ModelRef) -> ProviderSettings {
        let known = provider
            .models
            .iter()
            .find(|it| it.name == reference.model() || it.alias.as_deref() == Some(reference.model()));
        let model = known.map_or(reference.model(), |it| it.name.as_str()).to_owned();
        let window = self.spec.runtime.compaction.context_window_override;
        let capability = |it: fn(&KnownModel) -> Option<u32>| known.and_then(it);
        ProviderSettings {
            kind: Some(kind(provider.kind)),
            base_url: provider.base_url.clone(),
            api_key: provider.api_key.clone(),
            aws: (provider.kind == SpecKind::Bedrock).then(|| self.aws(provider)).flatten(),
            context_window: window.or(capability(|it| it.capabilities.context_window)).map(u64::from),
            images: known.and_then(|it| it.capabilities.images),
            prices: self.spec.prices.iter().find(|it| it.model == *reference).map(|it| Prices {
                input: it.rates.input,
                output: it.rates.output,
                cache_read: it.rates.cache_read,
                cache_write: it.rates.cache_write,
            }),
            tool_calling: calling(provider.tool_calling),
            head_timeout: Some(Duration::from_millis(provider.request_timeout_ms)),
            idle_timeout: Some(Duration::from_millis(provider.idle_timeout_ms)),
            headers: provider.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            ..ProviderSettings::new(provider.id.clone(), model)
        }
    }

    fn aws(&self, provider: &ProviderSpec) -> Option<AwsCredentials> {
        let set = |name: &str| self.env.get(name).filter(|value| !value.trim().is_empty()).cloned();
        Some(AwsCredentials {
            access_key_id: set("AWS_ACCESS_KEY_ID")?,
            secret_access_key: host_vocab::Secret::new(set("AWS_SECRET_ACCESS_KEY")?),
            session_token: set("AWS_SESSION_TOKEN").map(host_vocab::Secret::new),
            region: provider.region.clone().unwrap_or_else(|| "us-east-1".to_owned()),
        })
    }

    /// A local endpoint if one answers, else the person plays the model.
    async fn unconfigured(&self) -> (Vec<RouteParts>, ModelNote) {
        let set = "set runtime.model in mono-agent.config.json (mono-agent init) or MONO_AGENT_MODEL";
        if let Some(found) = discover_local(self.http.as_ref(), &self.candidates()).await {
            let reference = format!("{}:{}", found.provider, found.model);
            if let Ok(model) = build(self.found(&found), self.ports()) {
                let note = format!(
                    "no model is configured; using {reference}, which answers at {} ({set})",
                    found.base_url
                );
                let route = RouteParts { model, attempts: 2, effort: None };
                return (vec![route], ModelNote { reference, note: Some(note) });
            }
        }
        let reference = "manual:operator".to_owned();
        let note = format!(
            "no model is configured and no local endpoint answers; you play the model ({reference}). To use one, {set}"
        );
        let model: Arc<dyn Model> = Arc::new(Manual::new(Arc::clone(self.desks) as _));
        (vec![RouteParts { model, attempts: 1, effort: None }], ModelNote { reference, note: Some(note) })
    }

    fn found(&self, found: &LocalEndpoint) -> ProviderSettings {
        ProviderSettings {
            kind: Some(ProviderKind::OpenaiCompatible),
            base_url: Some(found.base_url.clone()),
            context_window: found.context_window,
            ..ProviderSettings::new(found.provider.clone(), found.model.clone())
        }
    }

    /// The usual places, after the one that a variable names.
    fn candidates(&self) -> Vec<LocalCandidate> {
        let named = self.env.get("MONO_AGENT_LOCAL_ENDPOINT").filter(|url| !url.trim().is_empty());
        let named = named.map(|url| LocalCandidate::new("local", url.clone()));
        named.into_iter().chain(LocalCandidate::usual()).collect()
    }
}

fn kind(kind: SpecKind) -> ProviderKind {
    match kind {
        SpecKind::Anthropic => ProviderKind::Anthropic,
        SpecKind::OpenAiChat => ProviderKind::OpenaiChat,
        SpecKind::OpenAiResponses => ProviderKind::OpenaiResponses,
        SpecKind::Gemini => ProviderKind::Gemini,
        SpecKind::Bedrock => ProviderKind::Bedrock,
        SpecKind::Ollama
        | SpecKind::LmStudio
        | SpecKind::OpenAiCompat
        | SpecKind::Manual
        | SpecKind::Scripted => ProviderKind::OpenaiCompatible,
    }
}

fn calling(calling: SpecCalling) -> ToolCalling {
    match calling {
        SpecCalling::Auto => ToolCalling::Auto,
        SpecCalling::Native => ToolCalling::Native,
        SpecCalling::Schema => ToolCalling::Schema,
        SpecCalling::None => ToolCalling::None,
    }
}

/// The level of a setting.
pub(crate) fn effort(effort: SpecEffort) -> Effort {
    match effort {
        SpecEffort::None => Effort::None,
        SpecEffort::Minimal => Effort::Minimal,
        SpecEffort::Low => Effort::Low,
        SpecEffort::Medium => Effort::Medium,
        SpecEffort::High => Effort::High,
        SpecEffort::Xhigh => Effort::Xhigh,
        SpecEffort::Max => Effort::Max,
        SpecEffort::Ultra => Effort::Ultra,
    }
}
