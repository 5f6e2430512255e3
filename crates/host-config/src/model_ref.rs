//! Model references: `<provider>:<model>`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A reference to a model. Only the first colon splits, so a model's own name may hold `:` and `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    provider: String,
    model: String,
}

/// Why a text is no model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelRefError {
    /// There is no colon.
    #[error("it names no provider")]
    NoProvider {
        /// What to do.
        hint: String,
    },
    /// Nothing stands before or after the colon, or it holds white space or control characters.
    #[error("it is no <provider>:<model>")]
    Malformed {
        /// What to do.
        hint: String,
    },
    /// The prefix was retired (host-core facts 11.2).
    #[error("its prefix was retired")]
    Retired {
        /// What to write instead.
        hint: String,
    },
}

impl ModelRefError {
    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            ModelRefError::NoProvider { hint }
            | ModelRefError::Malformed { hint }
            | ModelRefError::Retired { hint } => hint,
        }
    }
}

impl ModelRef {
    /// Reads a reference. A leading `pi:` is dropped.
    ///
    /// # Errors
    /// A text without a provider, and the retired prefixes; the hint names the replacement.
    pub fn parse(text: &str) -> Result<Self, ModelRefError> {
        let text = text.trim();
        let text = text.strip_prefix("pi:").unwrap_or(text);
        let Some((provider, model)) = text.split_once(':') else {
            return Err(ModelRefError::NoProvider { hint: without_provider(text) });
        };
        if let Some(hint) = retired(provider, model) {
            return Err(ModelRefError::Retired { hint });
        }
        let provider_ok = is_provider_id(provider);
        let model_ok =
            !model.trim().is_empty() && !model.chars().any(char::is_control) && model.trim() == model;
        if !provider_ok || !model_ok || text.len() > 512 {
            let hint = "write \"<provider>:<model>\", such as \"ollama:qwen3\"; a provider's id has letters, digits, \
                        `-`, `_` and `.`";
            return Err(ModelRefError::Malformed { hint: hint.into() });
        }
        Ok(ModelRef { provider: provider.to_owned(), model: model.to_owned() })
    }

    /// The provider's id.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model's name at the provider.
    pub fn model(&self) -> &str {
        &self.model
    }
}

/// Whether a text may be a provider's id: 1 to 64 ASCII letters, digits, `-`, `_` and `.`.
pub fn is_provider_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn without_provider(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if ["haiku", "sonnet", "opus"].iter().any(|tier| lower == *tier) {
        return format!("a tier is no model; name one, such as \"anthropic:claude-{lower}-…\"");
    }
    let provider = if lower.starts_with("claude") {
        "anthropic"
    } else if lower.starts_with("gpt") || lower.starts_with("o3") || lower.starts_with("o4") {
        "openai"
    } else if lower.starts_with("gemini") {
        "gemini"
    } else {
        return "write \"<provider>:<model>\", such as \"anthropic:claude-…\", \"openai:gpt-…\" or \"ollama:qwen3\"".into();
    };
    format!("did you mean \"{provider}:{}\"?", host_vocab::text::one_line(text, 60))
}

fn retired(provider: &str, model: &str) -> Option<String> {
    let model = host_vocab::text::one_line(model, 60);
    Some(match provider {
        "codex" => format!(
            "`codex:` is now `openai-codex:`, write \"openai-codex:{model}\" (with a key: \"openai:{model}\")"
        ),
        "claude" | "claude-code" => format!("`{provider}:` is now `anthropic:`, write \"anthropic:{model}\""),
        "codex-cli" => format!(
            "`codex-cli:` was removed, write \"openai-codex:{model}\" (with a key: \"openai:{model}\")"
        ),
        "acp" => {
            "`acp:` was removed; name a provider that serves the model itself, such as \"anthropic:…\"".into()
        }
        "vercel" | "opencode" => {
            let rest = if model.contains(':') { model } else { format!("<provider>:{model}") };
            format!("`{provider}:` was removed; name the provider itself, \"{rest}\"")
        }
        _ => return None,
    })
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

impl TryFrom<String> for ModelRef {
    type Error = ModelRefError;
    fn try_from(text: String) -> Result<Self, ModelRefError> {
        ModelRef::parse(&text)
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> String {
        model.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ENG-2
    #[test]
    fn the_first_colon_splits() {
        let model = ModelRef::parse("ollama:library/qwen3:4b").unwrap();
        assert_eq!((model.provider(), model.model()), ("ollama", "library/qwen3:4b"));
        assert_eq!(ModelRef::parse("pi:openai:gpt-5").unwrap().to_string(), "openai:gpt-5");
        assert_eq!(ModelRef::parse("scripted:/a/b c.jsonl").unwrap().model(), "/a/b c.jsonl");
    }

    #[test]
    fn what_is_refused_names_the_way_out() {
        let hint = |text: &str| ModelRef::parse(text).unwrap_err().hint().to_owned();
        assert!(hint("codex:gpt-5").contains("openai-codex:gpt-5"));
        assert!(hint("claude:opus").contains("anthropic:opus"));
        assert!(hint("claude-code:opus").contains("anthropic:opus"));
        assert!(hint("vercel:openai:gpt-5").contains("\"openai:gpt-5\""));
        assert!(hint("opencode:groq:x").contains("\"groq:x\""));
        assert!(hint("codex-cli:x").contains("openai-codex:x"));
        assert!(hint("acp:x").contains("provider"));
        assert!(hint("sonnet").contains("tier"));
        assert!(hint("gpt-5").contains("openai:gpt-5"));
        for bad in ["", ":", "a:", ":b", "a b:c", "x:\n", "openai: gpt"] {
            assert!(ModelRef::parse(bad).is_err(), "{bad:?}");
        }
    }
}
