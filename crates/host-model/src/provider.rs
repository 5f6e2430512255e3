//! The providers that are known by name.

use serde::{Deserialize, Serialize};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenaiResponses,
    /// OpenAI Chat Completions, at OpenAI.
    OpenaiChat,
    /// Chat Completions at any other server.
    OpenaiCompatible,
    /// Gemini generateContent.
    Gemini,
    /// Amazon Bedrock ConverseStream.
    Bedrock,
}

/// A provider that needs no more than its name and a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// The name before the colon of a model reference.
    pub id: &'static str,
    /// Its wire format.
    pub kind: ProviderKind,
    /// Where it is; `{region}` is put in for Bedrock.
    pub base_url: &'static str,
    /// The variables that may hold its key, the first that is set wins; empty = it needs none.
    pub key_variables: &'static [&'static str],
    /// Whether it runs on this machine.
    pub local: bool,
}

const fn cloud(
    id: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> Provider {
    Provider { id, kind, base_url, key_variables, local: false }
}

const fn local(id: &'static str, base_url: &'static str) -> Provider {
    Provider { id, kind: ProviderKind::OpenaiCompatible, base_url, key_variables: &[], local: true }
}

/// All providers that are known by name. Any other name needs a kind and a base URL.
pub const PROVIDERS: &[Provider] = &[
    cloud("anthropic", ProviderKind::Anthropic, "https://api.anthropic.com", &["ANTHROPIC_API_KEY"]),
    cloud("openai", ProviderKind::OpenaiResponses, "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
    cloud("openai-chat", ProviderKind::OpenaiChat, "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
    cloud(
        "gemini",
        ProviderKind::Gemini,
        "https://generativelanguage.googleapis.com",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ),
    cloud(
        "google",
        ProviderKind::Gemini,
        "https://generativelanguage.googleapis.com",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ),
    cloud(
        "bedrock",
        ProviderKind::Bedrock,
        "https://bedrock-runtime.{region}.amazonaws.com",
        &["AWS_BEARER_TOKEN_BEDROCK"],
    ),
    cloud("deepseek", ProviderKind::OpenaiCompatible, "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    cloud("mistral", ProviderKind::OpenaiCompatible, "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    cloud("groq", ProviderKind::OpenaiCompatible, "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    cloud("xai", ProviderKind::OpenaiCompatible, "https://api.x.ai/v1", &["XAI_API_KEY"]),
    cloud(
        "openrouter",
        ProviderKind::OpenaiCompatible,
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    cloud("together", ProviderKind::OpenaiCompatible, "https://api.together.xyz/v1", &["TOGETHER_API_KEY"]),
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("lmstudio", "http://127.0.0.1:1234/v1"),
    local("llamacpp", "http://127.0.0.1:8080/v1"),
    local("vllm", "http://127.0.0.1:8000/v1"),
];

/// The provider of that name.
pub fn provider(id: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}

/// The context window, in tokens, that is taken for a model that nobody knows: small enough for most.
pub const DEFAULT_WINDOW: u64 = 32_768;
/// The same for a model on this machine.
pub(crate) const LOCAL_WINDOW: u64 = 8_192;

/// Beginnings of model names (after the last `/`) and their windows; the longest that fits wins.
const WINDOWS: &[(&str, u64)] = &[
    ("claude", 200_000),
    ("claude-2.0", 100_000),
    ("gpt-3.5", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini-1.5-flash", 1_048_576),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-2", 1_048_576),
    ("gemini-3", 1_048_576),
    ("deepseek", 128_000),
    ("mistral-large", 128_000),
    ("mistral-small", 128_000),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    ("nova", 300_000),
    ("nova-micro", 128_000),
    ("smollm2", 8_192),
];

/// The context window of a model by its name, in tokens.
pub fn known_window(model: &str) -> Option<u64> {
    let base = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    // Bedrock writes `us.anthropic.claude-…` and `amazon.nova-…`.
    let start = ["claude", "nova"].iter().find_map(|name| base.find(name)).unwrap_or(0);
    let base = &base[start..];
    let fits = WINDOWS.iter().filter(|(stem, _)| base.starts_with(stem));
    fits.max_by_key(|(stem, _)| stem.len()).map(|(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_go_by_the_longest_beginning() {
        assert_eq!(known_window("gpt-4"), Some(8_192));
        assert_eq!(known_window("gpt-4o-mini"), Some(128_000));
        assert_eq!(known_window("openai/gpt-4.1-nano"), Some(1_047_576));
        assert_eq!(known_window("us.anthropic.claude-sonnet-4-20250514-v1:0"), Some(200_000));
        assert_eq!(known_window("amazon.nova-micro-v1:0"), Some(128_000));
        assert_eq!(known_window("my-model"), None);
    }
}
