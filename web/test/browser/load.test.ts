// Much at once: long conversations, long answers, slow networks, and what the pages weigh.

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Bench, send, settled } from "./bench";
import type { World } from "./bench";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterEach(async () => {
  await bench.leave();
  expect(bench.faults).toEqual([]);
});
afterAll(() => bench.close());

/** A conversation of `n` messages. */
function long(world: World, n: number): void {
  const held = world.threads.get("weekly");
  const [user, answer] = held.messages;
  held.messages = Array.from({ length: n }, (_, at) => {
    const createdAt = new Date(Date.now() - (n - at) * 60_000).toISOString();
    return at % 2 === 0 ? { ...user, id: `u${at}`, createdAt, text: `Question ${at}` } : { ...answer, id: `a${at}`, createdAt, parts: [], text: `Answer **${at}**.\n\n- one\n- two` };
  });
}

it("the pages' scripts weigh at most 150 KB gzipped, all together", () => {
  const folder = new URL("../../dist/assets/", import.meta.url);
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder))).length, 0);
  expect(bytes).toBeLessThan(150 * 1024);
});

describe("a conversation of 10,000 messages", () => {
  it("opens at its end, and older ones come in above without moving what is read", async () => {
    long(await bench.fresh(), 10_000);
    const page = await bench.page("/agents/atlas/chats/weekly");
    await page.waitForSelector("text=Question 9998");
    const drawn = await page.evaluate(() => performance.now());
    console.log(`10,000 messages: the newest stand after ${Math.round(drawn)} ms`);
    expect(await page.locator("li.turn").count()).toBeLessThan(40);
    for (let round = 0; round < 3; round += 1) {
      const before = await page.locator("li.turn").count();
      const first = (await page.locator("li.turn").first().getAttribute("id"))!;
      await page.evaluate(() => (document.querySelector("#transcript")!.scrollTop = 120));
      const top = () => page.evaluate((id) => document.getElementById(id)!.getBoundingClientRect().top, first);
      const was = await top();
      await page.waitForFunction((n) => document.querySelectorAll("li.turn").length > n, before);
      await page.waitForTimeout(100);
      expect(Math.abs((await top()) - was)).toBeLessThan(160);
    }
    expect(await page.locator("li.turn").count()).toBeGreaterThan(90);
    await page.getByRole("button", { name: "Latest" }).click();
    await page.waitForFunction(() => {
      const it = document.querySelector("#transcript")!;
      return it.scrollHeight - it.scrollTop - it.clientHeight < 4;
    });
  });
});

describe("an answer of five megabytes", () => {
  it("streams and settles without freezing the page, and comes in pieces", async () => {
    const world = await bench.fresh();
    world.pace = 2;
    const page = await bench.page("/agents/atlas/chats/new");
    await page.evaluate(() => {
      const seen = { longest: 0 };
      (window as unknown as { seen: typeof seen }).seen = seen;
      new PerformanceObserver((list) => list.getEntries().forEach((entry) => (seen.longest = Math.max(seen.longest, entry.duration)))).observe({ type: "longtask" });
    });
    await send(page, "huge answer");
    await page.waitForSelector("text=/Show more of this answer/", { timeout: 60_000 });
    const longest = await page.evaluate(() => (window as unknown as { seen: { longest: number } }).seen.longest);
    console.log(`5 MB answer: the longest the page stood still was ${Math.round(longest)} ms`);
    expect(longest).toBeLessThan(6_000);
    expect(await page.locator(".answer p").count()).toBeLessThan(500);
    const more = page.getByRole("button", { name: /Show more of this answer/ });
    const before = await page.locator(".answer p").count();
    await more.click();
    expect(await page.locator(".answer p").count()).toBeGreaterThan(before);
  });
});

describe("a slow network", () => {
  it("shows bones, then the page; what is sent stands there at once", async () => {
    const world = await bench.fresh();
    world.pace = 5;
    const page = await bench.page("/agents/atlas/chats/weekly");
    const wire = await page.context().newCDPSession(page);
    await wire.send("Network.enable");
    await wire.send("Network.emulateNetworkConditions", { offline: false, latency: 1500, downloadThroughput: 40_000, uploadThroughput: 20_000 });
    await page.goto(`${bench.mock.url}/agents/atlas/chats/weekly`);
    await page.waitForSelector(".bone");
    await page.waitForSelector(".answer", { timeout: 30_000 });
    await wire.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    let pass = () => {};
    const held = new Promise<void>((resolve) => (pass = resolve));
    await page.route("**/submissions", (route) => void held.then(() => route.continue()));
    await send(page, "are you there");
    await page.waitForSelector(".sending >> text=are you there");
    pass();
    await settled(page);
    expect(await page.locator(".me >> text=are you there").count()).toBe(1);
  });
});

it("the shell is painted soon, and the newest messages stand soon after", async () => {
  await bench.fresh();
  const page = await bench.page("/agents/atlas/chats/weekly");
  await page.reload();
  await page.waitForSelector(".answer");
  const [paint, ready] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, performance.now()]);
  console.log(`first paint after ${Math.round(paint!)} ms, messages after ${Math.round(ready!)} ms`);
  expect(ready).toBeLessThan(15_000);
});
