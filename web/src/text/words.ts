// How things are said: times, sizes, outcomes, questions. One word per thing.

import type { Answer, Ask, RunState, Step, Thread } from "../api/types";

/** The marks: one for each way in which a thing stands. */
export type Mark = "done" | "refused" | "failed" | "unknown" | "running" | "waiting" | "later" | "model";

/** The word that goes with a mark. */
export const WORDS: Record<Mark, string> = {
  done: "Done", refused: "Refused", failed: "Failed", unknown: "Unknown", running: "Working", waiting: "Needs you",
  later: "Not reached", model: "Model",
};

// Control characters, and those that turn the direction of what follows.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Text of others without characters that can't be seen or that turn what follows around. */
export function plain(text: string): string {
  return text.replace(UNSEEN, "");
}

/** The same on one line. */
export function oneLine(text: string): string {
  return plain(text.replace(/\s+/g, " ")).trim();
}

/** A size in bytes. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kb = bytes / 1024;
  if (kb < 1023.95) return `${kb.toFixed(1)} KB`;
  return `${(kb / 1024).toFixed(1)} MB`;
}

/** A duration that is over. Blank where it was not measured. */
export function took(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  return clockOf(ms);
}

/** A duration that goes on: `0:38`. */
export function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

const DAY_MS = 24 * 3600 * 1000;
const dayStart = (at: Date) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();

/** How many days ago something was, by the calendar. */
export function daysAgo(at: Date, now = new Date()): number {
  return Math.round((dayStart(now) - dayStart(at)) / DAY_MS);
}

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);
const TIME = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SECOND = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const WEEKDAY = format({ weekday: "short" });
const DAY = format({ day: "numeric", month: "short" });
const YEAR_DAY = format({ day: "numeric", month: "short", year: "numeric" });
const FULL = format({ dateStyle: "full", timeStyle: "long", hourCycle: "h23" });
const LONG_DAY = format({ weekday: "long", day: "numeric", month: "long" });

/** The time of day. */
export const timeOf = (at: string) => TIME.format(new Date(at));
/** The time of day with seconds. */
export const secondOf = (at: string) => SECOND.format(new Date(at));
/** Exactly when, with the zone. */
export const fullTime = (at: string) => FULL.format(new Date(at));
/** A calendar day. */
export const dayOf = (at: string) => YEAR_DAY.format(new Date(at));
/** A day as a heading: today, yesterday, a date. */
export function dayHeading(at: string): string {
  const ago = daysAgo(new Date(at));
  return ago === 0 ? "Today" : ago === 1 ? "Yesterday" : LONG_DAY.format(new Date(at));
}

/** When, as short as a row has room for. */
export function when(at: string, now = new Date()): string {
  const date = new Date(at);
  const ago = daysAgo(date, now);
  if (ago <= 0) return TIME.format(date);
  if (ago < 7) return WEEKDAY.format(date);
  return date.getFullYear() === now.getFullYear() ? DAY.format(date) : YEAR_DAY.format(date);
}

/** A count with its noun. */
export const count = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString()} ${n === 1 ? one : many}`;

/** The name that a tool has for people, and the server it belongs to. */
export function toolName(tool: string, server?: string): { server: string | null; name: string } {
  const external = /^mcp__(.+?)__(.+)$/.exec(tool);
  if (external) return { server: external[1]!, name: external[2]! };
  return { server: server ?? null, name: tool };
}

const MAIN_KEYS = ["file_path", "path", "command", "argv", "url", "query", "pattern", "question", "text", "name"];

/** The arguments of a call on one line. */
export function argumentLine(args: unknown): string {
  if (typeof args === "string") return oneLine(args).slice(0, 160);
  if (typeof args !== "object" || args === null) return args === undefined || args === null ? "" : String(args);
  const entries = Object.entries(args).filter(([, value]) => value !== null && value !== "");
  const main = MAIN_KEYS.map((key) => entries.find(([name]) => name === key)).find(Boolean);
  if (main && (entries.length === 1 || ["file_path", "path", "command", "argv", "url"].includes(main[0]))) {
    const value = main[1];
    return oneLine(Array.isArray(value) ? value.join(" ") : String(value)).slice(0, 160);
  }
  return oneLine(entries.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")).slice(0, 160);
}

/** Who let a call through, in words. */
export function allowedBy(step: Step & { kind: "call" }): string {
  const how = step.allowed?.how;
  if (how === "once") return "Allowed once by you";
  if (how === "always") return "Always allowed";
  if (how === "server") return "Declared server";
  return how === "policy" ? "Allowed by policy" : "";
}

/** A call's mark. */
export const markOf = (state: (Step & { kind: "call" })["state"]): Mark => (state === "working" ? "running" : state);

/** Why a call ended otherwise than asked, in words; empty where it didn't. */
export function exception(step: Step & { kind: "call" }): string {
  if (step.state === "waiting") return "Waiting for you";
  if (step.state !== "refused" && step.state !== "failed" && step.state !== "unknown") return "";
  const why = oneLine(step.why ?? "") || (step.code ? step.code.replaceAll("_", " ") : "");
  return why ? `${WORDS[step.state]}: ${why}` : WORDS[step.state];
}

/** A turn's state in words. */
export const RUN_WORDS: Record<RunState["status"], string> = {
  running: "Working", waiting: "Waiting for you", succeeded: "Done", failed: "Failed", cancelled: "Stopped",
  interrupted: "Interrupted",
};

/** A run's mark. */
export function runMark(status: string): Mark {
  if (status === "running") return "running";
  if (status === "waiting") return "waiting";
  if (status === "failed") return "failed";
  if (status === "interrupted") return "unknown";
  return "done";
}

/** A failed turn's kind in words; an unknown kind shows its code. */
export function failureWords(kind: string | undefined): string {
  const words: Record<string, string> = {
    context_limit: "The conversation no longer fits the model",
    usage_limit: "The account's allowance is used up",
    rate_limited: "The provider asked to slow down",
    overloaded: "The provider is overloaded",
    provider_auth: "The provider refused the key",
    auth: "The provider refused the key",
    network: "The model could not be reached",
    timeout: "The model did not answer in time",
    empty_response: "The model gave no answer",
    max_turns: "The turn reached its limit of steps",
    process_death: "The host stopped during this turn",
    invalid_request: "The provider refused the request",
    provider_unavailable: "No answer from the model",
  };
  if (!kind) return "The turn failed";
  return words[kind] ?? `The turn failed (${kind})`;
}

/** What a finished or running answer is called in the list, when it isn't simply done. */
export function endWords(answer: Answer): string {
  return answer.status === "succeeded" ? "" : RUN_WORDS[answer.status];
}

/** The preview line of a row. */
export function previewOf(row: Thread): string {
  const activity = row.runState?.activity;
  if (row.runState?.status === "running" && activity) {
    const phase = oneLine(activity.phase || "Working");
    return activity.toolCallCount > 0 ? `${phase} · ${count(activity.toolCallCount, "call")}` : phase;
  }
  return oneLine(unmarked(row.preview));
}

/** Markdown without its marks, for a line that shows none. */
export function unmarked(text: string): string {
  return text
    .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d{1,9}[.)])\s+/gm, "")
    .replace(/!?\[([^\]]*)\]\([^)\s]*\)/g, "$1")
    .replace(/(\*\*|__|~~|`+)(?=\S)(.+?)(?<=\S)\1/g, "$2");
}

/** A question as a title, in plain words. */
export function askTitle(ask: Ask, agent: string): string {
  if (ask.kind === "askUser") {
    const n = ask.questions.length;
    return n === 1 ? `${agent} has a question` : `${agent} has ${n} questions`;
  }
  if (ask.kind === "elicit") return ask.visit ? `${ask.server} wants you to visit a page` : `${ask.server} asks for details`;
  const { server, name } = toolName(ask.tool, ask.server);
  if (server) return `Let ${agent} use ${name} on ${server}?`;
  const args = (typeof ask.arguments === "object" && ask.arguments !== null ? ask.arguments : {}) as Record<string, unknown>;
  const to = typeof args.channel === "string" ? ` to ${oneLine(args.channel)}` : "";
  const titles: Record<string, string> = {
    Bash: "Run this command?", Exec: "Run this command?", Write: "Write this file?", Edit: "Change this file?",
    WebFetch: "Fetch this page?", WebSearch: "Search the web for this?", SlackSendMessage: `Send this message${to}?`,
    TelegramSendMessage: "Send this message?", TelegramSendFile: "Send this file?", NodeRepl: "Run this code?",
  };
  return titles[name] ?? `Let ${agent} use ${name}?`;
}
