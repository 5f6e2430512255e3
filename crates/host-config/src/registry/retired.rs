//! Keys and variables of older versions: what replaced them, and which are read without effect.

/// A key that was retired: setting it is an error that names the replacement.
#[derive(Debug, Clone, Copy)]
pub struct Retired {
    /// Its path.
    pub path: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// Its variable, retired with it.
    pub env: Option<RetiredEnv>,
}

/// A retired variable.
pub type RetiredEnv = &'static str;

/// What an older version read that is an error today.
pub const RETIRED: &[Retired] = &[
    Retired {
        path: "runtime.executionMode",
        instead: "the provider in `runtime.model` decides; take the key away",
        env: Some("MONO_AGENT_EXECUTION_MODE"),
    },
    Retired {
        path: "runtime.fallbackModels",
        instead: "use `runtime.fallbacks` (MONO_AGENT_FALLBACKS_JSON), a list of { \"model\": … }",
        env: Some("MONO_AGENT_FALLBACK_MODELS"),
    },
    Retired {
        path: "runtime.routeSafety",
        instead: "every route enforces the policy; use `tools.allowedTools` and `sandbox`",
        env: Some("MONO_AGENT_ROUTE_SAFETY"),
    },
    Retired {
        path: "memory.llm.executionMode",
        instead: "the provider in `memory.llm.provider` decides; take the key away",
        env: None,
    },
];

/// A key (with all below it) or the beginning of a variable's name that is accepted and has no effect.
#[derive(Debug, Clone, Copy)]
pub struct Ignored {
    /// The path.
    pub path: &'static str,
    /// How the names of its variables begin.
    pub env_prefix: Option<&'static str>,
    /// Why it has no effect.
    pub why: &'static str,
}

/// What is accepted, has no effect and gives a warning.
pub const IGNORED: &[Ignored] = &[
    Ignored {
        path: "memory.reflection",
        env_prefix: Some("MONO_AGENT_MEMORY_REFLECTION_"),
        why: "memory reflection was removed",
    },
    Ignored {
        path: "memory.migration",
        env_prefix: Some("MONO_AGENT_MEMORY_MIGRATION_"),
        why: "memory migration was removed",
    },
    Ignored { path: "monitors", env_prefix: Some("MONO_AGENT_MONITORS_"), why: "monitors were removed" },
    Ignored {
        path: "providers.local.legacy",
        env_prefix: Some("MONO_AGENT_LOCAL_PROVIDER_"),
        why: "single local-provider variables are not read; use MONO_AGENT_PROVIDERS_JSON",
    },
];

/// Variables with our prefix that the host itself hands to its children or that the command line reads:
/// their presence says nothing about a misspelled setting.
pub fn is_host_variable(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "MONO_AGENT_MCP_PRODUCING_",
        "MONO_AGENT_MCP_RUN_",
        "MONO_AGENT_MCP_ATTACHMENTS_",
        "MONO_AGENT_MCP_ALLOWED_",
        "MONO_AGENT_INTERACTION_PROGRESS_",
        "MONO_AGENT_INTERACTION_BRIDGE_URL",
        "MONO_AGENT_INTERACTION_BRIDGE_TOKEN",
        "MONO_AGENT_CONTINUATION_CLAIM_",
        "MONO_AGENT_LOG",
        "MONO_AGENT_WEB_ALLOWED_HOSTS",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
