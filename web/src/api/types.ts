// The shapes of docs/design/console-api.md, which is the contract between these pages and their server.

export type Agent = { id: string; name: string; state: "online" | "offline"; offlineSince?: string;
  model: string; models?: { ref: string; efforts?: string[] }[];
  sandbox: { state: "on" | "off" | "unsafe" | "blocked"; text: string };
  version: string; generation: number; startedAt: string; supervised: boolean; activeRuns: number;
  counts?: { free: number; ask: number; withheld: number };
  channels: { name: string; state: string; detail: string }[];
  can: { attach: boolean; steer: boolean; restart: boolean; memory: boolean } };

export type Settings = { theme: "system" | "light" | "dark"; accent: "evergreen" | "ocean" | "plum" | "terracotta";
  density: "comfortable" | "compact"; sendKey: "enter" | "modEnter"; letterKeys: boolean };

export type Limits = { textChars: number; followUpChars: number; fileBytes: number; turnFiles: number; turnBytes: number };

export type Thread = { id: string; agentId: string; title: string; titleLocked: boolean; pinned: boolean; archived: boolean;
  origin: "web" | "cron" | "webhook"; readOnly: boolean; createdAt: string; updatedAt: string; preview: string;
  model: string | null; effort: string | null; runState: RunState | null };

export type RunState = { status: "running" | "waiting" | "succeeded" | "failed" | "cancelled" | "interrupted";
  startedAt: string; endedAt?: string; activity?: { toolCallCount: number; phase: string; cumulativeUsd?: number } };

export type Message = User | Answer;
// `threadId` of a message is filled in by the page where the answer lacks it.
export type User = { id: string; threadId: string; role: "user"; seq: number; createdAt: string; text: string; steered: boolean;
  quote?: { messageId: string; text: string }; attachments: Upload[] };
export type Answer = { id: string; threadId: string; role: "assistant"; seq: number; createdAt: string; settledAt?: string;
  status: RunState["status"]; failureKind?: string; error?: string; partial: boolean;
  runId?: string; model?: string; chosenModel?: string; durationMs?: number; usage?: Usage;
  text: string; activity: Step[]; parts: Part[]; partStatus: Record<string, PartStatus>; notices: string[];
  sealed?: { free: number; ask: number; withheld: number } };
export type Usage = { inputTokens?: number; outputTokens?: number; costUsd?: number; contextTokens?: number; contextWindow?: number };
export type Upload = { id: string; name: string; mediaType: string; sizeBytes: number };

export type Step =
  | { kind: "call"; id: string; tool: string; server?: string; arguments: unknown; argumentsBytes: number; argumentsCut: boolean;
      state: "working" | "waiting" | "done" | "refused" | "failed" | "unknown"; code?: string;
      why?: string;                                   // what a person reads: the reason of a refusal or failure
      allowed?: { how: "policy" | "server" | "once" | "always"; rule: string };
      startedAt: string; durationMs?: number;
      result?: string; resultBytes?: number; resultCut?: boolean;
      progress?: { message: string; done?: number; total?: number } }
  | { kind: "text"; id: string; text: string }        // narration between calls
  | { kind: "reasoning"; id: string; text: string }
  | { kind: "note"; id: string; tone: "plain" | "refused" | "failed" | "unknown"; text: string }  // retry, fallback, warning, steered …
  | { kind: "compaction"; id: string; state: "done" | "failed"; tokensBefore: number; tokensAfter: number };

export type Part =
  | { type: "attachment"; id: string; name: string; mediaType: string; sizeBytes: number; sha256: string; expiresAt: string | null }
  | { type: "reply_options"; id: string; options: string[] }
  | { type: "restart_proposal"; id: string; reason?: string }
  | { type: "failure"; id: string; partType: string; code: string; message: string; name?: string };
export type PartStatus = { state: "ready" | "expired" | "missing" | "damaged"        // attachment
                         | "used" | "old" | "offline" | "unsupported";        // restart proposal (or "ready")
  at?: string; running?: number };                                            // running turns that a restart stops

export type Ask = { id: string; threadId: string; agentId: string; openedAt: string; expiresAt: string | null;
  state: "open" | "answered" | "expired" | "cancelled"; answeredAt?: string; answer?: unknown } & (
  | { kind: "approval"; callId: string; runId: string; tool: string; server?: string; arguments: unknown; rule: string;
      always: string | null }                         // the exact rule that "Always allow" would add, as JSON text
  | { kind: "askUser"; message?: string;
      questions: { header: string; question: string; multiSelect: boolean; options: { label: string; description: string }[] }[] }
  | { kind: "elicit"; server: string; message: string; form: object | null; visit: string | null });

export type FollowUp = { id: string; threadId: string; text: string; createdAt: string;
  state: "pending" | "applied" | "queued" | "cancelled" | "uncertain" };      // ENG-8

export type Hit = { thread: Thread; messages: { messageId: string; createdAt: string; role: string;
  snippet: { text: string; match: boolean }[] }[] };

export type Receipt =
  | { id: string; kind: "turn"; user: User; answer: Answer }
  | { id: string; kind: "followUp"; followUp: FollowUp };

export type Op =
  | { op: "append"; path: (string | number)[]; value: unknown }
  | { op: "set"; path: (string | number)[]; value: unknown }
  | { op: "truncate"; path: (string | number)[]; length: number };
export type Delta = { threadId: string; messageId: string; base: number; seq: number; ops: Op[] };

export type Bootstrap = {
  console: { name: string; version: string; host: string };
  agents: Agent[];
  settings: Settings;
  limits: Limits;
  loginRequired: boolean;
};
export type ThreadPage = { threads: Thread[]; nextCursor: string | null };
export type ActiveThreads = { threads: Thread[]; total: number; truncated: boolean; runningCounts: Record<string, number> };
export type ThreadDetail = {
  thread: Thread; messages: Message[]; olderCursor: string | null; asks: Ask[]; followUps: FollowUp[];
};
export type MessagePage = { messages: Message[]; olderCursor: string | null };
export type Found = { threads: Hit[]; archived: Hit[]; truncated: boolean };
export type WholeCall = { arguments: unknown; result: string | null; rule?: string; callId: string; runId?: string };

// The objects of `--json` on the command line.
export type ExplainRow = { name: string; source: string; offered: boolean; asks: boolean; by: string | null; why: string };
export type Explanation = { tools: ExplainRow[]; text?: string };
export type ToolSpecs = { tools: { name: string; description: string; inputSchema: unknown }[] };
export type ServerRow = {
  name: string; transport: string; required: boolean; state: string; era: string | null; revision: string | null;
  advertised: number; offered: number; leftOut: { tool: string; why: string }[]; error: string | null; cached: boolean;
  starts: number; failures: number; pid: number | null; noise: number; stderrTail: string;
};
export type Servers = { servers: ServerRow[]; broken: [string, string][]; disabled: string[]; from: string };
export type ServerTest = {
  error: string | null; server?: string | null; tookMs: number; revision?: string | null; era?: string | null;
  advertised: number; tools: string[]; leftOut: { tool: string; why: string }[]; stderrTail: string;
};
export type RunLine = {
  runId: string; conversation: string | null; status: string; failureKind: string | null; startedAt: string;
  endedAt: string | null; durationMs: number | null; source: string; sourceDetail: string | null; model: string;
  effort: string | null; isolated: boolean; userInput: string; snippet?: string; matchedTerms?: number;
};
export type RunPage = { runs: RunLine[]; nextCursor: string | null; matchedAllTerms?: boolean };
export type TimelineEntry = { at: string; type: string } & Record<string, unknown>;
export type RunOverview = {
  output?: string; error?: string; evidence?: string; warnings?: { code: string; message: string }[];
  failures?: Record<string, string>[]; tools?: { tool: string; calls: number; errors: number }[];
};
export type RunShown = { run: RunLine; overview?: RunOverview; timeline: TimelineEntry[]; nextCursor: string | null };
export type Fact = {
  id: string; text: string; createdAt: string; status: string; source?: string; kind?: string; score?: number;
  supersededBy?: string | null;
};
export type MemoryStats = { mode: string; upToDate: boolean; index: Record<string, number>; embeddings?: { model?: string } | null };
export type MemoryDays = { days: { date: string; facts: number }[] };
export type MemoryDay = { date: string; source: string; facts: Fact[]; leftOut?: number };
export type MemoryHits = { hits: Fact[]; degraded?: string };
export type ApprovalRules = { rules: { id: string; tool: string; rule: string; addedAt: string; addedBy?: string; lastUsedAt?: string | null }[] };
