// A run's record as rows on one axis. The record has ends and starts; what it doesn't have is left blank.

import type { TimelineEntry } from "../api/types";
import type { Mark } from "./words";

/** One row: a request to the model, a call, or a line. */
export type Row = {
  /** Its place in the record; it names the row in an address. */
  step: number;
  kind: "model" | "call" | "line";
  mark: Mark;
  name: string;
  /** The arguments of a call, the words of a line. */
  arguments?: unknown;
  note: string;
  result?: unknown;
  facts: [string, string][];
  /** When it began and ended, in milliseconds of Unix time; null where the record doesn't say. */
  from: number | null;
  to: number | null;
  /** How long a person was waited for within it, from its start. */
  askedMs: number;
  durationMs: number | null;
};

const text = (value: unknown) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));
const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/** Rows out of the record, in order. `startedAt` is when the run began. */
export function rowsOf(entries: TimelineEntry[], startedAt: string): Row[] {
  const rows: Row[] = [];
  const calls = new Map<string, Row[]>();
  const asked = new Map<string, number>();
  const waited = new Map<string, number>();
  let before = Date.parse(startedAt);
  // A record in whole seconds is no measure of what took less.
  const exact = startedAt.includes(".");
  const between = (from: number, to: number) => (exact ? to - from : null);
  let requests = 0;
  for (const [step, entry] of entries.entries()) {
    const at = Date.parse(entry.at);
    const tool = text(entry.tool);
    const add = (row: Partial<Row> & Pick<Row, "kind" | "mark" | "name">): Row => {
      const whole: Row = { step, note: "", facts: [], from: null, to: null, askedMs: 0, durationMs: null, ...row };
      rows.push(whole);
      return whole;
    };
    switch (entry.type) {
      case "assistant": {
        const names = Array.isArray(entry.calls) ? entry.calls.map(text) : [];
        const note = names.length === 0 ? "answer" : `${ORDINALS[requests] ?? `${requests + 1}th`} request`;
        requests += 1;
        add({
          kind: "model", mark: "model", name: "Model", note, result: entry.text, from: before, to: at, durationMs: between(before, at),
          facts: [["Model", text(entry.model)], ["Asked for", names.join(", ")], ["Finish", text(entry.finish)]],
        });
        break;
      }
      case "model_failure":
        add({
          kind: "model", mark: "failed", name: "Model", note: text(entry.failureKind).replaceAll("_", " "), result: entry.error, from: before, to: at,
          durationMs: between(before, at), facts: [["Model", text(entry.model)], ["Kind", text(entry.failureKind)], ["Then", text(entry.then)]],
        });
        break;
      case "approval_asked":
        asked.set(tool, at);
        continue;
      case "approval_answered":
        waited.set(tool, at - (asked.get(tool) ?? at));
        continue;
      case "tool_call": {
        const ms = waited.get(tool) ?? 0;
        waited.delete(tool);
        const row = add({ kind: "call", mark: "unknown", name: tool, arguments: entry.arguments, from: at - ms, askedMs: ms, facts: [] });
        calls.set(tool, [...(calls.get(tool) ?? []), row]);
        break;
      }
      case "tool_result": {
        const row = calls.get(tool)?.shift();
        if (!row) break;
        row.mark = (["done", "failed", "unknown"] as const).find((mark) => mark === entry.settled) ?? "unknown";
        row.result = entry.result;
        row.durationMs = typeof entry.durationMs === "number" ? entry.durationMs : null;
        row.to = at;
        row.facts = [["Code", text(entry.code)], ...(entry.truncated ? ([["Result", "cut to its bound"]] as [string, string][]) : [])];
        break;
      }
      case "tool_refused": {
        const ms = waited.get(tool) ?? 0;
        waited.delete(tool);
        add({
          kind: "call", mark: "refused", name: tool, arguments: entry.arguments, from: at - ms, to: at, askedMs: ms, note: text(entry.why),
          facts: [["Refused by", text(entry.by)], ["Why", text(entry.why)], ["Code", text(entry.code)]],
        });
        break;
      }
      case "warning":
        add({ kind: "line", mark: "refused", name: "Warning", note: text(entry.message), from: at, to: at, facts: [["Code", text(entry.code)]] });
        break;
      case "context_compacted":
        add({ kind: "line", mark: "later", name: "Shortened", note: `about ${text(entry.tokensBefore)} to ${text(entry.tokensAfter)} tokens`, from: at, to: at });
        break;
      case "session_boundary":
        add({ kind: "line", mark: "later", name: "New session", note: text(entry.reason), from: at, to: at });
        break;
      case "run_settled":
        break;
      default:
        add({ kind: "line", mark: "later", name: entry.type.replaceAll("_", " "), note: text(entry.note ?? entry.message), from: at, to: at });
    }
    before = at;
  }
  return rows;
}

/** Where a bar begins and how wide it is, in percent of the axis. */
export function barOf(row: Row, start: number, whole: number): { x: number; asked: number; w: number } | null {
  if (row.from === null || row.kind === "line" || whole <= 0) return null;
  const percent = (ms: number) => Math.max(0, Math.min(100, (ms / whole) * 100));
  const x = percent(row.from - start);
  const end = row.to ?? start + whole;
  return { x, asked: Math.min(percent(row.askedMs), 100 - x), w: Math.min(percent(end - row.from - row.askedMs), 100 - x) };
}

/** Four round ticks of an axis. */
export function ticksOf(whole: number): number[] {
  return [0, 0.25, 0.5, 0.75].map((part) => whole * part);
}
