// The mock's routes, in the order of the contract.

import { deflateSync } from "node:zlib";
import * as data from "./data.mjs";
import { Refusal } from "./server.mjs";
import { begin } from "./turn.mjs";

/** A chart of three bars, so that a picture is a picture. */
function png() {
  const [width, height] = [320, 160];
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const bar = Math.floor(x / 100);
      rows[y * (width + 1) + 1 + x] = x % 100 > 24 && bar < 3 && height - y < [140, 110, 80][bar] ? 1 : 0;
    }
  }
  const chunk = (type, bytes) => {
    const body = Buffer.concat([Buffer.from(type), bytes]);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(bytes.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8);
  const colours = Buffer.from([0xe1, 0xf0, 0xe8, 0x0b, 0x6b, 0x4b]);
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let n = 0; n < 8; n += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
const PNG = png();

const held = (world, t) => world.threads.get(t) ?? refuse(404, "not_found", "This conversation is gone.");
function refuse(status, code, message, more) {
  throw new Refusal(status, code, message, more);
}
const found = (list, key, value, what) => list.find((it) => it[key] === value) ?? refuse(404, "not_found", `There is no such ${what}.`);

function page(all, query, most) {
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? most);
  return [all.slice(from, from + limit), from + limit < all.length ? String(from + limit) : null];
}

function detail({ world, t }) {
  const { thread, messages, asks, followUps } = held(world, t);
  const from = Math.max(0, messages.length - 30);
  return { thread, messages: messages.slice(from), olderCursor: from > 0 ? String(from) : null, asks, followUps };
}

function older({ world, t, query }) {
  const { messages } = held(world, t);
  const to = Number(query.get("cursor"));
  const from = Math.max(0, to - Number(query.get("limit") ?? 30));
  return { messages: messages.slice(from, to), olderCursor: from > 0 ? String(from) : null };
}

function submit({ world, t, body }) {
  const known = world.receipts.get(body.id);
  if (known) return known.text === JSON.stringify(body) ? [202, known.receipt] : refuse(409, "submission_conflict", "This was sent before with other words.");
  const it = held(world, t);
  let receipt;
  if (world.running(t)) {
    if (body.attachments.length > 0) refuse(409, "active_attachments_unsupported", "Files can be sent when this turn ends.");
    const followUp = { id: data.id("f"), threadId: t, text: body.text, createdAt: new Date().toISOString(), state: "pending" };
    it.followUps.push(followUp);
    receipt = { id: body.id, kind: "followUp", followUp };
  } else {
    const files = body.attachments.map((id) => world.uploads.get(id)?.upload).filter(Boolean);
    receipt = { id: body.id, kind: "turn", ...begin(world, t, body.text, files, body.quote) };
  }
  world.receipts.set(body.id, { text: JSON.stringify(body), receipt: structuredClone(receipt) });
  return [202, receipt];
}

function search({ world, query }) {
  const q = query.get("q").toLowerCase();
  const hits = [...world.threads.values()]
    .filter(({ thread }) => thread.agentId === query.get("agent"))
    .map(({ thread, messages }) => ({
      thread,
      messages: messages.filter((it) => it.text.toLowerCase().includes(q)).slice(0, 3).map((it) => {
        const at = it.text.toLowerCase().indexOf(q);
        const part = (text, match) => ({ text, match });
        return { messageId: it.id, createdAt: it.createdAt, role: it.role, snippet: [part(it.text.slice(Math.max(0, at - 20), at), false), part(it.text.slice(at, at + q.length), true), part(it.text.slice(at + q.length, at + 60), false)] };
      }),
    }))
    .filter((hit) => hit.messages.length > 0 || hit.thread.title.toLowerCase().includes(q));
  return { threads: hits.filter((hit) => !hit.thread.archived), archived: hits.filter((hit) => hit.thread.archived), truncated: false };
}

function file({ world, t, m, p, query, response }) {
  const message = found(held(world, t).messages, "id", m, "message");
  const part = found(message.parts, "id", p, "file");
  const state = message.partStatus[p]?.state;
  if (state && state !== "ready") refuse(410, state === "expired" ? "artifact_expired" : "artifact_missing", "This file is gone.");
  const bytes = part.mediaType === "image/png" ? PNG : Buffer.from("product,tickets\nBilling,88\n");
  const how = query.get("inline") === "1" ? "inline" : `attachment; filename*=UTF-8''${encodeURIComponent(part.name)}`;
  response.writeHead(200, { "Content-Type": part.mediaType, "Content-Disposition": how, "Accept-Ranges": "none" }).end(bytes);
}

function settled({ world, t, askId, body }) {
  const ask = held(world, t).asks.find((it) => it.id === askId);
  if (!ask || ask.state !== "open") refuse(409, "ask_closed", "This was answered already.", { ask });
  return world.answer(t, askId, body);
}

function patch({ world, t, body }) {
  const part = { ...body };
  if (typeof body.title === "string") {
    const title = body.title.replace(/\s+/g, " ").trim();
    if (!title || [...title].length > 80) refuse(400, "invalid_request", "A title has 1 to 80 characters.", { field: "title" });
    Object.assign(part, { title, titleLocked: true });
  }
  world.row(t, part);
  return held(world, t).thread;
}

export const routes = [
  ["POST", "/login", ({ world, body, response }) => {
    if (body.token !== world.token) refuse(401, "login_failed", "This is not the token.");
    response.setHeader("Set-Cookie", `mono_agent=${world.token}; HttpOnly; SameSite=Strict; Path=/`);
    return [204, null];
  }],
  ["POST", "/logout", () => [204, null]],
  ["GET", "/bootstrap", ({ world }) => ({
    console: { name: "workshop", version: "0.4.0", host: "127.0.0.1" }, agents: world.agents, settings: world.settings, loginRequired: world.token !== null,
    limits: { textChars: 200_000, followUpChars: 8_000, fileBytes: 20 << 20, turnFiles: 10, turnBytes: 64 << 20 },
  })],
  ["GET", "/settings", ({ world }) => world.settings],
  ["PATCH", "/settings", ({ world, body }) => {
    Object.assign(world.settings, body);
    world.all("settings.changed", { settings: world.settings });
    return world.settings;
  }],
  ["GET", "/agents", ({ world }) => ({ agents: world.agents })],
  ["GET", "/threads", ({ world, query }) => {
    const rows = [...world.threads.values()].map((it) => it.thread).filter((it) => it.agentId === query.get("agent") && String(it.archived) === query.get("archived") && it.preview);
    const [threads, nextCursor] = page(rows.sort((a, b) => b.pinned - a.pinned || (a.updatedAt < b.updatedAt ? 1 : -1)), query, 50);
    return { threads, nextCursor };
  }],
  ["GET", "/threads/active", ({ world }) => world.active()],
  ["POST", "/threads", ({ world, body }) => {
    const at = new Date().toISOString();
    const thread = { id: data.id("t"), agentId: body.agentId, title: "New conversation", titleLocked: false, pinned: false, archived: false, origin: "web", readOnly: false, createdAt: at, updatedAt: at, preview: "", model: null, effort: null, runState: null };
    world.threads.set(thread.id, { thread, messages: [], asks: [], followUps: [] });
    return [201, thread];
  }],
  ["GET", "/threads/:t", detail],
  ["PATCH", "/threads/:t", patch],
  ["DELETE", "/threads/:t", ({ world, t }) => {
    if (!held(world, t).thread.archived) refuse(409, "not_archived", "Archive it first.");
    world.threads.delete(t);
    world.all("thread.deleted", { threadId: t });
    return [204, null];
  }],
  ["GET", "/threads/:t/messages", older],
  ["GET", "/threads/:t/messages/:m", ({ world, t, m }) => found(held(world, t).messages, "id", m, "message")],
  ["GET", "/threads/:t/messages/:m/calls/:c", ({ world, t, m, c }) => {
    const step = found(found(held(world, t).messages, "id", m, "message").activity, "id", c, "call");
    return { arguments: step.arguments, result: Array.from({ length: 900 }, (_, n) => `row ${n}: Billing, T-${4000 + n}, open`).join("\n"), callId: c };
  }],
  ["GET", "/threads/:t/messages/:m/files/:p", file],
  ["POST", "/threads/:t/messages/:m/restart", ({ world, t, m, body }) => {
    const message = found(held(world, t).messages, "id", m, "message");
    if (message.partStatus[body.partId]?.state !== "ready") refuse(409, "proposal_inert", "This proposal can't be used any more.");
    world.ops(t, m, [{ op: "set", path: ["partStatus", body.partId], value: { state: "used", at: new Date().toISOString() } }]);
    return [202, {}];
  }],
  ["POST", "/threads/:t/submissions", submit],
  ["POST", "/threads/:t/follow-ups/:f/cancel", ({ world, t, f }) => {
    const it = found(held(world, t).followUps, "id", f, "follow-up");
    it.state = "cancelled";
    return it;
  }],
  ["POST", "/threads/:t/cancel", ({ world, t }) => {
    world.running(t)?.stop?.();
    for (const ask of held(world, t).asks) world.answer(t, ask.id, { decision: "deny" }, "cancelled");
    return [202, {}];
  }],
  ["POST", "/threads/:t/asks/:askId/answer", settled],
  ["POST", "/uploads", ({ world, body, request }) => {
    const upload = { id: data.id("up"), name: decodeURIComponent(request.headers["x-file-name"]), mediaType: request.headers["content-type"], sizeBytes: body.length };
    world.uploads.set(upload.id, { upload, body });
    return [201, upload];
  }],
  ["GET", "/uploads/:u", ({ world, u, response }) => void response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(world.uploads.get(u).body)],
  ["DELETE", "/uploads/:u", ({ world, u }) => (world.uploads.delete(u), [204, null])],
  ["GET", "/search", search],
  ["GET", "/agents/:a/explain", () => data.explanation()],
  ["GET", "/agents/:a/tools", () => data.specs()],
  ["GET", "/agents/:a/servers", () => data.servers()],
  ["POST", "/agents/:a/servers/:s/test", ({ s }) => ({
    error: s === "tickets" ? null : "ended with exit code 127", server: "ticket-server 3.1.0", tookMs: 212, revision: "2025-11-25", era: "modern", advertised: s === "tickets" ? 4 : 0,
    tools: s === "tickets" ? ["mcp__tickets__get_ticket", "mcp__tickets__search_tickets"] : [], leftOut: [], stderrTail: "ticket server 3.1.0\n",
  })],
  ["GET", "/agents/:a/runs", ({ query }) => {
    const [runs, nextCursor] = page(data.runs().filter((it) => !query.get("status") || it.status === query.get("status")), query, 50);
    return { runs, nextCursor };
  }],
  ["GET", "/agents/:a/runs/search", ({ query }) => {
    const words = query.get("q").toLowerCase().split(/\s+/);
    const runs = data.runs().filter((it) => words.some((word) => it.userInput.toLowerCase().includes(word)));
    return { runs, nextCursor: null, matchedAllTerms: runs.some((it) => words.every((word) => it.userInput.toLowerCase().includes(word))) };
  }],
  ["GET", "/agents/:a/runs/:r", ({ r }) => data.shown(found(data.runs(), "runId", r, "run"))],
  ["GET", "/agents/:a/report", () => data.report()],
  ["GET", "/agents/:a/decisions", ({ query }) => {
    const all = data.decisions();
    return query.get("tool") ? { ...all, decisions: all.decisions.filter((it) => it.tool === query.get("tool")) } : all;
  }],
  ["GET", "/agents/:a/decisions/verify", () => ({ ok: true, checked: 18_402, last: 18_402, horizon: null, broken: null, head: {}, database: [] })],
  ["GET", "/agents/:a/memory", ({ world }) => ({ mode: "bujo", upToDate: true, index: { memories: world.facts.length, live: 4, invalidated: 1, dropped: 1 }, embeddings: { model: "wordllama-256" } })],
  ["GET", "/agents/:a/memory/days", ({ world }) => data.memoryDays(world.facts)],
  ["GET", "/agents/:a/memory/days/:d", ({ world, d }) => ({ date: d, source: `daily/${d}.md`, facts: world.facts.filter((it) => it.createdAt.startsWith(d)), untrusted: true })],
  ["GET", "/agents/:a/memory/search", ({ world, query }) => ({ hits: world.facts.filter((it) => it.text.toLowerCase().includes(query.get("q").toLowerCase())), untrusted: true, degraded: "the embedder is down" })],
  ["POST", "/agents/:a/memory/facts", ({ world, body }) => {
    if (/sk-|password/.test(body.text)) refuse(422, "secret_refused", "This looks like a secret. Nothing was stored.");
    world.facts.unshift({ id: data.id("mem"), text: body.text, createdAt: new Date().toISOString(), status: "open", kind: "fact" });
    return [201, { text: body.text }];
  }],
  ["POST", "/agents/:a/memory/forget", ({ world, body }) => ({ plan: { ids: body.ids }, facts: world.facts.filter((it) => body.ids.includes(it.id)) })],
  ["POST", "/agents/:a/memory/forget/apply", ({ world, body }) => {
    for (const it of world.facts) if (body.plan.ids.includes(it.id)) Object.assign(it, { status: "forgotten", text: "" });
    return { forgotten: body.plan.ids.length, backup: "b1" };
  }],
  ["GET", "/agents/:a/approvals", ({ world }) => ({ rules: world.rules })],
  ["DELETE", "/agents/:a/approvals/:id", ({ world, id }) => ((world.rules = world.rules.filter((it) => it.id !== id)), [204, null])],
  ["GET", "/agents/:a/config", () => data.config()],
  ["POST", "/agents/:a/restart", () => [202, {}]],
];
