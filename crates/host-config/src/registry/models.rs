//! Providers and prices.

use super::Shape::{Bool, Choice, EnvName, Int, Map, Number, Rows, Text, Url};
use super::{COUNT_MAX, FOLDER_PATH, Field, Section, Shape, field};

pub(super) const SECTIONS: &[Section] = &[
    Section {
        key: "providers",
        doc: "Model providers by id. `anthropic`, `openai`, `openai-responses`, `gemini`, `bedrock`, `ollama`, \
              `lmstudio`, `manual` and `scripted` are built in and need no entry; one here changes their settings. \
              Any other id needs a `type`. Keys are best named by variable (`apiKeyEnv`).",
        fields: PROVIDERS,
    },
    Section {
        key: "pricing",
        doc: "Prices by model reference (`anthropic:claude-…`), in US dollars for a million tokens. A model that is \
              priced neither here nor in its provider's `models` is shown as not priced, never as free.",
        fields: PRICING,
    },
];

/// The kinds of provider.
pub const PROVIDER_TYPES: &[&str] =
    &["anthropic", "openai", "gemini", "bedrock", "ollama", "lmstudio", "openai_compat"];

const USD: Shape = Number(0.0, 1_000_000.0);
const TRANSPORT: Shape = Choice(&["auto", "sse", "websocket", "websocket-cached"]);

const PROVIDERS: &[Field] = &[
    field("providers", Map, "Provider definitions by id.")
        .or(super::Default::EmptyObject)
        .env("MONO_AGENT_PROVIDERS_JSON"),
    field("providers.*.enabled", Bool, "Whether it may be used.").on(true),
    field("providers.*.type", Choice(PROVIDER_TYPES), "Which API it speaks.")
        .computed("by id, for built-in ids"),
    field("providers.*.api", Choice(&["chat", "responses"]), "Which of OpenAI's two APIs is used.")
        .computed("`chat`; `responses` for the id `openai-responses`"),
    field("providers.*.baseUrl", Url, "Where it is.").computed("the provider's own address"),
    field("providers.*.trustPublicUrl", Bool, "Whether a local kind of provider may be at a public address.")
        .on(false),
    field("providers.*.apiKey", Text, "The key itself; better name a variable in `apiKeyEnv`.").secret(),
    field("providers.*.apiKeyEnv", EnvName, "The variable that holds the key.")
        .computed("the provider's usual one"),
    field("providers.*.headers", Map, "Headers sent with every request."),
    field("providers.*.headers.*", Text, "The header's value.").secret(),
    field("providers.*.region", Text, "The region (Bedrock).").computed("AWS_REGION"),
    field(
        "providers.*.toolCalling",
        Choice(&["auto", "native", "schema", "none"]),
        "How tools are called: by the API's own means, by a constrained answer, or not at all.",
    )
    .text("auto"),
    field("providers.*.requestTimeoutMs", Int(1000, 86_400_000), "How long one request may take in all.")
        .int(600_000),
    field("providers.*.idleTimeoutMs", Int(1000, 86_400_000), "How long a stream may be silent.")
        .int(300_000),
    field(
        "providers.*.maxRetries",
        Int(0, 8),
        "How often a request that never reached the model is sent again.",
    )
    .int(2),
    field("providers.*.maxAdvertisedModels", Int(1, 10_000), "How many of its models are listed.").int(100),
    field("providers.*.models", Rows, "What is known of its models.").none(),
    field("providers.*.models[].name", Text, "The model's name at the provider.").required(),
    field("providers.*.models[].alias", Text, "A shorter name for use in references."),
    field("providers.*.models[].displayName", Text, "A name for people."),
    field("providers.*.models[].enabled", Bool, "Whether it may be used.").on(true),
    field(
        "providers.*.models[].capabilities.context_window",
        Int(1, COUNT_MAX),
        "Its context window in tokens.",
    ),
    field(
        "providers.*.models[].capabilities.max_output_tokens",
        Int(1, COUNT_MAX),
        "Its longest answer in tokens.",
    ),
    field("providers.*.models[].capabilities.images", Bool, "Whether it takes pictures."),
    field("providers.*.models[].capabilities.reasoning", Bool, "Whether it takes an effort."),
    field("providers.*.models[].pricing.input", USD, "Input, US dollars for a million tokens.").required(),
    field("providers.*.models[].pricing.output", USD, "Output, US dollars for a million tokens.").required(),
    field("providers.*.models[].pricing.cacheRead", USD, "Input read from the cache, likewise."),
    field("providers.*.models[].pricing.cacheWrite", USD, "Input written to the cache, likewise."),
    field("providers.piAuthPath", FOLDER_PATH, "Accepted for older configs.").env("MONO_AGENT_PI_AUTH_PATH"),
    field("providers.piNative.transport", TRANSPORT, "Accepted for older configs.")
        .env("MONO_AGENT_PI_TRANSPORT"),
    field("providers.piNative.piMaxRetries", Int(0, 8), "Accepted for older configs.")
        .env("MONO_AGENT_PI_MAX_RETRIES"),
    field("providers.piNative.maxRetryDelayMs", Int(0, 3_600_000), "Accepted for older configs.")
        .env("MONO_AGENT_MAX_RETRY_DELAY_MS"),
    field("providers.piNative.piSessionsRoot", FOLDER_PATH, "Accepted for older configs.")
        .env("MONO_AGENT_PI_SESSIONS_ROOT"),
    field("providers.piNative.promptCacheDiagnostics", Bool, "Accepted for older configs.")
        .env("MONO_AGENT_PI_PROMPT_CACHE_DIAGNOSTICS"),
    field(
        "providers.piNative.cacheRetention",
        Choice(&["none", "short", "long"]),
        "Accepted for older configs.",
    ),
    field("providers.local", Map, "Deprecated: definitions that belong right under `providers`.")
        .env("MONO_AGENT_LOCAL_PROVIDERS_JSON"),
    field("providers.local.*", Shape::Open, "A definition as under `providers`."),
];

const PRICING: &[Field] = &[
    field("pricing", Map, "Prices by model reference.").or(super::Default::EmptyObject),
    field("pricing.*.input", USD, "Input, US dollars for a million tokens.").required(),
    field("pricing.*.output", USD, "Output, US dollars for a million tokens.").required(),
    field("pricing.*.cacheRead", USD, "Input read from the cache, likewise.").computed("the input price"),
    field("pricing.*.cacheWrite", USD, "Input written to the cache, likewise.").computed("the input price"),
];
