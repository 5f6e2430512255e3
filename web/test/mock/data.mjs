// A believable console: two agents, conversations in every state, runs, tools, servers, memory.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const ago = (ms) => new Date(Date.now() - ms).toISOString();
const day = (n) => ago(n * DAY).slice(0, 10);

export const agents = () => [
  {
    id: "atlas", name: "Atlas", state: "online", model: "local:qwen3-32b",
    models: [{ ref: "local:qwen3-32b", efforts: ["low", "high"] }, { ref: "anthropic:claude-sonnet-4-5" }, { ref: "openai:gpt-5-mini" }],
    sandbox: { state: "on", text: "native by bubblewrap; network allowlist: 2 hosts" },
    version: "0.4.0", generation: 7, startedAt: ago(5 * HOUR), supervised: true, activeRuns: 1,
    counts: { free: 18, ask: 3, withheld: 6 },
    channels: [{ name: "terminal", state: "running", detail: "over the local socket" }, { name: "web", state: "running", detail: "this console" }],
    can: { attach: true, steer: true, restart: true, memory: true },
  },
  {
    id: "scribe", name: "Scribe", state: "offline", offlineSince: ago(90 * MINUTE), model: "anthropic:claude-sonnet-4-5",
    sandbox: { state: "off", text: "off: commands run with the host's own rights (sandbox.mode)" },
    version: "0.4.0", generation: 2, startedAt: ago(2 * DAY), supervised: false, activeRuns: 0,
    counts: { free: 4, ask: 0, withheld: 20 }, channels: [],
    can: { attach: false, steer: false, restart: false, memory: false },
  },
];

let made = 0;
export const id = (kind) => `${kind}_${(made += 1).toString(36).padStart(4, "0")}`;

export const call = (tool, args, more = {}) => ({
  kind: "call", id: id("call"), tool, arguments: args, argumentsBytes: JSON.stringify(args).length, argumentsCut: false,
  state: "done", code: "ok", allowed: { how: "policy", rule: "tools.allowedTools \"*\"" }, startedAt: ago(HOUR), durationMs: 12, ...more,
});

const REPORT = `Last week brought **214 tickets**, 12 % fewer than the week before. Billing is the only product that grew, and two of its tickets are still open at P1.

| Product | Tickets | Change | Open P1 |
|:--------|--------:|-------:|--------:|
| Billing | 88 | +9 % | 2 |
| Mobile app | 71 | −18 % | 0 |
| Import | 55 | −27 % | 0 |

The file has one row per ticket. Three things stand out:

1. **Billing** grew because of the VAT change of 12 November.
2. *Mobile app* fell after release \`2.4.0\`.
3. Import has no open P1 for the first time since March.

\`\`\`sql
select product, count(*) from tickets
where created_at >= date '2026-11-16' group by product;
\`\`\`

> “Card charged twice after retry” is the one to read first.

See [the ticket board](https://tickets.example.com/board?week=47) for the rest.`;

/** The finished turn that opens the first conversation. */
function finished(threadId) {
  const user = { id: id("m"), threadId, role: "user", seq: 1, createdAt: ago(2 * HOUR), text: "Count last week’s support tickets by product, with a CSV I can share.", steered: false, attachments: [] };
  const answer = {
    id: id("m"), threadId, role: "assistant", seq: 40, createdAt: ago(2 * HOUR - 1000), settledAt: ago(2 * HOUR - 42_000), status: "succeeded", partial: false,
    runId: "run_5e90c4a1", model: "local:qwen3-32b", chosenModel: "local:qwen3-32b", durationMs: 41_000,
    usage: { inputTokens: 18_204, outputTokens: 911, contextTokens: 49_152, contextWindow: 131_072 },
    text: REPORT, notices: [], sealed: { free: 18, ask: 3, withheld: 6 },
    activity: [
      call("Read", { file_path: "reports/template.md" }, { result: "# Weekly report\n\n{{table}}" , resultBytes: 26 }),
      { kind: "reasoning", id: id("s"), text: "The template wants one table. I count tickets by product and compare with the week before." },
      call("mcp__tickets__search_tickets", { state: "any", week: 47, apiKey: "[redacted]" }, { allowed: { how: "server", rule: "mcp.json: tickets" }, durationMs: 1_840, result: "T-4821  Invoice shows wrong VAT\nT-4833  Card charged twice after retry", resultBytes: 78 }),
      call("Bash", { command: "python3 tools/count.py --by product tickets.json" }, { allowed: { how: "always", rule: "{\"tool\":\"Bash\",\"command\":\"python3 tools/*\"}" }, durationMs: 2_310, result: "Billing 88\nMobile app 71\nImport 55", resultBytes: 38_912, resultCut: true }),
      call("Grep", { pattern: "P1", path: "tickets" }, { durationMs: 8 }), call("Grep", { pattern: "open", path: "tickets" }, { durationMs: 9 }), call("Grep", { pattern: "VAT", path: "tickets" }, { durationMs: 7 }),
      call("WebFetch", { url: "http://10.0.4.7/wiki/support-rota" }, { state: "refused", code: "host_refused", why: "private address", allowed: undefined, durationMs: 2 }),
      call("mcp__metrics__push_point", { series: "tickets.weekly", value: 214 }, { state: "unknown", code: "timeout", why: "no answer in 60 s", allowed: { how: "server", rule: "mcp.json: metrics" }, durationMs: 60_000 }),
      call("Exec", { argv: ["xlsx2csv", "tickets.xlsx"] }, { state: "failed", code: "command_failed", why: "exit code 127", durationMs: 31, result: "xlsx2csv: command not found", resultBytes: 27 }),
      { kind: "note", id: id("s"), tone: "plain", text: "The model was asked again after 2 s: the provider was overloaded." },
      { kind: "compaction", id: id("s"), state: "done", tokensBefore: 96_000, tokensAfter: 31_000 },
    ],
    parts: [
      { type: "failure", id: id("p"), partType: "attachment", code: "artifact_too_large", name: "weekly.pdf", message: "Attachment reply part is larger than its limit." },
      { type: "attachment", id: "p_csv", name: "weekly-tickets.csv", mediaType: "text/csv", sizeBytes: 49_357, sha256: "ab".repeat(32), expiresAt: new Date(Date.now() + 365 * DAY).toISOString() },
      { type: "attachment", id: "p_png", name: "tickets-by-product.png", mediaType: "image/png", sizeBytes: 1_204, sha256: "cd".repeat(32), expiresAt: new Date(Date.now() + 365 * DAY).toISOString() },
      { type: "attachment", id: "p_old", name: "tickets-from-the-week-before-with-a-very-long-name-that-nobody-can-read.csv", mediaType: "text/csv", sizeBytes: 50_100, sha256: "ef".repeat(32), expiresAt: ago(DAY) },
      { type: "reply_options", id: id("p"), options: ["Only open tickets", "Post it to #support", "Compare with October"] },
      { type: "restart_proposal", id: "p_restart", reason: "The new ticket server starts only after a restart." },
    ],
    partStatus: { p_csv: { state: "ready" }, p_png: { state: "ready" }, p_old: { state: "expired" }, p_restart: { state: "ready", running: 2 } },
  };
  return [user, answer];
}

export const said = (threadId, text, at, more = {}) => ({ id: id("m"), threadId, role: "user", seq: 1, createdAt: ago(at), text, steered: false, attachments: [], ...more });
export const answered = (threadId, text, at, more = {}) => ({
  id: id("m"), threadId, role: "assistant", seq: 3, createdAt: ago(at), settledAt: ago(at - 4000), status: "succeeded", partial: false, runId: id("run"),
  model: "local:qwen3-32b", durationMs: 4000, text, activity: [], parts: [], partStatus: {}, notices: [], ...more,
});

export function threads() {
  const row = (idOf, title, at, preview, more = {}) => ({
    id: idOf, agentId: "atlas", title, titleLocked: false, pinned: false, archived: false, origin: "web", readOnly: false, createdAt: ago(at + HOUR),
    updatedAt: ago(at), preview, model: null, effort: null, runState: null, ...more,
  });
  const ended = (status, at) => ({ status, startedAt: ago(at + 30_000), endedAt: ago(at) });
  const list = [
    [row("weekly", "Weekly support report", 2 * HOUR, "Last week brought 214 tickets, 12 % fewer than the week before."), finished("weekly")],
    [row("release", "Release checklist", 3 * DAY, "Tagged 2.4.0; two steps left for you.", { pinned: true }), [said("release", "What is left for 2.4.0?", 3 * DAY), answered("release", "Tagged 2.4.0; two steps left for you.", 3 * DAY)]],
    [row("digest", "Morning digest", 6 * HOUR, "3 new alerts, 1 repeat", { origin: "cron", readOnly: true }), [answered("digest", "3 new alerts, 1 repeat.\n\n- [x] checked the logs\n- [ ] disk of `db-2` is at 91 %", 6 * HOUR)]],
    [row("backup", "Why is the nightly backup slow?", 3 * HOUR, "The tape job waits on a lock held by…"), [said("backup", "Why is the nightly backup slow?", 3 * HOUR), answered("backup", "The tape job waits on a lock held by the index run. Move one of them by an hour.", 3 * HOUR)]],
    [row("letter", "Draft: price letter to customers", 4 * HOUR, "Second draft is in letters/price-2.md"), [said("letter", "Draft a price letter.", 4 * HOUR), answered("letter", "Second draft is in `letters/price-2.md`.", 4 * HOUR)]],
    [row("deploy", "Deploy hook: staging", 5 * HOUR, "Deploy finished with 2 warnings", { origin: "webhook" }), [answered("deploy", "Deploy finished with 2 warnings.", 5 * HOUR)]],
    [row("dedupe", "Ticket export without duplicates", 4 * DAY, "Done. The script is in tools/dedupe.py"), [said("dedupe", "Export tickets without duplicates", 4 * DAY), answered("dedupe", "Done. The script is in `tools/dedupe.py`.", 4 * DAY)]],
    [row("shippers", "Compare three log shippers", 5 * DAY, "Stopped by you after 6 steps", { runState: ended("cancelled", 5 * DAY) }), [said("shippers", "Compare three log shippers", 5 * DAY), answered("shippers", "Vector and Fluent Bit both", 5 * DAY, { status: "cancelled", partial: true })]],
    [row("cert", "Renew the wildcard certificate", 6 * DAY, "The server ended before an answer", { runState: ended("interrupted", 6 * DAY) }), [said("cert", "Renew the wildcard certificate", 6 * DAY), answered("cert", "", 6 * DAY, { status: "interrupted", failureKind: "process_death", partial: true })]],
    [row("failed", "Summarise the incident", 6 * DAY + HOUR, "No answer from the model", { runState: ended("failed", 6 * DAY) }), [said("failed", "Summarise the incident", 6 * DAY), answered("failed", "", 6 * DAY, { status: "failed", failureKind: "provider_unavailable", error: "local:qwen3-32b refused the connection." })]],
    [row("holiday", "Holiday cover plan", 12 * DAY, "Maria takes the first week, then…"), [said("holiday", "Plan the holiday cover", 12 * DAY), answered("holiday", "Maria takes the first week, then Jo.", 12 * DAY)]],
    [row("old", "Old import plan", 40 * DAY, "Nothing left to do", { archived: true }), [said("old", "Plan the import", 40 * DAY), answered("old", "Nothing left to do.", 40 * DAY)]],
  ];
  return new Map(list.map(([thread, messages]) => [thread.id, { thread, messages, asks: [], followUps: [] }]));
}

const tool = (name, source, more = {}) => ({ name, source, offered: true, asks: false, by: null, why: "tools.allowedTools \"*\" allows every gated tool", ...more });
export const explanation = () => ({
  tools: [
    ...["Agent", "Edit", "Exec", "Glob", "Grep", "ListDir", "Read", "ReadSkill", "WebFetch", "Write"].map((name) => tool(name, "builtin")),
    tool("Bash", "builtin", { asks: true, why: "tools.allowedTools \"*\" allows every gated tool; tools.approvals.rules[1] asks for Bash" }),
    tool("NodeRepl", "builtin", { offered: false, by: "policy", why: "tools.disallowedTools lists NodeRepl" }),
    tool("WebSearch", "builtin", { offered: false, by: "policy", why: "tools.disallowedTools lists WebSearch" }),
    tool("AskUser", "host"), tool("PublishReplyFile", "host"), tool("RunHistory", "host"), tool("SessionHistory", "host"),
    tool("MemoryRecall", "host", { why: "memory.recallTool is on; the lists don't bind it" }),
    tool("SlackSendMessage", "host", { asks: true, why: "tools.allowedTools \"*\" allows every gated tool; tools.approvals.rules[0] asks for every message" }),
    tool("ProposeRestart", "host", { offered: false, by: "capability", why: "the agent runs without a supervisor" }),
    tool("TelegramSendFile", "host", { offered: false, by: "capability", why: "channels.telegram has no bot token" }),
    ...["get_ticket", "list_queues", "search_tickets"].map((name) => tool(`mcp__tickets__${name}`, "mcp:tickets", { why: "the server is declared; tools.mcpToolPolicy is open" })),
    tool("mcp__tickets__close_ticket", "mcp:tickets", { asks: true, why: "the server is declared; tools.approvals.rules[2] asks for mcp__tickets__close_ticket" }),
    tool("mcp__metrics__push_point", "mcp:metrics", { offered: false, by: "source", why: "the server timed out three times; the next try is in a few minutes" }),
    tool("mcp__wiki__read_page", "mcp:wiki", { offered: false, by: "source", why: "the server ended with exit code 127" }),
  ],
  text: "tool  source  state  why\nAgent builtin offered …\n",
});

export const specs = () => ({
  tools: explanation().tools.filter((it) => it.offered).map((it) => ({
    name: it.name, description: `What ${it.name} does, in the words that the model reads.`,
    inputSchema: { type: "object", properties: { file_path: { type: "string", description: "A path below the workspace." } }, required: ["file_path"] },
  })),
});

const server = (name, more) => ({
  name, transport: "stdio", required: false, state: "connected", era: "modern", revision: "2025-11-25", advertised: 4, offered: 4, leftOut: [], error: null,
  cached: false, starts: 1, failures: 0, pid: 4210, noise: 0, stderrTail: "", ...more,
});
export const servers = () => ({
  servers: [
    server("tickets", { leftOut: [{ tool: "mcp__tickets__purge", why: "its input schema is broken: /properties/id/type is no type" }], advertised: 5, stderrTail: "ticket server 3.1.0 listening on stdio\n" }),
    server("metrics", { transport: "http", state: "quarantined", error: "no answer in 60 s, 3 times; calls fail until it answers", failures: 3, offered: 0, advertised: 1, pid: null }),
    server("wiki", { state: "degraded", error: "ended with exit code 127: npx: not found", failures: 1, starts: 2, offered: 0, advertised: 1, pid: null, stderrTail: "sh: 1: npx: not found\n" }),
  ],
  broken: [["calendar", "headers: \"${TOKEN}\" is taken literally; use headersFromEnv"]], disabled: ["legacy"], from: "host",
});

const run = (runId, userInput, at, more = {}) => ({
  runId, conversation: "web:weekly", status: "succeeded", failureKind: null, startedAt: ago(at), endedAt: ago(at - 48_000), durationMs: 48_000, source: "web",
  sourceDetail: null, model: "local:qwen3-32b", effort: null, isolated: false, userInput, stale: false, ...more,
});
export const runs = () => [
  run("run_5e90c4a1", "Clean the refund CSV and tell me what you dropped", 4 * DAY),
  run("run_31aa07ff", "Export refunds as CSV for the auditor", 13 * DAY, { status: "failed", failureKind: "provider_auth", durationMs: 800 }),
  run("run_77c2e900", "Refund totals by week, same format as before", 18 * DAY, { status: "interrupted", failureKind: "process_death", endedAt: null, durationMs: null }),
  run("run_90ab12cd", "Find duplicates in the contact list", 27 * DAY, { durationMs: 22_000, source: "terminal" }),
  run("run_c0ffee01", "Compare three log shippers", 5 * DAY, { status: "cancelled", durationMs: 91_000 }),
];

export function shown(line) {
  const t0 = Date.parse(line.startedAt);
  const at = (s) => new Date(t0 + s * 1000).toISOString();
  const ask = (s, tool, args, secs, more = {}) => [
    { at: at(s), type: "tool_call", tool, arguments: args },
    { at: at(s + secs), type: "tool_result", tool, settled: "done", code: "ok", durationMs: secs * 1000, result: "1204 rows", ...more },
  ];
  const model = (s, calls, said = "") => ({ at: at(s), type: "assistant", model: line.model, text: said, calls, finish: calls.length ? "tool_calls" : "stop" });
  return {
    run: line,
    overview: {
      output: line.status === "succeeded" ? "I dropped 31 duplicate rows, all double exports from 12 November. The cleaned file has 1,204 refunds. One point for the metrics server may or may not have arrived." : "",
      error: line.status === "failed" ? "the provider answered 401: the key is not accepted" : undefined,
      evidence: line.status === "succeeded" ? "complete" : "incomplete", warnings: [], failures: [],
      tools: [{ tool: "Bash", calls: 2, errors: 1 }, { tool: "Read", calls: 1, errors: 0 }, { tool: "mcp__metrics__push_point", calls: 1, errors: 1 }],
    },
    timeline: [
      model(3.9, ["RunHistory"]), ...ask(3.95, "RunHistory", { query: "refund csv" }, 0.006), ...ask(4.4, "Read", { file_path: "exports/refunds-2026-11.csv" }, 0.014),
      ...ask(4.5, "mcp__tickets__search_tickets", { tag: "refund" }, 2.6), model(10.5, ["Bash"]),
      { at: at(10.6), type: "approval_asked", tool: "Bash", rule: "ask Bash" }, { at: at(11.5), type: "approval_answered", tool: "Bash", answer: "approved" },
      ...ask(11.5, "Bash", { command: "python3 tools/dedupe.py --by id exports/refunds-2026-11.csv" }, 1.9, { settled: "failed", code: "command_failed", result: "Traceback (most recent call last):\n  File \"[host-path]/tools/dedupe.py\", line 18, in <module>\n    key = row[\"id\"]\nKeyError: 'id'" }),
      model(16.2, ["Edit", "Bash"]), ...ask(16.3, "Edit", { file_path: "tools/dedupe.py" }, 0.009), ...ask(16.8, "Bash", { command: "python3 tools/dedupe.py --by id" }, 2.4),
      { at: at(20), type: "tool_refused", tool: "Write", code: "path_denied", by: "surface", why: "the sandbox denies .env files", arguments: { file_path: ".env.local" } },
      ...ask(20.4, "mcp__metrics__push_point", { series: "refunds", value: 1204 }, 20, { settled: "unknown", code: "timeout", result: "no answer in 20 s" }),
      ...ask(41, "PublishReplyFile", { path: "refunds-clean.csv" }, 0.031), model(47.5, [], "I dropped 31 duplicate rows."),
      { at: at(48), type: "run_settled", status: line.status, text: "" },
    ],
    nextCursor: null,
  };
}

export const decisions = () => ({
  decisions: [
    ["refused", "WebFetch", "sandbox.network", "host_refused"], ["asked", "SlackSendMessage", "tools.approvals.rules[0]", undefined], ["answered", "SlackSendMessage", undefined, "approved"],
    ["started", "SlackSendMessage", "tools.approvals.rules[0]", undefined], ["settled", "SlackSendMessage", undefined, "ok"], ["settled", "mcp__metrics__push_point", undefined, "unknown"],
    ["answered", "Bash", undefined, "timed_out"],
  ].map(([what, name, rule, outcome], at) => ({ seq: 18_402 - at, atMs: Date.now() - at * 37_000, conversation: "web:weekly", run: "run_5e90c4a1", call: "c", what, tool: name, rule, outcome, argumentsDigest: "b3a1c0ffee09" })),
  nextCursor: null,
});

const fact = (text, at, more = {}) => ({ id: id("mem"), text, createdAt: at, status: "open", kind: "fact", source: `daily/${at.slice(0, 10)}.md`, ...more });
export const facts = () => [
  fact("The fiscal year starts in February.", ago(HOUR)),
  fact("Reports go out on Mondays.", ago(2 * HOUR), { status: "superseded" }),
  fact("Reports go out on Fridays, before noon, and the CSV has all columns of the export.", ago(3 * HOUR), { kind: "preference" }),
  fact("", ago(3 * HOUR), { status: "forgotten" }),
  fact("Maria leads support; Jo stands in.", ago(DAY + HOUR)), fact("The metrics server is slow on Sundays.", ago(3 * DAY)),
];
export const memoryDays = (list) => {
  const counts = new Map();
  for (const it of list) counts.set(it.createdAt.slice(0, 10), (counts.get(it.createdAt.slice(0, 10)) ?? 0) + 1);
  return { days: [...counts].map(([date, n]) => ({ date, facts: n })).sort((a, b) => (a.date < b.date ? 1 : -1)) };
};
export const yesterday = day(1);

export const config = () => ({
  settings: [
    { path: "runtime.model", value: { kind: "json", value: "local:qwen3-32b" }, origin: "file", place: { line: 3 } },
    { path: "runtime.apiKey", value: { kind: "secret", value: { set: true } }, origin: "env", env: "LOCAL_API_KEY" },
    { path: "tools.disallowedTools", value: { kind: "json", value: ["WebSearch", "NodeRepl"] }, origin: "file", place: { line: 41 } },
    { path: "runtime.maxTurns", value: { kind: "json", value: 200 }, origin: "default", env: "MONO_AGENT_MAX_TURNS" },
    { path: "memory.path", value: { kind: "unset" }, origin: "default" },
  ],
  findings: [],
});

const figures = (runs, more = {}) => ({
  runs, status: { succeeded: runs - 2, failed: 2 }, failureKinds: {}, successRate: (runs - 2) / runs, failureRate: 2 / runs, durationMs: { p50: 22_000, p90: 61_000, p99: 190_000, max: 240_000 },
  inputTokens: 418_204, outputTokens: 21_911, cacheReadTokens: 0, costUsd: null, unpricedRuns: runs, ...more,
});
export const report = () => ({
  total: figures(48, { failureKinds: { provider_auth: 1, overloaded: 3 }, costUsd: 1.84, unpricedRuns: 31 }),
  groups: { "local:qwen3-32b": figures(31), "anthropic:claude-sonnet-4-5": figures(17, { costUsd: 1.84, unpricedRuns: 0 }) }, cut: false,
});
