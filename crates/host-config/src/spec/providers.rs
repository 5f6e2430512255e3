//! Model providers: the built-in ones and those of the config, with their keys and prices.

use crate::model_ref::ModelRef;
use host_vocab::Secret;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which API a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Gemini.
    Gemini,
    /// Bedrock.
    Bedrock,
    /// Ollama, over its OpenAI-compatible API.
    Ollama,
    /// LM Studio, over its OpenAI-compatible API.
    LmStudio,
    /// Anything else that speaks Chat Completions.
    OpenAiCompat,
    /// A person plays the model.
    Manual,
    /// A file plays the model.
    Scripted,
}

/// How tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCalling {
    /// It is found out.
    Auto,
    /// By the API's own means.
    Native,
    /// By a constrained answer.
    Schema,
    /// Not at all.
    None,
}

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// It needs none, or its own means find one.
    None,
    /// It stands in the config.
    Config,
    /// It is in this variable.
    Env(String),
    /// It should be in this variable, which is not set.
    Missing(String),
}

/// One provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderSpec {
    /// Its id, the first part of a model reference.
    pub id: String,
    /// Which API it speaks.
    pub kind: ProviderKind,
    /// Where it is; none = the provider's own address.
    pub base_url: Option<String>,
    /// Its key, where one was found.
    pub api_key: Option<Secret>,
    /// Where the key comes from.
    pub key_source: KeySource,
    /// Headers sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// The region (Bedrock).
    pub region: Option<String>,
    /// How tools are called.
    pub tool_calling: ToolCalling,
    /// How long one request may take in all.
    pub request_timeout_ms: u64,
    /// How long a stream may be silent.
    pub idle_timeout_ms: u64,
    /// How often a request that never reached the model is sent again.
    pub max_retries: u32,
    /// Whether a local kind of provider may be at a public address.
    pub trust_public_url: bool,
    /// How many of its models are listed.
    pub max_advertised_models: u32,
    /// What is known of its models.
    pub models: Vec<KnownModel>,
    /// Whether the config has an entry for it.
    pub is_configured: bool,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownModel {
    /// Its name at the provider.
    pub name: String,
    /// A shorter name for references.
    pub alias: Option<String>,
    /// A name for people.
    pub display_name: Option<String>,
    /// Whether it may be used.
    pub enabled: bool,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What it costs.
    pub pricing: Option<Rates>,
}

/// What a model can do; none = not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Its context window in tokens.
    pub context_window: Option<u32>,
    /// Its longest answer in tokens.
    pub max_output_tokens: Option<u32>,
    /// Whether it takes pictures.
    pub images: Option<bool>,
    /// Whether it takes an effort.
    pub reasoning: Option<bool>,
}

/// Prices, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rates {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache; none = as input.
    pub cache_read: Option<f64>,
    /// Input written to the cache; none = as input.
    pub cache_write: Option<f64>,
}

/// The prices of one model. A model without an entry is not priced; its price is not zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The model.
    pub model: ModelRef,
    /// What it costs.
    pub rates: Rates,
}

/// The built-in ids.
pub const BUILT_IN: &[(&str, ProviderKind)] = &[
    ("anthropic", ProviderKind::Anthropic),
    ("openai", ProviderKind::OpenAiChat),
    ("openai-chat", ProviderKind::OpenAiChat),
    ("openai-responses", ProviderKind::OpenAiResponses),
    ("gemini", ProviderKind::Gemini),
    ("google", ProviderKind::Gemini),
    ("bedrock", ProviderKind::Bedrock),
    ("ollama", ProviderKind::Ollama),
    ("lmstudio", ProviderKind::LmStudio),
    ("deepseek", ProviderKind::OpenAiCompat),
    ("mistral", ProviderKind::OpenAiCompat),
    ("groq", ProviderKind::OpenAiCompat),
    ("xai", ProviderKind::OpenAiCompat),
    ("openrouter", ProviderKind::OpenAiCompat),
    ("together", ProviderKind::OpenAiCompat),
    ("llamacpp", ProviderKind::OpenAiCompat),
    ("vllm", ProviderKind::OpenAiCompat),
    ("manual", ProviderKind::Manual),
    ("scripted", ProviderKind::Scripted),
];
