// The pages in front of the real program: a real host, a scripted model, a real console (WEB-5).

import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { send } from "./bench";
import { PROGRAM, Real } from "./real";

let browser: Browser;
let real: Real;
const faults: string[] = [];

async function page(path = "/"): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await real.pages(context);
  const it = await context.newPage();
  it.setDefaultTimeout(60_000);
  it.on("pageerror", (error) => faults.push(error.message));
  it.on("console", (line) => line.type() === "error" && !/Failed to load resource|net::/.test(line.text()) && faults.push(line.text()));
  await it.goto(real.url + path);
  await it.waitForSelector("main");
  return it;
}

/** A page with a new conversation open. */
async function fresh(): Promise<Page> {
  const it = await page();
  await it.waitForURL(/\/agents\/[^/]+\/chats/);
  await it.getByRole("link", { name: "New conversation" }).first().click();
  await it.waitForSelector("[data-composer]");
  return it;
}

describe.runIf(PROGRAM)("with the real program", () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await real.close();
    expect(faults.splice(0)).toEqual([]);
  });
  afterAll(() => browser.close());

  it("a turn is sent, streams and settles; its call, its run and its words are found again", async () => {
    real = await Real.open(
      [
        { text: "Let me see.", toolCalls: [{ name: "Read", arguments: { file_path: "notes.txt" } }] },
        { expect: "heron", chunks: ["The word ", "is **heron**.\n\n", "- one\n", "- two"] },
      ],
      {},
      { "notes.txt": "the code word is heron\n" },
    );
    const it = await fresh();
    await send(it, "What is the word?");
    await it.waitForSelector(".answer strong >> text=heron");
    expect(await it.locator(".answer li").allTextContents()).toEqual(["one", "two"]);
    await it.locator("details.act > summary").click();
    await it.waitForSelector(".note-row >> text=Let me see.");
    await it.locator("details.call > summary").click();
    await it.waitForSelector("pre >> text=the code word is heron");
    await it.waitForSelector(".conv >> text=The word is heron");
    await it.getByRole("link", { name: /^run/ }).click();
    await it.waitForSelector(".runhead >> text=What is the word?");
    await it.locator(".wf-row >> text=Read").click();
    await it.waitForSelector("aside pre >> text=notes.txt");
    await it.goto(it.url().replace(/\/runs.*/, "/chats"));
    await it.fill("[data-search]", "heron");
    await it.waitForSelector(".conv mark >> text=heron");
  });

  it("a reload in the middle shows the same turn, and no tab is needed for it to end", async () => {
    real = await Real.open([{ delayMs: 2500, text: "Here it is, at last." }]);
    const it = await fresh();
    await send(it, "slow one");
    await it.waitForSelector(".act-line >> text=Working");
    const url = it.url();
    await it.reload();
    await it.waitForSelector(".act-line >> text=Working");
    await it.close();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const later = await page(url.slice(real.url.length));
    await later.waitForSelector(".answer >> text=Here it is, at last.");
  });

  // TOO-9
  it("an approval is asked, allowed once, denied with a reason; what was denied did not happen", async () => {
    real = await Real.open(
      [
        { toolCalls: [{ name: "Write", arguments: { file_path: "one.txt", content: "first" } }] }, { text: "Wrote it." },
        { toolCalls: [{ name: "Write", arguments: { file_path: "two.txt", content: "second" } }] }, { expect: { isError: true }, text: "It was not allowed." },
      ],
      { tools: { approvals: { rules: [{ tool: "Write", decision: "ask" }] } } },
    );
    const it = await fresh();
    await send(it, "write one");
    await it.waitForSelector(".ask >> text=Write this file?");
    await it.getByRole("button", { name: "Allow once" }).click();
    await it.waitForSelector(".answer >> text=Wrote it.");
    expect(real.read("one.txt")).toBe("first");
    await send(it, "write two");
    await it.getByRole("button", { name: "Deny with a reason" }).click();
    await it.fill("[data-reason]", "not this one");
    await it.getByRole("button", { name: "Deny", exact: true }).click();
    await it.waitForSelector(".answer >> text=It was not allowed.");
    await it.waitForSelector(".wash.refused >> text=1 refused");
    expect(real.read("two.txt")).toBeNull();
  });

  it("Stop stops the turn and keeps what was written", async () => {
    real = await Real.open([{ delayMs: 60_000, text: "never" }, { text: "Next." }]);
    const it = await fresh();
    await send(it, "take your time");
    await it.waitForSelector(".act-line >> text=Working");
    await it.getByRole("button", { name: "Stop" }).click();
    await it.waitForSelector(".banner >> text=Stopped.");
    await send(it, "and now");
    await it.waitForSelector(".answer >> text=Next.");
  });

  it("a console that dies in the middle leaves the turn interrupted, never lost", async () => {
    real = await Real.open([{ delayMs: 60_000, text: "never" }, { text: "I am here again." }]);
    const it = await fresh();
    await send(it, "hold on");
    await it.waitForSelector(".act-line >> text=Working");
    await real.restartConsole();
    await it.waitForSelector(".banner.doubt >> text=Interrupted.", { timeout: 60_000 });
    await send(it, "again");
    await it.waitForSelector(".answer >> text=I am here again.");
  });

  it("rename, pin, archive, restore, delete", async () => {
    real = await Real.open([{ text: "Yes." }]);
    const it = await fresh();
    await send(it, "Is it kept?");
    await it.waitForSelector(".answer >> text=Yes.");
    const choose = async (item: string) => {
      await it.locator("header.bar").getByRole("button", { name: /More actions/ }).click();
      await it.getByRole("menuitem", { name: item }).click();
    };
    await choose("Rename");
    await it.fill("dialog input", "Kept things");
    await it.getByRole("button", { name: "Rename", exact: true }).click();
    await it.waitForSelector("h1 >> text=Kept things");
    await choose("Pin");
    await it.waitForSelector("div:has(> h2:has-text('Pinned')) >> text=Kept things");
    await choose("Archive");
    await it.getByRole("button", { name: "Restore it" }).click();
    await it.waitForSelector("[data-composer]");
    await choose("Archive");
    await choose("Delete");
    await it.getByRole("button", { name: "Delete conversation" }).click();
    await it.waitForURL(/\/chats$/);
  });

  it("every screen shows the agent as it is", async () => {
    real = await Real.open([{ text: "Unused." }], { tools: { disallowedTools: ["Bash"], mcpServers: { lost: { command: "no-such-program" } } } });
    const it = await page();
    await it.waitForURL(/\/agents\/[^/]+\/chats/);
    const base = it.url().replace(/\/chats.*/, "");
    await it.goto(`${base}/tools/Bash`);
    await it.waitForSelector(".ladder .stop >> text=Allow and deny lists");
    await it.goto(`${base}/servers/lost`);
    await it.waitForSelector("aside");
    await it.getByRole("button", { name: /Test|Try now/ }).click();
    await it.waitForSelector("aside .banner.bad", { timeout: 90_000 });
    await it.goto(`${base}/runs`);
    await it.waitForSelector("text=Nothing has run yet");
    await it.goto(`${base}/runs/report`);
    await it.waitForSelector("text=Nothing ran in this time");
    await it.goto(`${base}/memory`);
    await it.waitForSelector("text=/memory/i");
    await it.goto(`${base}/audit`);
    await it.waitForSelector("text=/Nothing was decided yet|The chain is whole/");
    await it.goto(`${real.url}/settings`);
    await it.waitForSelector("code >> text=tools.disallowedTools");
    await it.getByText("Dark", { exact: true }).click();
    await it.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await it.reload();
    await it.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  });

  it("a file is attached, sent, and kept with its message", async () => {
    real = await Real.open([{ text: "Got it." }]);
    const it = await fresh();
    await it.setInputFiles("input[type=file]", { name: "\u202Etxt.exe note.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
    await it.waitForSelector(".file-chip >> text=5 B");
    await send(it, "Here");
    await it.waitForSelector(".answer >> text=Got it.");
    const name = await it.locator(".attached").textContent();
    expect(name).not.toContain("\u202E");
    await it.reload();
    await it.waitForSelector(".attached >> text=note.txt");
  });
});
