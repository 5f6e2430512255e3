// The mock's state and its live feed: what a turn does to a message reaches every browser as deltas.

import { randomUUID } from "node:crypto";
import * as data from "./data.mjs";

/** Applies one op to a value along a path, in place. */
function apply(node, path, op) {
  const key = path[0];
  const child = Array.isArray(node) ? node.find((it) => it.id === key) : node[key];
  if (path.length > 1) return apply(child, path.slice(1), op);
  if (op.op === "set") node[key] = op.value;
  else if (op.op === "append") Array.isArray(child) ? child.push(op.value) : (node[key] = (child ?? "") + op.value);
  else node[key] = child.slice(0, op.length);
}

export class World {
  serverId = randomUUID();
  agents = data.agents();
  threads = data.threads();
  settings = { theme: "system", accent: "evergreen", density: "comfortable", sendKey: "enter", letterKeys: true };
  uploads = new Map();
  receipts = new Map();
  facts = data.facts();
  rules = [{ id: "r1", tool: "Bash", rule: '{"tool":"Bash","command":"python3 tools/*"}', addedAt: data.ago(9 * 86_400_000), addedBy: "you, in the console", lastUsedAt: data.ago(7_200_000) }];
  clients = new Set();
  waiters = new Map();
  /** Pace of streaming, in milliseconds for each piece. */
  pace = 30;
  token = null;
  /** Makes the next requests of a path fail: path prefix → status. */
  faults = new Map();
  /** Drops this many deltas, so that gaps arise. */
  dropDeltas = 0;

  // ---- feed ----
  join(response, thread) {
    const client = { response, thread };
    this.clients.add(client);
    response.on("close", () => this.clients.delete(client));
    this.tell(client, "ready", { serverId: this.serverId });
  }
  tell(client, kind, body) {
    client.response.write(`event: ${kind}\ndata: ${JSON.stringify(body)}\n\n`);
  }
  all(kind, body) {
    for (const client of this.clients) this.tell(client, kind, body);
  }
  to(threadId, kind, body) {
    for (const client of this.clients) if (client.thread === threadId) this.tell(client, kind, body);
  }
  /** Cuts every feed, as a lost network does. */
  cut() {
    for (const client of this.clients) client.response.destroy();
  }

  // ---- changes ----
  ops(threadId, messageId, ops) {
    const message = this.threads.get(threadId)?.messages.find((it) => it.id === messageId);
    if (!message) return;
    const base = message.seq;
    for (const op of ops) apply(message, op.path, op);
    message.seq += 1;
    if (this.dropDeltas > 0) {
      this.dropDeltas -= 1;
      return;
    }
    this.to(threadId, "message.delta", { threadId, messageId, base, seq: message.seq, ops });
  }
  row(threadId, part) {
    const held = this.threads.get(threadId);
    Object.assign(held.thread, part);
    this.all("thread.changed", { thread: held.thread });
  }
  whole(threadId, message) {
    this.to(threadId, "message.changed", { threadId, message });
  }
  ask(threadId, ask) {
    const held = this.threads.get(threadId);
    const whole = { id: data.id("ask"), threadId, agentId: held.thread.agentId, openedAt: new Date().toISOString(), expiresAt: new Date(Date.now() + 300_000).toISOString(), state: "open", ...ask };
    held.asks.push(whole);
    this.all("asks.changed", { threadId, asks: held.asks.filter((it) => it.state === "open") });
    this.row(threadId, { runState: { ...held.thread.runState, status: "waiting" } });
    return new Promise((resolve) => this.waiters.set(whole.id, resolve));
  }
  answer(threadId, askId, answer, state = "answered") {
    const held = this.threads.get(threadId);
    const ask = held.asks.find((it) => it.id === askId);
    if (!ask) return null;
    if (ask.state !== "open") return ask;
    Object.assign(ask, { state, answer, answeredAt: new Date().toISOString() });
    this.all("asks.changed", { threadId, asks: held.asks });
    held.asks = held.asks.filter((it) => it.state === "open");
    if (held.thread.runState?.status === "waiting") this.row(threadId, { runState: { ...held.thread.runState, status: "running" } });
    this.waiters.get(askId)?.(answer);
    return ask;
  }
  running(threadId) {
    const last = this.threads.get(threadId)?.messages.findLast((it) => it.role === "assistant");
    return last && ["running", "waiting"].includes(last.status) ? last : null;
  }
  active() {
    const rows = [...this.threads.values()].map((it) => it.thread).filter((it) => ["running", "waiting"].includes(it.runState?.status));
    const runningCounts = Object.fromEntries(this.agents.map((agent) => [agent.id, rows.filter((row) => row.agentId === agent.id).length]));
    return { threads: rows.slice(0, 50), total: rows.length, truncated: rows.length > 50, runningCounts };
  }
}
