import { describe, expect, it } from "vitest";
import { take } from "../../src/api/delta";
import type { Answer, Delta, Op } from "../../src/api/types";
import { merged } from "../../src/state/conversation";

const answer = (more: Partial<Answer> = {}): Answer => ({
  id: "m1", threadId: "t", role: "assistant", seq: 4, createdAt: "2026-11-30T10:00:00Z", status: "running", partial: false, text: "Hello",
  activity: [], parts: [], partStatus: {}, notices: [], ...more,
});
const delta = (base: number, seq: number, ...ops: Op[]): Delta => ({ threadId: "t", messageId: "m1", base, seq, ops });
const append = (value: string): Op => ({ op: "append", path: ["text"], value });

describe("changes of a message", () => {
  // WEB-2
  it("takes what fits on, drops what is known, and tells a gap", () => {
    const taken = take(answer(), delta(4, 5, append(", you")));
    expect(taken).toMatchObject({ message: { seq: 5, text: "Hello, you" } });
    expect(take(answer(), delta(3, 4, append("x")))).toBe("old");
    expect(take(answer(), delta(5, 6, append("x")))).toBe("gap");
  });

  // WEB-2
  it("appends, sets and truncates, naming entries by their id", () => {
    const call = { kind: "call", id: "c1", tool: "Read", state: "working" };
    let message = answer();
    const ops: Op[] = [
      { op: "append", path: ["activity"], value: call },
      { op: "set", path: ["activity", "c1", "state"], value: "done" },
      { op: "append", path: ["activity", "c1", "result"], value: "two " },
      { op: "append", path: ["activity", "c1", "result"], value: "words" },
      { op: "truncate", path: ["text"], length: 2 },
      { op: "set", path: ["partStatus", "p1"], value: { state: "ready" } },
    ];
    for (const [at, op] of ops.entries()) {
      const taken = take(message, delta(4 + at, 5 + at, op));
      if (typeof taken === "string") throw new Error(taken);
      message = taken.message as Answer;
    }
    expect(message.text).toBe("He");
    expect(message.activity).toEqual([{ ...call, state: "done", result: "two words" }]);
    expect(message.partStatus).toEqual({ p1: { state: "ready" } });
  });

  it("puts an entry that comes twice in its place, and never adds a second one", () => {
    const first = take(answer(), delta(4, 5, { op: "append", path: ["parts"], value: { type: "reply_options", id: "p", options: ["a", "b"] } }));
    if (typeof first === "string") throw new Error(first);
    const again = take(first.message, delta(5, 6, { op: "append", path: ["parts"], value: { type: "reply_options", id: "p", options: ["c", "d"] } }));
    if (typeof again === "string") throw new Error(again);
    expect((again.message as Answer).parts).toHaveLength(1);
  });

  it("changes nothing in what it was given", () => {
    const before = answer({ activity: [{ kind: "text", id: "s", text: "a" }] });
    const copy = structuredClone(before);
    take(before, delta(4, 5, { op: "append", path: ["activity", "s", "text"], value: "b" }, { op: "truncate", path: ["activity"], length: 0 }));
    expect(before).toEqual(copy);
  });

  it("takes a change that can't be made for a gap, whatever it is", () => {
    const odd: Op[] = [
      { op: "append", path: ["activity", "nobody", "result"], value: "x" },
      { op: "append", path: ["status", "a", "b"], value: "x" },
      { op: "truncate", path: ["usage"], length: 1 },
      { op: "set", path: ["__proto__", "polluted"], value: true },
      { op: "replace", path: ["text"], value: "x" } as unknown as Op,
    ];
    for (const op of odd) expect(take(answer(), delta(4, 5, op))).toBe("gap");
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("catching up", () => {
  const message = (id: string, seq: number) => answer({ id, seq });
  it("keeps the newer form of each message and the older pages that join on", () => {
    const known = [message("a", 1), message("b", 1), message("c", 9)];
    expect(merged(known, [message("b", 2), message("c", 8), message("d", 1)]).map((it) => `${it.id}${it.seq}`)).toEqual(["a1", "b2", "c9", "d1"]);
  });
  it("forgets what is not next to what came: there may be a hole", () => {
    expect(merged([message("a", 1)], [message("x", 1), message("y", 1)]).map((it) => it.id)).toEqual(["x", "y"]);
  });
  it("a message of ours that the page lacks is not kept twice", () => {
    expect(merged([], [message("x", 1)]).map((it) => it.id)).toEqual(["x"]);
  });
});
