// Turns that the mock plays: which one depends on a word of what was said.

import * as data from "./data.mjs";

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => new Date().toISOString();

/** Begins a turn and plays it to its end. Returns its two messages at once. */
export function begin(world, threadId, text, attachments = [], quote) {
  const held = world.threads.get(threadId);
  const user = { id: data.id("m"), threadId, role: "user", seq: 1, createdAt: now(), text, steered: false, attachments, ...(quote ? { quote } : {}) };
  const answer = {
    id: data.id("m"), threadId, role: "assistant", seq: 1, createdAt: new Date(Date.now() + 1).toISOString(), status: "running", partial: false, runId: data.id("run"), model: held.thread.model ?? "local:qwen3-32b",
    text: "", activity: [], parts: [], partStatus: {}, notices: [], sealed: { free: 18, ask: 3, withheld: 6 },
  };
  const first = held.messages.length === 0;
  held.messages.push(user, answer);
  world.whole(threadId, user);
  world.whole(threadId, answer);
  world.row(threadId, {
    updatedAt: now(), preview: text.slice(0, 120), ...(first && !held.thread.titleLocked ? { title: text.slice(0, 60) } : {}),
    runState: { status: "running", startedAt: answer.createdAt, activity: { toolCallCount: 0, phase: "Thinking" } },
  });
  void play(new Turn(world, threadId, answer), text).catch((error) => console.error(error));
  return { user, answer };
}

class Turn {
  stopped = false;
  constructor(world, threadId, answer) {
    Object.assign(this, { world, threadId, answer });
    answer.stop = () => (this.stopped = true);
    Object.defineProperty(answer, "stop", { enumerable: false });
  }
  ops(...ops) {
    this.world.ops(this.threadId, this.answer.id, ops);
  }
  async text(text) {
    for (const piece of text.match(/\s*\S+(?:\s+$)?/g) ?? []) {
      if (this.stopped) return;
      await wait(this.world.pace);
      this.ops({ op: "append", path: ["text"], value: piece });
    }
  }
  async call(tool, args, ms, more = {}) {
    const step = data.call(tool, args, { state: "working", startedAt: now(), durationMs: undefined, code: undefined });
    this.ops({ op: "append", path: ["activity"], value: step });
    const activity = { toolCallCount: this.answer.activity.filter((it) => it.kind === "call").length, phase: tool };
    this.world.row(this.threadId, { runState: { ...this.world.threads.get(this.threadId).thread.runState, activity } });
    await wait(ms);
    this.settle(step.id, { state: "done", durationMs: ms, result: "ok", resultBytes: 2, ...more });
    return step.id;
  }
  settle(id, part) {
    this.ops(...Object.entries(part).map(([key, value]) => ({ op: "set", path: ["activity", id, key], value })));
  }
  async ask(ask) {
    this.ops({ op: "set", path: ["status"], value: "waiting" });
    const answer = await this.world.ask(this.threadId, ask);
    this.ops({ op: "set", path: ["status"], value: "running" });
    return answer;
  }
  part(part, status) {
    this.ops({ op: "append", path: ["parts"], value: part }, ...(status ? [{ op: "set", path: ["partStatus", part.id], value: status }] : []));
  }
  end(status = "succeeded", more = {}) {
    const held = this.world.threads.get(this.threadId);
    const ms = Date.now() - Date.parse(this.answer.createdAt);
    const facts = { status, settledAt: now(), durationMs: ms, ...more };
    this.ops(...Object.entries(facts).map(([key, value]) => ({ op: "set", path: [key], value })));
    const runState = status === "succeeded" ? null : { status, startedAt: this.answer.createdAt, endedAt: now() };
    this.world.row(this.threadId, { updatedAt: now(), preview: this.answer.text.slice(0, 120) || held.thread.preview, runState });
    this.follow(held);
  }
  /** Follow-ups that were not read begin a turn of their own. */
  follow(held) {
    const left = held.followUps.filter((it) => it.state === "pending" || it.state === "queued");
    held.followUps = held.followUps.filter((it) => it.state === "uncertain");
    this.world.to(this.threadId, "followUps.changed", { threadId: this.threadId, followUps: held.followUps });
    if (left.length > 0) begin(this.world, this.threadId, left.map((it) => it.text).join("\n\n"));
  }
  /** The next step reads what was added meanwhile. */
  read() {
    const held = this.world.threads.get(this.threadId);
    for (const it of held.followUps.filter((one) => one.state === "pending")) {
      it.state = "applied";
      const message = data.said(this.threadId, it.text, 0, { steered: true });
      held.messages.splice(held.messages.length - 1, 0, message);
      this.world.whole(this.threadId, message);
    }
    held.followUps = held.followUps.filter((it) => it.state !== "applied");
    this.world.to(this.threadId, "followUps.changed", { threadId: this.threadId, followUps: held.followUps });
  }
}

async function play(turn, text) {
  const low = text.toLowerCase();
  const has = (word) => low.includes(word);
  if (has("fail")) {
    await wait(100);
    return turn.end("failed", { failureKind: "provider_unavailable", error: "local:qwen3-32b refused the connection." });
  }
  if (has("interrupt")) {
    await turn.text("I will look at");
    return turn.end("interrupted", { failureKind: "process_death", partial: true });
  }
  await turn.call("Read", { file_path: "notes.txt" }, turn.world.pace * 4, { result: "the code word is heron", resultBytes: 22 });
  if (turn.stopped) return turn.end("cancelled", { partial: true });
  if (has("approve")) await approval(turn);
  if (has("question")) await question(turn);
  if (has("elicit")) await elicit(turn);
  if (has("title")) turn.world.row(turn.threadId, turn.world.threads.get(turn.threadId).thread.titleLocked ? {} : { title: "A better title" });
  if (has("huge")) {
    for (let n = 0; n < 50; n += 1) turn.ops({ op: "append", path: ["text"], value: Array.from({ length: 1000 }, (_, i) => `Paragraph ${n}.${i}: ${"word ".repeat(18)}`).join("\n\n") + "\n\n" });
  }
  const words = has("slow") ? 120 : 24;
  await turn.text(`The answer to “${text.slice(0, 60)}”:\n\n`);
  await turn.text(`- **one** thing\n- \`two\` things\n\n${Array.from({ length: words }, (_, n) => `word${n}`).join(" ")} done.`);
  turn.read();
  if (turn.stopped) return turn.end("cancelled", { partial: true });
  if (has("file")) turn.part({ type: "attachment", id: "p_csv", name: "weekly-tickets.csv", mediaType: "text/csv", sizeBytes: 20, sha256: "ab".repeat(32), expiresAt: null }, { state: "ready" });
  if (has("replies")) turn.part({ type: "reply_options", id: data.id("p"), options: ["Review draft", "Keep going", "Try another approach"] });
  if (has("restart")) turn.part({ type: "restart_proposal", id: data.id("p"), reason: "New settings are read at a start." }, { state: "ready", running: 1 });
  turn.end();
}

async function approval(turn) {
  const step = data.call("SlackSendMessage", { channel: "#support", text: "214 tickets last week." }, { state: "waiting", startedAt: now(), durationMs: undefined, allowed: undefined });
  turn.ops({ op: "append", path: ["activity"], value: step });
  const answer = await turn.ask({
    kind: "approval", callId: step.id, runId: turn.answer.runId, tool: "SlackSendMessage", arguments: { channel: "#support", text: "“214 tickets last week (−12 %). Two Billing P1s are open: T-4821, T-4833. CSV attached.”" },
    rule: "tools.approvals.rules[0]: ask SlackSendMessage", always: '{"tool":"SlackSendMessage","match":{"channel":"#support"},"decision":"allow"}',
  });
  if (answer.decision === "deny") turn.settle(step.id, { state: "refused", code: "approval_denied", why: answer.reason ?? "you said no", durationMs: 20 });
  else turn.settle(step.id, { state: "done", code: "ok", durationMs: 400, allowed: { how: answer.decision, rule: "tools.approvals.rules[0]" }, result: "sent", resultBytes: 4 });
}

async function question(turn) {
  await turn.ask({
    kind: "askUser", message: "Two things decide how the report looks.",
    questions: [
      { header: "Count", question: "Which tickets should the report count?", multiSelect: false, options: [{ label: "Created last week", description: "Matches earlier reports" }, { label: "Closed last week", description: "Shows finished work, misses the backlog" }] },
      { header: "Send", question: "Send it where?", multiSelect: true, options: [{ label: "#support", description: "14 people" }, { label: "Mail to the leads", description: "3 people" }] },
    ],
  });
}

async function elicit(turn) {
  await turn.ask({
    kind: "elicit", server: "tickets", message: "Whose queue is it?", visit: null,
    form: { type: "object", required: ["name"], properties: { name: { type: "string", title: "Name", minLength: 2 }, level: { type: "string", title: "Level", enum: ["P1", "P2"], enumNames: ["Urgent", "Normal"] }, count: { type: "integer", title: "How many", minimum: 1, maximum: 9 }, now: { type: "boolean", title: "At once" } } },
  });
}
