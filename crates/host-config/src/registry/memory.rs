//! Memory.

use super::Shape::{Bool, Choice, EnvName, Int, List, Text, Url};
use super::{FOLDER_PATH, Field, Section, Shape, field};

pub(super) const SECTIONS: &[Section] = &[Section {
    key: "memory",
    doc: "Long-term memory. Off without this section (or one of its variables).",
    fields: MEMORY,
}];

const MS: Shape = Int(1, 600_000);

const MEMORY: &[Field] = &[
    field("memory.backend", Choice(&["bujo", "supermemory"]), "Where it is kept: here, or with Supermemory.")
        .text("bujo")
        .env("MONO_AGENT_MEMORY_BACKEND"),
    field(
        "memory.mode",
        Choice(&["lite", "journal", "bujo"]),
        "Full text; plus vectors; plus what a model notes.",
    )
    .text("lite")
    .env("MONO_AGENT_MEMORY_MODE"),
    field("memory.path", FOLDER_PATH, "The folder with the notes.")
        .text(".mono-agent/memory")
        .env("MONO_AGENT_MEMORY_PATH"),
    field("memory.maxBytes", Int(1024, 10_000_000), "How much is put into a prompt at most.")
        .int(64_000)
        .env("MONO_AGENT_MEMORY_MAX_BYTES"),
    field(
        "memory.writeMode",
        Choice(&["disabled", "append-host-summary", "capture"]),
        "What is noted after a turn by itself.",
    )
    .text("disabled")
    .env("MONO_AGENT_MEMORY_WRITE_MODE"),
    field("memory.recallTool.enabled", Bool, "Whether `MemoryRecall` and `MemoryJournal` are there.")
        .on(true)
        .env("MONO_AGENT_MEMORY_RECALL_TOOL_ENABLED"),
    field("memory.rememberTool.enabled", Bool, "Whether `Remember` is there.")
        .computed("on; off for Supermemory")
        .env("MONO_AGENT_MEMORY_REMEMBER_TOOL_ENABLED"),
    field("memory.operatorActions.enabled", Bool, "Whether an operator may change memories.").on(false),
    field("memory.consolidation.enabled", Bool, "Whether notes are put in order from time to time.")
        .on(true)
        .env("MONO_AGENT_MEMORY_CONSOLIDATION_ENABLED"),
    field("memory.consolidation.cron", Text, "When: a cron expression of five fields, in UTC.")
        .text("0 */2 * * *")
        .env("MONO_AGENT_MEMORY_CONSOLIDATION_CRON"),
    field("memory.capture.focus", Text, "What to look for, in at most 2048 bytes."),
    field("memory.capture.only", List(&Choice(&["fact", "preference", "lesson"])), "Which kinds are noted."),
    field(
        "memory.embeddings.provider",
        Choice(&["ollama", "lmstudio", "openai", "local"]),
        "Who makes the vectors.",
    )
    .env("MONO_AGENT_MEMORY_EMBEDDINGS_PROVIDER"),
    field("memory.embeddings.model", Text, "With which model.").env("MONO_AGENT_MEMORY_EMBEDDINGS_MODEL"),
    field("memory.embeddings.dim", Int(1, 65_536), "How many numbers a vector has.")
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_DIM"),
    field("memory.embeddings.endpoint", Url, "Where.")
        .computed("the provider's usual address")
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_ENDPOINT"),
    field("memory.embeddings.apiKeyEnv", EnvName, "The variable with the key.")
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_API_KEY_ENV"),
    field("memory.embeddings.apiKey", Text, "The key itself; better name a variable in `apiKeyEnv`.")
        .secret()
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_API_KEY"),
    field("memory.embeddings.timeoutMs", MS, "How long a request may take.")
        .int(10_000)
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_TIMEOUT_MS"),
    field(
        "memory.embeddings.circuitBreaker.failureThreshold",
        Int(1, 100),
        "After how many failures it rests.",
    )
    .int(3)
    .env("MONO_AGENT_MEMORY_EMBEDDINGS_CIRCUIT_BREAKER_FAILURE_THRESHOLD"),
    field("memory.embeddings.circuitBreaker.cooldownMs", Int(1, 3_600_000), "How long it rests.")
        .int(30_000)
        .env("MONO_AGENT_MEMORY_EMBEDDINGS_CIRCUIT_BREAKER_COOLDOWN_MS"),
    field("memory.llm.provider", Choice(&["ollama", "agent-host"]), "Whose model takes notes.")
        .env("MONO_AGENT_MEMORY_LLM_PROVIDER"),
    field("memory.llm.model", Text, "Which model takes notes.").env("MONO_AGENT_MEMORY_LLM_MODEL"),
    field("memory.llm.endpoint", Url, "Where (Ollama alone).").env("MONO_AGENT_MEMORY_LLM_ENDPOINT"),
    field("memory.llm.timeoutMs", Int(1000, 600_000), "How long one request may take.")
        .int(60_000)
        .env("MONO_AGENT_MEMORY_LLM_TIMEOUT_MS"),
    field("memory.llm.trace", Bool, "Accepted; such calls leave no artifacts here.")
        .on(true)
        .env("MONO_AGENT_MEMORY_LLM_TRACE"),
    field("memory.supermemory.baseUrl", Url, "Where Supermemory is.")
        .text("http://127.0.0.1:6767")
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_BASE_URL"),
    field("memory.supermemory.container", Text, "The container there.")
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_CONTAINER"),
    field("memory.supermemory.apiKeyEnv", EnvName, "The variable with the key.")
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_API_KEY_ENV"),
    field("memory.supermemory.apiKey", Text, "The key itself; better name a variable in `apiKeyEnv`.")
        .secret()
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_API_KEY"),
    field("memory.supermemory.timeoutMs", MS, "How long a request may take.")
        .int(10_000)
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_TIMEOUT_MS"),
    field("memory.supermemory.exposeMcpServer", Bool, "Whether its own MCP server is attached.")
        .on(false)
        .env("MONO_AGENT_MEMORY_SUPERMEMORY_EXPOSE_MCP_SERVER"),
];
