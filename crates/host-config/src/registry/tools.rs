//! Tools, MCP servers, what a tool's output may weigh, and the sandbox.

use super::Shape::{AnyText, Bool, Choice, Either, EnvName, Int, List, Map, Open, Text, Url};
use super::{
    BYTES_MAX, COUNT_MAX, DAY_MS, Default, Field, GIB, MIB, Section, Shape, TEXTS, WORKSPACE_PATH,
    WORKSPACE_PATHS, field,
};

pub(super) const SECTIONS: &[Section] = &[
    Section {
        key: "tools",
        doc: "Which tools there are, the MCP servers that add to them, and who is asked before a call.",
        fields: TOOLS,
    },
    Section { key: "toolOutput", doc: "How much of a tool's output is kept.", fields: TOOL_OUTPUT },
    Section {
        key: "sandbox",
        doc: "How commands and stdio MCP servers are confined. Without this section the sandbox is on with these \
              defaults; `off` must be written.",
        fields: SANDBOX,
    },
    Section {
        key: "credentials",
        doc: "Secrets that a child may use without seeing them.",
        fields: CREDENTIALS,
    },
];

/// Network modes of the sandbox, from least to most.
pub const NETWORK_MODES: &[&str] = &["none", "localhost", "allowlist", "all"];
/// The search backends.
pub const SEARCH_BACKENDS: &[&str] =
    &["auto", "searxng", "brave", "duckduckgo", "keyless", "codex", "parallel", "ollama"];

const BACKEND: Shape = Choice(SEARCH_BACKENDS);
const FETCHER: Shape = Choice(&["local", "parallel"]);
const CALL_MS: Shape = Int(1, DAY_MS);

const TOOLS: &[Field] = &[
    field(
        "tools.allowedTools",
        List(&AnyText),
        "The tools there are. `[\"*\"]` is all of them; `[]` is none, a chat-only agent.",
    )
    .or(Default::Texts(&["*"]))
    .env("MONO_AGENT_ALLOWED_TOOLS")
    .empty_is_list(),
    field(
        "tools.disallowedTools",
        List(&AnyText),
        "Tools that are taken away whatever else holds; `mcp__server__tool`, `mcp__server__*` and `mcp__*` too.",
    )
    .none()
    .env("MONO_AGENT_DISALLOWED_TOOLS")
    .empty_is_list(),
    field("tools.mcpToolPolicy", Choice(&["open", "gated"]), "Whether `allowedTools` narrows MCP tools too.")
        .text("open"),
    field("tools.mcpConfigPath", WORKSPACE_PATH, "A file with `mcpServers`.").env("MONO_AGENT_MCP_CONFIG_PATH"),
    field("tools.mcpServers", Map, "MCP servers by name, as in the file."),
    field("tools.mcpServers.*.command", Text, "The program of a stdio server, alone."),
    field("tools.mcpServers.*.args", List(&AnyText), "Its arguments.").none(),
    field("tools.mcpServers.*.env", Map, "Variables that it gets, literally."),
    field("tools.mcpServers.*.env.*", AnyText, "The variable's value.").secret(),
    field("tools.mcpServers.*.inheritEnv", List(&Shape::EnvName), "Variables that it gets from the host.").none(),
    field("tools.mcpServers.*.cwd", WORKSPACE_PATH, "The folder that it starts in.").computed("the workspace"),
    field("tools.mcpServers.*.url", Url, "The address of a remote server."),
    field(
        "tools.mcpServers.*.type",
        Choice(MCP_TYPES),
        "The transport. Without it a `command` is stdio; a `url` is streamable HTTP and falls back to SSE.",
    ),
    field("tools.mcpServers.*.transport", Choice(MCP_TYPES), "The same as `type`."),
    field("tools.mcpServers.*.headers", Map, "Headers sent with every request, literally."),
    field("tools.mcpServers.*.headers.*", AnyText, "The header's value.").secret(),
    field("tools.mcpServers.*.headersFromEnv", Map, "Headers whose values are in variables."),
    field("tools.mcpServers.*.headersFromEnv.*", EnvName, "The variable's name."),
    field("tools.mcpServers.*.headersFromFile", Map, "Headers whose values are in files."),
    field("tools.mcpServers.*.headersFromFile.*", WORKSPACE_PATH, "The file."),
    field("tools.mcpServers.*.timeout", CALL_MS, "Milliseconds for connecting and listing together, and each call.")
        .int(60_000),
    field("tools.mcpServers.*.resetTimeoutOnProgress", Bool, "Whether progress starts the time again.").on(false),
    field("tools.mcpServers.*.required", Bool, "Whether runs are refused while it can't be used.").on(false),
    field("tools.mcpServers.*.disabled", Bool, "Whether it is left out.").on(false),
    field("tools.mcpServers.*.era", Choice(&["auto", "legacy", "modern"]), "Which age of the protocol it speaks.")
        .text("auto"),
    field(
        "tools.mcpServers.*.sandbox",
        Either(&[Choice(&["off"]), Open]),
        "`\"off\"`, or what it may reach beyond the agent's sandbox.",
    ),
    field("tools.mcpServers.*.sandbox.readableRoots", WORKSPACE_PATHS, "More folders to read.").none(),
    field("tools.mcpServers.*.sandbox.writableRoots", WORKSPACE_PATHS, "More folders to write.").none(),
    field("tools.mcpServers.*.sandbox.network", Choice(NETWORK_MODES), "Its own network mode."),
    field(
        "tools.mcpRequestContextServers",
        TEXTS,
        "stdio servers that get the trusted context of each run.",
    )
    .none()
    .env("MONO_AGENT_MCP_REQUEST_CONTEXT_SERVERS")
    .empty_is_list(),
    field(
        "tools.continuationServers",
        TEXTS,
        "stdio or loopback HTTP servers that may claim a continuation.",
    )
    .none()
    .env("MONO_AGENT_CONTINUATION_SERVERS")
    .empty_is_list(),
    field("tools.mcpSampling", TEXTS, "Servers that may ask the model something themselves.").none(),
    field("tools.mcpCallTimeoutMs", CALL_MS, "How long an MCP call may be silent; progress starts the time again.")
        .int(120_000)
        .env("MONO_AGENT_MCP_CALL_TIMEOUT_MS"),
    field("tools.mcpCallMaxTotalTimeoutMs", CALL_MS, "How long an MCP call may take in all.")
        .int(2_700_000)
        .env("MONO_AGENT_MCP_CALL_MAX_TOTAL_TIMEOUT_MS"),
    field(
        "tools.approvals",
        Open,
        "Rules on single calls: `allow`, `ask` or `deny`, with argument patterns (see the page on tools).",
    ),
    field(
        "tools.filesystem.readableRoots",
        WORKSPACE_PATHS,
        "More folders that file tools may read while the sandbox is off.",
    )
    .none()
    .env("MONO_AGENT_FILE_TOOL_READABLE_ROOTS"),
    field(
        "tools.filesystem.writableRoots",
        WORKSPACE_PATHS,
        "More folders that file tools may write (and read) while the sandbox is off.",
    )
    .none()
    .env("MONO_AGENT_FILE_TOOL_WRITABLE_ROOTS"),
    field(
        "tools.web.coordination",
        Choice(&["process", "host"]),
        "Whether budgets and cool-downs are this process's own or shared by all on the machine.",
    )
    .text("process"),
    field("tools.web.search.backend", Either(&[BACKEND, List(&BACKEND)]), "Who searches, or several in order.")
        .text("auto")
        .env("MONO_AGENT_WEB_SEARCH_BACKEND"),
    field("tools.web.search.endpoint", Url, "The same as `searxng.endpoint`.").env("MONO_AGENT_WEB_SEARCH_ENDPOINT"),
    field("tools.web.search.searxng.endpoint", Url, "The address of a SearXNG on this machine."),
    field("tools.web.search.brave.apiKeyEnv", EnvName, "The variable with the Brave key."),
    field("tools.web.search.codex.model", Text, "The model that searches.").env("MONO_AGENT_WEB_SEARCH_CODEX_MODEL"),
    field("tools.web.search.ollama.baseUrl", Url, "Where it is."),
    field("tools.web.search.ollama.apiKeyEnv", EnvName, "The variable with the key."),
    field("tools.web.search.ollama.trustPublicUrl", Bool, "Whether it may be at a public address.").on(false),
    field("tools.web.search.parallel.apiKeyEnv", EnvName, "The variable with the key."),
    field("tools.web.search.maxRequestsPerRun", Int(1, 20), "How many searches a run may send.").int(4),
    field("tools.web.fetch.provider", Either(&[FETCHER, List(&FETCHER)]), "Who fetches, or several in order.")
        .text("local"),
    field("tools.web.fetch.render", Choice(&["never", "auto"]), "Whether a browser may render a page.")
        .text("never")
        .env("MONO_AGENT_WEB_FETCH_RENDER"),
    field("tools.web.fetch.browserCommand", Text, "The browser's program.")
        .text("agent-browser")
        .env("MONO_AGENT_WEB_BROWSER_COMMAND"),
    field("tools.web.fetch.parallel.apiKeyEnv", EnvName, "The variable with the key."),
    field("tools.web.fetch.allowPrivateHosts", TEXTS, "Hosts that may have private addresses.").none(),
];

/// The transports of an MCP server, in all spellings.
pub const MCP_TYPES: &[&str] =
    &["stdio", "http", "streamable-http", "streamableHttp", "streamable_http", "sse"];

const TOOL_OUTPUT: &[Field] = &[
    field("toolOutput.maxBytes", Int(1024, 16 * GIB), "How much of one call's output is kept, in bytes.")
        .int(256 * MIB),
    field("toolOutput.maxAgentBytes", Int(1024, BYTES_MAX), "How much of all output of the agent is kept.")
        .int(2 * GIB),
];

const SANDBOX: &[Field] = &[
    field("sandbox.mode", Choice(&["native", "off"]), "Whether commands are confined.")
        .text("native")
        .env("MONO_AGENT_SANDBOX_MODE"),
    field("sandbox.network.mode", Choice(NETWORK_MODES), "What commands may reach.")
        .text("none")
        .env("MONO_AGENT_SANDBOX_NETWORK"),
    field(
        "sandbox.network.allowlist",
        TEXTS,
        "Hosts for the mode `allowlist`: a name and all below it, or `*.name` for those below alone.",
    )
    .none()
    .env("MONO_AGENT_SANDBOX_NETWORK_ALLOWLIST"),
    field("sandbox.readableRoots", WORKSPACE_PATHS, "Folders that may be read.")
        .computed("the workspace")
        .env("MONO_AGENT_SANDBOX_READABLE_ROOTS"),
    field("sandbox.writableRoots", WORKSPACE_PATHS, "Folders that may be written (and read).")
        .computed("the workspace")
        .env("MONO_AGENT_SANDBOX_WRITABLE_ROOTS"),
    field(
        "sandbox.denyWrite",
        TEXTS,
        "Patterns, against the workspace, of what may not be written; setting it replaces the default.",
    )
    .or(Default::Texts(&[".env", ".env.*", ".git/config", ".git/hooks/**"]))
    .env("MONO_AGENT_SANDBOX_DENY_WRITE"),
    field(
        "sandbox.fallback",
        Choice(&["fail-closed", "unsafe-host-process"]),
        "What happens where the sandbox can't be made: the command fails, or runs unconfined.",
    )
    .text("fail-closed")
    .env("MONO_AGENT_SANDBOX_FALLBACK"),
    field("sandbox.unsafeAllowHostProcess", Bool, "The second key that `unsafe-host-process` needs.")
        .on(false)
        .env("MONO_AGENT_SANDBOX_UNSAFE_ALLOW_HOST_PROCESS"),
    field(
        "sandbox.limits.memoryBytes",
        Int(16 * MIB, BYTES_MAX),
        "Memory of a command and all its children.",
    ),
    field("sandbox.limits.processes", Int(1, 100_000), "How many processes a command may have."),
    field("sandbox.limits.cpuSeconds", Int(1, COUNT_MAX), "Processor time of a process."),
    field("sandbox.limits.openFiles", Int(16, 1_000_000), "How many files a process may have open."),
    field("sandbox.limits.fileBytes", Int(1024, BYTES_MAX), "How large a file a process may write."),
];

const CREDENTIALS: &[Field] = &[
    field(
        "credentials.broker",
        Shape::Rows,
        "Secrets that a child sees as a placeholder; the egress proxy puts the value in.",
    )
    .none(),
    field(
        "credentials.broker[].env",
        EnvName,
        "The variable with the secret; the child gets the placeholder in it.",
    )
    .required(),
    field("credentials.broker[].hosts", TEXTS, "The hosts that it may go to.").required(),
    field("credentials.broker[].headers", TEXTS, "The headers that it may stand in.").required(),
];
