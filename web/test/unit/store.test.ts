import { afterEach, expect, it, vi } from "vitest";
import type { Thread } from "../../src/api/types";
import { active, loadActive, threadChanged, threads } from "../../src/state/store";

const row = (status: "running" | "succeeded"): Thread => ({
  id: "t", agentId: "a", title: "T", titleLocked: false, pinned: false, archived: false, origin: "web", readOnly: false, createdAt: "2026-11-30T10:00:00Z",
  updatedAt: "2026-11-30T10:00:00Z", preview: "p", model: null, effort: null, runState: { status, startedAt: "2026-11-30T10:00:00Z" },
});

afterEach(() => vi.unstubAllGlobals());

// WEB-2: an answer that was asked for before the feed told something newer does not take it back.
it("a late answer does not bring back what the feed said is over", async () => {
  let answer: (it: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve)));
  const loading = loadActive();
  threadChanged(row("succeeded"));
  answer(new Response(JSON.stringify({ threads: [row("running")], total: 1, truncated: false, runningCounts: { a: 1 } })));
  await loading;
  expect(threads.value.get("t")!.runState!.status).toBe("succeeded");
  expect(active.value).toMatchObject({ threads: [], total: 0 });
});

it("what began while the answer was on its way is at work", async () => {
  let answer: (it: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve)));
  const loading = loadActive();
  threadChanged(row("running"));
  answer(new Response(JSON.stringify({ threads: [], total: 0, truncated: false, runningCounts: {} })));
  await loading;
  expect(active.value).toMatchObject({ threads: [{ id: "t" }], total: 1 });
});
