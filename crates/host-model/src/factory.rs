//! From settings to a model.

use crate::anthropic::Anthropic;
use crate::bedrock::{AwsCredentials, Bedrock};
use crate::chat::{Chat, ChatModel};
use crate::constrained::SchemaMode;
use crate::gemini::Gemini;
use crate::link::Link;
use crate::price::Prices;
use crate::provider::{DEFAULT_WINDOW, LOCAL_WINDOW, ProviderKind, known_window, provider};
use crate::responses::Responses;
use crate::tool_calling::{ToolCalling, Verdicts};
use crate::wire::{Wire, WireModel};
use host_ports::clock::Clock;
use host_ports::http::Http;
use host_ports::model::Model;
use host_vocab::Secret;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

/// One model of one provider, as it is configured.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// The name before the colon of the reference; reasoning is kept under it.
    pub id: String,
    /// The wire format; `None` = that of the known provider of this name.
    pub kind: Option<ProviderKind>,
    /// Where it is; `None` = where the known provider is.
    pub base_url: Option<String>,
    /// The key, already read from its variable.
    pub api_key: Option<Secret>,
    /// Keys to sign requests to Bedrock with, instead of a key.
    pub aws: Option<AwsCredentials>,
    /// The model, as the provider calls it.
    pub model: String,
    /// Its context window in tokens; `None` = by its name, else a careful default.
    pub context_window: Option<u64>,
    /// Whether it takes pictures; `None` = yes for cloud providers, no on this machine.
    pub images: Option<bool>,
    /// What it costs; `None` = not priced.
    pub prices: Option<Prices>,
    /// How tools reach it.
    pub tool_calling: ToolCalling,
    /// How much it is told in schema mode; `None` = by the window.
    pub schema_mode: Option<SchemaMode>,
    /// How long until the head of an answer; `None` = 120 s, on this machine 600 s.
    pub head_timeout: Option<Duration>,
    /// How long an answer may be silent; `None` = 120 s, on this machine 600 s.
    pub idle_timeout: Option<Duration>,
    /// More headers; their values count as secrets.
    pub headers: Vec<(String, Secret)>,
}

impl ProviderSettings {
    /// A model of a provider with everything else as is usual.
    pub fn new(id: impl Into<String>, model: impl Into<String>) -> Self {
        ProviderSettings {
            id: id.into(),
            kind: None,
            base_url: None,
            api_key: None,
            aws: None,
            model: model.into(),
            context_window: None,
            images: None,
            prices: None,
            tool_calling: ToolCalling::Auto,
            schema_mode: None,
            head_timeout: None,
            idle_timeout: None,
            headers: Vec::new(),
        }
    }
}

/// What a model needs of the world.
#[derive(Clone)]
pub struct ModelPorts {
    /// The way out.
    pub http: Arc<dyn Http>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What is known of endpoints; one for all models of the process.
    pub verdicts: Arc<Verdicts>,
}

/// Why a model can't be made from its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// A name that nobody knows, without a kind.
    #[error("`{0}` is no known provider: give it a type and a baseUrl, or use one of {known}", known = known_ids())]
    UnknownProvider(String),
    /// A provider of one's own without an address.
    #[error("the provider `{0}` needs a baseUrl")]
    NoBaseUrl(String),
    /// An address that is none.
    #[error("the baseUrl of `{provider}` is no http or https address: {why}")]
    BadBaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// No key where one is needed.
    #[error("`{provider}` needs a key: set {variables}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variables that are looked at.
        variables: String,
    },
    /// A header that can't be sent.
    #[error("the header `{0}` has a name or a value that can't be sent")]
    BadHeader(String),
    /// The schema mode where there is none.
    #[error("toolCalling: schema works with OpenAI-compatible endpoints; `{0}` is none")]
    NoSchemaMode(String),
    /// No model's name.
    #[error("the model's name of `{0}` is empty")]
    NoModel(String),
}

fn known_ids() -> String {
    crate::provider::PROVIDERS.iter().map(|provider| provider.id).collect::<Vec<_>>().join(", ")
}

/// Makes a model. Nothing is sent yet.
///
/// # Errors
/// What the settings lack, with the way out.
pub fn build(settings: ProviderSettings, ports: ModelPorts) -> Result<Arc<dyn Model>, ProviderError> {
    let known = provider(&settings.id);
    let kind = settings
        .kind
        .or(known.map(|known| known.kind))
        .ok_or_else(|| ProviderError::UnknownProvider(settings.id.clone()))?;
    if settings.model.trim().is_empty() {
        return Err(ProviderError::NoModel(settings.id));
    }
    let base_url = base_url(&settings, kind)?;
    let local = is_local(&base_url);
    check_key(&settings, kind, &base_url)?;
    let compatible = matches!(kind, ProviderKind::OpenaiCompatible | ProviderKind::OpenaiChat);
    if settings.tool_calling == ToolCalling::Schema && !compatible {
        return Err(ProviderError::NoSchemaMode(settings.id));
    }
    let window = settings
        .context_window
        .or_else(|| known_window(&settings.model).filter(|_| !local))
        .unwrap_or(if local { LOCAL_WINDOW } else { DEFAULT_WINDOW });
    let wait = Duration::from_secs(if local { 600 } else { 120 });
    let (mut headers, mut secrets) = headers(&settings.headers)?;
    if local {
        // Small servers close a connection after an answer without saying so; the next request on it would
        // be lost, and after a tool ran it may not be sent again. A new connection on this machine costs nothing.
        headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(aws) = &settings.aws {
        secrets.extend([aws.secret_access_key.clone()].into_iter().chain(aws.session_token.clone()));
    }
    let link = Arc::new(Link {
        provider: settings.id,
        model: settings.model,
        base_url,
        api_key: settings.api_key,
        headers,
        context_window: window,
        images: settings.images.unwrap_or(!local),
        prices: settings.prices,
        head_timeout: settings.head_timeout.unwrap_or(wait),
        idle_timeout: settings.idle_timeout.unwrap_or(wait),
        clock: ports.clock,
        secrets,
    });
    let mode = settings.tool_calling;
    let http = ports.http;
    Ok(match kind {
        ProviderKind::Anthropic => native(link, Anthropic, http, mode),
        ProviderKind::OpenaiResponses => native(link, Responses, http, mode),
        ProviderKind::Gemini => native(link, Gemini, http, mode),
        ProviderKind::Bedrock => native(link, Bedrock { credentials: settings.aws }, http, mode),
        ProviderKind::OpenaiChat | ProviderKind::OpenaiCompatible => {
            let openai = kind == ProviderKind::OpenaiChat;
            let small = settings.schema_mode.unwrap_or_else(|| SchemaMode::for_window(window));
            let mode = if openai && mode == ToolCalling::Auto { ToolCalling::Native } else { mode };
            Arc::new(ChatModel::new(link, Chat { openai }, http, mode, small, local, ports.verdicts))
        }
    })
}

fn native<W: Wire>(link: Arc<Link>, wire: W, http: Arc<dyn Http>, mode: ToolCalling) -> Arc<dyn Model> {
    Arc::new(WireModel::new(link, wire, http, mode != ToolCalling::None))
}

/// The base URL without a final slash; the version is put in, or taken off, as each wire format wants it.
fn base_url(settings: &ProviderSettings, kind: ProviderKind) -> Result<Url, ProviderError> {
    let known = provider(&settings.id).map(|known| known.base_url.to_owned());
    let by_kind = || match kind {
        ProviderKind::OpenaiCompatible => None,
        kind => {
            crate::provider::PROVIDERS.iter().find(|known| known.kind == kind).map(|p| p.base_url.to_owned())
        }
    };
    let region = settings.aws.as_ref().map_or("us-east-1", |aws| aws.region.as_str());
    let text = settings
        .base_url
        .clone()
        .or(known)
        .or_else(by_kind)
        .ok_or_else(|| ProviderError::NoBaseUrl(settings.id.clone()))?
        .replace("{region}", region);
    let bad = |why: &str| ProviderError::BadBaseUrl { provider: settings.id.clone(), why: why.to_owned() };
    let mut url = Url::parse(text.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a user or a password; use a key variable"));
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let path = match kind {
        ProviderKind::Anthropic => path.strip_suffix("/v1").unwrap_or(&path).to_owned(),
        ProviderKind::Gemini => path.strip_suffix("/v1beta").unwrap_or(&path).to_owned(),
        ProviderKind::Bedrock => path,
        _ if path.is_empty() => "/v1".to_owned(),
        _ => path.strip_suffix("/chat/completions").unwrap_or(&path).to_owned(),
    };
    url.set_path(&path);
    Ok(url)
}

/// Whether an address is on this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// A known provider at its own address needs its key; an address of one's own may need none.
fn check_key(settings: &ProviderSettings, kind: ProviderKind, url: &Url) -> Result<(), ProviderError> {
    let has_key = settings.api_key.as_ref().is_some_and(|key| !key.is_empty());
    let signed = kind == ProviderKind::Bedrock && settings.aws.is_some();
    let variables = provider(&settings.id).map_or(&[][..], |known| known.key_variables);
    let own_address = settings.base_url.is_some();
    if has_key
        || signed
        || variables.is_empty()
        || own_address
        || is_local(url)
        || !settings.headers.is_empty()
    {
        return Ok(());
    }
    let mut variables = variables.join(" or ");
    if kind == ProviderKind::Bedrock {
        variables.push_str(", or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION");
    }
    Err(ProviderError::NoKey { provider: settings.id.clone(), variables })
}

fn headers(extra: &[(String, Secret)]) -> Result<(HeaderMap, Vec<Secret>), ProviderError> {
    let mut headers = HeaderMap::new();
    let mut secrets = Vec::new();
    for (name, secret) in extra {
        let bad = || ProviderError::BadHeader(host_vocab::text::one_line(name, 64));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(key, value);
        secrets.push(secret.clone());
    }
    Ok((headers, secrets))
}
