import { describe, expect, it } from "vitest";
import { exceptionsOf, rowsOf } from "../../src/chat/activity";
import { answersOf, missing } from "../../src/chat/ask-user";
import { contentOf, fieldsOf } from "../../src/chat/elicit";
import { failureOf, middleCut } from "../../src/chat/parts";
import { repliesOf } from "../../src/chat/transcript";
import { stateOf, ladderOf } from "../../src/screens/tools";
import { routeOf, to } from "../../src/state/router";
import type { Answer, Ask, Message, Step } from "../../src/api/types";
import { argumentLine, askTitle, clockOf, exception, plain, size, toolName, took, unmarked, when } from "../../src/text/words";
import { barOf, rowsOf as timeline } from "../../src/text/timeline";
import { marked } from "../../src/screens/runs";

const call = (more: Partial<Step & { kind: "call" }> = {}): Step & { kind: "call" } => ({
  kind: "call", id: "c", tool: "Read", arguments: {}, argumentsBytes: 2, argumentsCut: false, state: "done", startedAt: "2026-11-30T10:00:00Z", ...more,
});

describe("words", () => {
  it("sizes and durations", () => {
    expect([0, 1023, 1024, 49_357, 20 << 20].map(size)).toEqual(["0 B", "1023 B", "1.0 KB", "48.2 KB", "20.0 MB"]);
    expect([12, 999, 1_840, 41_000, 60_000, 3_723_000, null, undefined].map(took)).toEqual(["12 ms", "999 ms", "1.8 s", "41 s", "1:00", "1:02:03", "", ""]);
    expect(clockOf(38_900)).toBe("0:38");
  });

  it("what can't be seen, or turns text around, is taken out", () => {
    expect(plain("a\u202Eb\u0000c\u200Fd\u2066e\u007F\ufeff\tf\n")).toBe("abcde\tf\n");
  });

  it("a preview shows no marks of Markdown, and nothing else is taken", () => {
    expect(unmarked("The word is **heron**.\n- `one` [two](https://x.example)\n# 3 * 4 * 5")).toBe("The word is heron.\none two\n3 * 4 * 5");
    expect(unmarked("snake_case_name 2 ** 3")).toBe("snake_case_name 2 ** 3");
  });

  it("when, as short as a row has room for", () => {
    const now = new Date(2026, 10, 30, 15, 0);
    expect(when(new Date(2026, 10, 30, 8, 5).toISOString(), now)).toMatch(/^08:05$/);
    expect(when(new Date(2026, 10, 26, 8, 5).toISOString(), now)).toMatch(/Thu/);
    expect(when(new Date(2025, 1, 3).toISOString(), now)).toContain("2025");
  });

  it("the arguments that matter, on one line", () => {
    expect(argumentLine({ file_path: "a.txt", limit: 5 })).toBe("a.txt");
    expect(argumentLine({ argv: ["git", "push"] })).toBe("git push");
    expect(argumentLine({ state: "open", week: 47 })).toBe('state: "open", week: 47');
    expect(argumentLine("not json\n at all")).toBe("not json at all");
    expect(argumentLine({ path: "x".repeat(500) })).toHaveLength(160);
  });

  it("names of tools and of their servers", () => {
    expect(toolName("mcp__tickets__search__all")).toEqual({ server: "tickets", name: "search__all" });
    expect(toolName("Read")).toEqual({ server: null, name: "Read" });
  });

  it("a call that ended otherwise says why, and one that is done says nothing", () => {
    expect(exception(call())).toBe("");
    expect(exception(call({ state: "refused", why: "private address" }))).toBe("Refused: private address");
    expect(exception(call({ state: "unknown", code: "no_answer" }))).toBe("Unknown: no answer");
  });

  it("a question in plain words", () => {
    const ask = { id: "a", threadId: "t", agentId: "g", openedAt: "", expiresAt: null, state: "open", kind: "approval", callId: "c", runId: "r", rule: "", always: null } as const;
    expect(askTitle({ ...ask, tool: "SlackSendMessage", arguments: { channel: "#support" } } as Ask, "Atlas")).toBe("Send this message to #support?");
    expect(askTitle({ ...ask, tool: "mcp__tickets__close", arguments: {} } as Ask, "Atlas")).toBe("Let Atlas use close on tickets?");
    expect(askTitle({ ...ask, tool: "Odd", arguments: null } as Ask, "Atlas")).toBe("Let Atlas use Odd?");
  });

  // REP-4
  it("a part that failed is named, and the reason is ours; without a name the server's words stand", () => {
    expect(failureOf({ name: "weekly.pdf", code: "artifact_too_large", message: "x" })).toBe("is larger than the limit and was not attached.");
    expect(failureOf({ code: "artifact_too_large", message: "Attachment reply part is larger than its limit." })).toBe("Attachment reply part is larger than its limit.");
    expect(failureOf({ name: "a", code: "new_code", message: "words\u202E" })).toBe("words");
  });

  it("a long name is cut in the middle, its ending stays", () => {
    const cut = middleCut(`${"a".repeat(300)}.tar.gz`);
    expect([...cut]).toHaveLength(48);
    expect(cut.endsWith(".tar.gz")).toBe(true);
    expect(middleCut("short.csv")).toBe("short.csv");
  });
});

describe("activity", () => {
  it("neighbouring calls of one tool fold where they are done; exceptions stay alone", () => {
    const steps = [call({ id: "1" }), call({ id: "2" }), call({ id: "3", state: "failed" }), call({ id: "4" }), call({ id: "5", tool: "Grep" })];
    const rows = rowsOf(steps).map((row) => (row.kind === "calls" ? row.calls.length : 0));
    expect(rows).toEqual([2, 1, 1, 1]);
    expect(exceptionsOf(steps)).toEqual([["failed", 1]]);
  });
});

// QUI-1
describe("quick replies", () => {
  const user = (text: string) => ({ id: text, role: "user", text }) as Message;
  const answer = (more: Partial<Answer> = {}) => ({ id: "a", role: "assistant", status: "succeeded", parts: [{ type: "reply_options", id: "p", options: ["One", "Two"] }], ...more }) as Message;
  it("are live until something later was said or a turn runs; the next words say which was chosen", () => {
    expect(repliesOf([user("x"), answer()], 1)).toEqual({ live: true, chosen: null });
    expect(repliesOf([user("x"), answer(), user("Two"), answer()], 1)).toEqual({ live: false, chosen: "Two" });
    expect(repliesOf([user("x"), answer(), user("else")], 1)).toEqual({ live: false, chosen: null });
    expect(repliesOf([user("x"), answer(), answer({ status: "running" })], 1)).toEqual({ live: false, chosen: null });
  });
});

// TOO-6
describe("the agent's questions", () => {
  it("are answered in order; what lacks an answer is found", () => {
    const given = [
      { selected: ["A"], other: "", otherOn: false },
      { selected: [], other: "  mine ", otherOn: true },
      { selected: [], other: "", otherOn: true },
      { selected: [], other: "typed, then unticked", otherOn: false },
    ];
    expect(missing(given)).toEqual([2, 3]);
    expect(answersOf(given.slice(0, 2))).toEqual([{ selected: ["A"] }, { selected: [], other: "mine" }]);
  });
});

// MCP-14
describe("a server's form", () => {
  const form = {
    properties: {
      name: { type: "string", title: "Name", minLength: 2 }, age: { type: "integer" }, ok: { type: "boolean" }, kind: { type: "string", enum: ["a", "b"] },
      tags: { type: "array", items: { enum: ["x", "y"] } }, mail: { type: "string", format: "email" }, size: { oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }] },
    },
    required: ["name"],
  };
  it("becomes fields, and what was filled in becomes values of their types", () => {
    const fields = fieldsOf(form)!;
    expect(fields.map((field) => [field.name, field.kind, field.required])).toEqual([
      ["name", "text", true], ["age", "number", false], ["ok", "yesNo", false], ["kind", "one", false], ["tags", "many", false], ["mail", "text", false], ["size", "one", false],
    ]);
    const data = new FormData();
    for (const [key, value] of [["name", "Ada"], ["age", "36"], ["ok", "on"], ["kind", ""], ["tags", "x"], ["tags", "y"], ["mail", ""], ["size", "l"]]) data.append(key!, value!);
    expect(contentOf(fields, data)).toEqual({ name: "Ada", age: 36, ok: true, tags: ["x", "y"], size: "l" });
  });
  it("that can't be asked whole isn't asked at all", () => {
    expect(fieldsOf({ properties: { a: { type: "object" } } })).toBeNull();
    expect(fieldsOf({ properties: { a: { type: "array", items: { type: "object" } } } })).toBeNull();
    expect(fieldsOf(null)).toEqual([]);
  });
});

describe("tools", () => {
  const row = { name: "X", source: "builtin", offered: true, asks: false, by: null, why: "the list; a rule" };
  it("stand as offered, asking, withheld or not ready; the ladder says where it stopped", () => {
    expect(stateOf(row).word).toBe("Offered");
    expect(stateOf({ ...row, asks: true }).word).toBe("Asks first");
    expect(stateOf({ ...row, offered: false, by: "source" }).word).toBe("Not ready");
    expect(ladderOf({ ...row, asks: true }).map((step) => step.state)).toEqual(["passed", "passed", "passed", "asks"]);
    expect(ladderOf({ ...row, offered: false, by: "policy" }).map((step) => step.state)).toEqual(["passed", "passed", "stopped", "later"]);
    expect(ladderOf({ ...row, offered: false, by: "something new" })[0]!.state).toBe("stopped");
  });
});

describe("a run's record", () => {
  const at = (s: number) => new Date(Date.UTC(2026, 10, 30, 10, 0, s)).toISOString();
  it("becomes rows: model, calls with what they waited for, refusals, and calls that never ended", () => {
    const rows = timeline(
      [
        { at: at(2), type: "assistant", model: "m", text: "", calls: ["Bash"] }, { at: at(2), type: "approval_asked", tool: "Bash" }, { at: at(5), type: "approval_answered", tool: "Bash", answer: "approved" },
        { at: at(5), type: "tool_call", tool: "Bash", arguments: { command: "ls" } }, { at: at(6), type: "tool_result", tool: "Bash", settled: "failed", code: "x", durationMs: 1000, result: "no" },
        { at: at(7), type: "tool_refused", tool: "Write", why: "no", by: "surface", code: "c" }, { at: at(8), type: "tool_call", tool: "Exec", arguments: {} }, { at: at(9), type: "something_new", message: "hm" },
        { at: at(9), type: "tool_result", tool: "Nobody", settled: "done" },
      ],
      at(0),
    );
    expect(rows.map((row) => [row.name, row.mark, row.durationMs])).toEqual([
      ["Model", "model", 2000], ["Bash", "failed", 1000], ["Write", "refused", null], ["Exec", "unknown", null], ["something new", "later", null],
    ]);
    expect(rows[1]!.askedMs).toBe(3000);
    const bar = barOf(rows[1]!, Date.parse(at(0)), 10_000)!;
    expect(bar).toEqual({ x: 20, asked: 30, w: 10 });
    expect(barOf(rows[4]!, 0, 10)).toBeNull();
  });
  it("searched words are marked, whatever they hold", () => {
    expect(marked("a+b (c)", "a+b (c").filter((part) => typeof part !== "string")).toHaveLength(2);
    expect(marked("text", "")).toEqual(["text"]);
  });
});

describe("addresses", () => {
  it("say where one is, and odd ones lead nowhere bad", () => {
    expect(routeOf("/agents/a%20b/chats/t1", "?at=m")).toMatchObject({ agent: "a b", screen: "chats", item: "t1" });
    expect(routeOf("/settings", "").screen).toBe("settings");
    expect(routeOf("/agents/x/nothing", "")).toMatchObject({ agent: "x", screen: "home" });
    expect(routeOf("/%E0%A4%A", "").screen).toBe("home");
    expect(to("a/b", "runs", "r?1", { step: "2" })).toBe("/agents/a%2Fb/runs/r%3F1?step=2");
  });
});
