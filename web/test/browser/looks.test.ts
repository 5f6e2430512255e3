// Every screen in every state, in both themes and at four widths: axe has nothing to say, nothing is wider than the
// window, and a picture of each is kept (WEB-1).

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { axe, Bench, picture, send, settled, sideways, SIZES } from "./bench";
import type { World } from "./bench";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.leave());
afterAll(() => bench.close());

type State = { name: string; path: string; world?: (world: World) => void; act?: (page: Page, world: World) => Promise<unknown>; ready?: string };

const asked = (word: string) => async (page: Page) => {
  await send(page, `${word} this`);
  await page.waitForSelector(".ask");
  await page.waitForTimeout(550);
};
const NEW = "/agents/atlas/chats/new";
const empty = (world: World) => world.threads.clear();

const STATES: State[] = [
  { name: "chat", path: "/agents/atlas/chats/weekly", ready: ".answer" },
  {
    name: "chat-activity", path: "/agents/atlas/chats/weekly", ready: ".answer",
    act: async (page) => {
      await page.locator("details.act > summary").click();
      await page.locator("details.call > summary").nth(2).click();
      await page.locator("#transcript").evaluate((it) => (it.scrollTop = 0));
    },
  },
  { name: "chat-list", path: "/agents/atlas/chats", ready: ".conv, .middle" },
  { name: "chat-empty", path: "/agents/atlas/chats", world: empty, ready: ".empty" },
  { name: "chat-new", path: NEW, ready: "[data-composer]" },
  { name: "chat-streaming", path: NEW, world: (world) => (world.pace = 40), act: async (page) => { await send(page, "slow answer"); await page.waitForSelector("text=word2"); } },
  { name: "chat-approval", path: NEW, act: asked("approve") },
  { name: "chat-question", path: NEW, act: asked("question") },
  { name: "chat-elicit", path: NEW, act: asked("elicit") },
  {
    name: "chat-steered", path: NEW, world: (world) => (world.pace = 60),
    act: async (page) => { await send(page, "slow answer"); await page.waitForSelector(".answer.growing"); await send(page, "Mention that the CSV has all columns"); await page.waitForSelector(".follow"); },
  },
  { name: "chat-failed", path: "/agents/atlas/chats/failed", ready: ".banner.bad" },
  { name: "chat-interrupted", path: "/agents/atlas/chats/cert", ready: ".banner.doubt" },
  { name: "chat-archived", path: "/agents/atlas/chats/old", ready: ".closed" },
  { name: "chat-gone", path: "/agents/atlas/chats/nobody", ready: ".empty" },
  { name: "chat-unreadable", path: "/agents/atlas/chats/weekly", world: (world) => world.faults.set("/threads/weekly", 500), ready: ".banner.bad" },
  {
    name: "chat-reconnecting", path: "/agents/atlas/chats/weekly", ready: ".answer",
    act: async (page, world) => { world.faults.set("/events", 500); world.cut(); await page.waitForSelector(".line.warn", { timeout: 40_000 }); },
  },
  { name: "chat-no-agent", path: "/", world: (world) => { world.agents = []; empty(world); }, ready: ".empty" },
  { name: "agent-offline", path: "/agents/scribe/chats", ready: "main" },
  { name: "palette", path: "/agents/atlas/chats/weekly", ready: ".answer", act: (page) => page.keyboard.press("Control+k") },
  { name: "keys", path: "/agents/atlas/tools", ready: ".grid", act: (page) => page.keyboard.press("?") },
  { name: "tools", path: "/agents/atlas/tools", ready: ".grid" },
  { name: "tools-one", path: "/agents/atlas/tools/WebSearch", ready: ".ladder" },
  { name: "tools-failed", path: "/agents/atlas/tools", world: (world) => world.faults.set("/agents/atlas/explain", 500), ready: ".banner" },
  { name: "servers", path: "/agents/atlas/servers", ready: ".rows" },
  { name: "servers-one", path: "/agents/atlas/servers/wiki", ready: "text=It printed last" },
  { name: "runs", path: "/agents/atlas/runs", ready: ".run, .empty" },
  { name: "runs-one", path: "/agents/atlas/runs/run_5e90c4a1", ready: ".wf" },
  { name: "runs-step", path: "/agents/atlas/runs/run_5e90c4a1?step=10", ready: ".wf" },
  { name: "runs-interrupted", path: "/agents/atlas/runs/run_77c2e900", ready: ".banner.doubt" },
  { name: "runs-report", path: "/agents/atlas/runs/report", ready: ".figures" },
  { name: "memory", path: "/agents/atlas/memory", ready: ".facet a" },
  {
    name: "memory-forget", path: `/agents/atlas/memory/${new Date().toISOString().slice(0, 10)}`, ready: ".rows .fact",
    act: async (page) => { await page.getByRole("button", { name: /^Forget:/ }).first().click(); await page.waitForSelector(".ask"); },
  },
  { name: "memory-none", path: "/agents/atlas/memory/2020-01-01", world: (world) => world.faults.set("/agents/atlas/memory", 501), ready: ".empty" },
  { name: "audit", path: "/agents/atlas/audit", ready: ".rows" },
  { name: "settings", path: "/settings", ready: ".rows" },
  { name: "more", path: "/more", ready: ".facet" },
  { name: "login", path: "/", world: (world) => (world.token = "t"), ready: "form.dialog" },
];

describe.each(STATES)("$name", ({ name, path, world: prepare, act, ready }) => {
  it("in both themes at every width", async () => {
    const world = await bench.fresh();
    world.pace = 5;
    prepare?.(world);
    // Actions are made where there is most room; then the window becomes smaller around them.
    const page = await bench.page(path, SIZES[0], "light", { reducedMotion: "reduce" });
    if (ready) await page.locator(ready).first().waitFor();
    await act?.(page, world);
    const faults: string[] = [];
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.waitForTimeout(60);
        await picture(page, `${name}-${colorScheme}-${width}`);
        faults.push(...(await axe(page, colorScheme === "dark")).map((line) => `${width} ${colorScheme}: ${line}`));
      }
      const wide = await sideways(page);
      if (wide > 0) faults.push(`${width}: ${wide} pixels wider than the window`);
    }
    expect([...faults, ...bench.faults]).toEqual([]);
  });
});

it("reads well at twice the size of letters and with wide spacing", async () => {
  await bench.fresh();
  const page = await bench.page("/agents/atlas/chats/weekly", [1280, 900]);
  await page.locator(".answer").waitFor();
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  expect(await sideways(page)).toBe(0);
  await settled(page, "rest.");
});
