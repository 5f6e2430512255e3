// What people do with the console, in a real Chromium (WEB-5).

import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Bench, send, settled } from "./bench";
import type { World } from "./bench";

let bench: Bench;
let world: World;
beforeAll(async () => {
  bench = await Bench.open();
});
beforeEach(async () => {
  world = await bench.fresh();
  world.pace = 8;
});
afterEach(async () => {
  await bench.leave();
  expect(bench.faults).toEqual([]);
});
afterAll(() => bench.close());

const NEW = "/agents/atlas/chats/new";

// WEB-5, WEB-2
describe("a turn", () => {
  it("is sent, streams, and settles", async () => {
    const page = await bench.page(NEW);
    await send(page, "Tell me something");
    await page.waitForSelector(".me >> text=Tell me something");
    await page.waitForSelector(".answer.growing");
    expect(await page.locator(".answer").getAttribute("aria-busy")).toBe("true");
    await settled(page);
    expect(page.url()).toMatch(/\/agents\/atlas\/chats\/t_/);
    expect(await page.locator(".answer li strong").textContent()).toBe("one");
    await page.waitForSelector("details.act:not([open]) >> text=1 step");
    await page.waitForFunction(() => document.querySelector("[role=status][aria-live]")?.textContent?.includes("Answer ready"));
    expect(await page.inputValue("[data-composer]")).toBe("");
  });

  it("is caught up after a reload in the middle, and goes on without any tab", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow answer");
    await page.waitForSelector("text=word5");
    await page.reload();
    await page.waitForSelector("text=word5");
    await page.waitForSelector(".answer.growing");
    const url = page.url();
    await page.close();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const later = await bench.tab(bench.browser.contexts()[0]!, url.replace(bench.mock.url, ""));
    await settled(later);
    expect((await later.locator(".answer").textContent())!.match(/word\d+/g)).toHaveLength(120);
  });

  it("is the same in three tabs at once", async () => {
    const first = await bench.page(NEW);
    await send(first, "slow answer");
    await first.waitForSelector("text=word2");
    const path = first.url().replace(bench.mock.url, "");
    const tabs = [first, await bench.tab(first.context(), path), await bench.tab(first.context(), path)];
    await Promise.all(tabs.map((tab) => settled(tab)));
    const texts = await Promise.all(tabs.map((tab) => tab.locator(".answer").textContent()));
    expect(new Set(texts).size).toBe(1);
  });

  it("a gap in the feed is repaired by one fetch", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow answer");
    await page.waitForSelector("text=word3");
    const fetched: string[] = [];
    page.on("request", (request) => /\/messages\/[^/]+$/.test(request.url()) && fetched.push(request.url()));
    world.dropDeltas = 3;
    await settled(page);
    expect((await page.locator(".answer").textContent())!.match(/word\d+/g)).toHaveLength(120);
    expect(fetched.length).toBe(1);
  });

  it("survives a cut connection: nothing is said of a short one, and the page catches up", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow answer");
    await page.waitForSelector("text=word3");
    world.cut();
    await page.waitForTimeout(150);
    expect(await page.locator("text=Reconnecting").count()).toBe(0);
    await settled(page);
    expect((await page.locator(".answer").textContent())!.match(/word\d+/g)).toHaveLength(120);
  });

  it("is stopped by Escape twice, and keeps what was written", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow answer");
    await page.waitForSelector("text=word5");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=Stopped. This is what Atlas had written so far.");
    expect(await page.locator(".answer").textContent()).toContain("word5");
  });

  it("that failed says what happened; one that the host broke off is interrupted, never lost", async () => {
    const page = await bench.page(NEW);
    await send(page, "fail please");
    await page.waitForSelector(".banner.bad >> text=No answer from the model");
    await send(page, "interrupt it");
    await page.waitForSelector(".banner.doubt >> text=Nothing was run again");
  });

  // ENG-8
  it("takes a follow-up: it waits, can be taken back, and is read", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow answer");
    await page.waitForSelector("text=word3");
    expect(await page.getByRole("button", { name: "Attach files. Available when this turn ends" }).isDisabled()).toBe(true);
    await send(page, "never mind this");
    await page.waitForSelector(".follow >> text=read at the next step");
    await page.getByRole("button", { name: "Cancel: never mind this" }).click();
    await page.waitForSelector(".follow", { state: "detached" });
    await send(page, "mention all columns");
    await page.waitForSelector(".said >> text=mention all columns");
    await page.waitForSelector(".follow", { state: "detached" });
    expect(await page.locator(".stamp >> text=Added while it worked").count()).toBe(1);
  });

  it("text that could not be sent comes back", async () => {
    const page = await bench.page("/agents/atlas/chats/weekly");
    world.faults.set("/threads/weekly/submissions", 500);
    await send(page, "do not lose me");
    await page.waitForSelector(".compose .error >> text=Not sent");
    expect(await page.inputValue("[data-composer]")).toBe("do not lose me");
    world.faults.clear();
    await page.reload();
    expect(await page.inputValue("[data-composer]")).toBe("do not lose me");
  });
});

// WEB-5, QUI-1, RES-1, REP-1
describe("parts of an answer", () => {
  it("a file is downloaded with its name and its bytes; one that is gone says so", async () => {
    const page = await bench.page("/agents/atlas/chats/weekly");
    const waits = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download weekly-tickets.csv, CSV, 48.2 KB" }).click();
    const download = await waits;
    expect(download.suggestedFilename()).toBe("weekly-tickets.csv");
    expect(readFileSync((await download.path())!, "utf8")).toBe("product,tickets\nBilling,88\n");
    expect(await page.locator("text=This file was kept for its time and is gone.").count()).toBe(1);
    world.threads.get("weekly").messages[1].partStatus.p_csv.state = "missing";
    await page.getByRole("link", { name: /Download weekly-tickets.csv, CSV/ }).click();
    await page.waitForSelector("text=This file is no longer there.");
  });

  it("a quick reply is sent as it stands, once; reloads and other devices see it chosen", async () => {
    const page = await bench.page(NEW);
    await send(page, "replies please");
    await page.getByRole("button", { name: "Keep going" }).click();
    await page.waitForSelector(".me >> text=Keep going");
    await page.waitForSelector("button:disabled >> text=Review draft");
    await settled(page);
    for (const it of [page, await bench.tab((await bench.page("/")).context(), page.url().replace(bench.mock.url, ""))]) {
      await it.reload();
      await it.waitForSelector(".quick .picked");
      expect(await it.locator(".quick .picked").getAttribute("aria-label")).toBe("Keep going, chosen");
      expect(await it.locator(".quick button:enabled").count()).toBe(0);
    }
  });

  it("a restart is proposed, confirmed once, and then only read", async () => {
    const page = await bench.page("/agents/atlas/chats/weekly");
    await page.waitForSelector("text=Stops 2 running turns");
    await page.getByRole("button", { name: "Restart Atlas" }).click();
    await page.waitForSelector("text=This proposal is used.");
    expect(await page.getByRole("button", { name: "Restart Atlas" }).count()).toBe(0);
  });
});

// WEB-3, TIT-1
describe("titles and shelves", () => {
  it("a title that a person gave is not changed by a racing one", async () => {
    const page = await bench.page(NEW);
    await send(page, "slow title race");
    await page.locator("h1 .title").click();
    await page.fill("dialog input", "Mine");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.waitForSelector("h1 >> text=Mine");
    await settled(page);
    expect(await page.locator("h1").textContent()).toBe("Mine");
    expect(world.running(page.url().split("/").at(-1))).toBeNull();
    await send(page, "title again");
    await settled(page);
    expect(await page.locator("h1").textContent()).toBe("Mine");
  });

  it("an automatic one follows the agent", async () => {
    const page = await bench.page(NEW);
    await send(page, "find a title");
    await page.waitForSelector("h1 >> text=A better title");
    await page.waitForSelector(".conv >> text=A better title");
  });

  it("pin, archive, restore, delete: each where it belongs", async () => {
    const page = await bench.page("/agents/atlas/chats/holiday");
    const menu = (item: string) => async () => {
      await page.locator("header.bar").getByRole("button", { name: /More actions/ }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await menu("Pin")();
    await page.waitForSelector("div:has(> h2:has-text('Pinned')) >> text=Holiday cover plan");
    await menu("Archive")();
    await page.waitForSelector(".closed >> text=This conversation is archived");
    expect(await page.locator(".list .conv >> text=Holiday cover plan").count()).toBe(0);
    await page.getByRole("button", { name: "Archived" }).click();
    await page.waitForSelector(".list .conv >> text=Holiday cover plan");
    await page.getByRole("button", { name: "Restore it" }).click();
    await page.waitForSelector("[data-composer]");
    await menu("Archive")();
    await menu("Delete")();
    await page.waitForFunction(() => document.activeElement?.textContent === "Cancel");
    await page.getByRole("button", { name: "Delete conversation" }).click();
    await page.waitForURL(/\/chats$/);
    expect(world.threads.has("holiday")).toBe(false);
  });

  it("search finds titles and messages, and puts archived ones apart", async () => {
    const page = await bench.page("/agents/atlas/chats");
    await page.keyboard.press("/");
    await page.keyboard.type("tape job");
    await page.waitForSelector(".conv mark >> text=tape job");
    await page.fill("[data-search]", "import");
    await page.waitForSelector("h2 >> text=Archived");
    await page.fill("[data-search]", "zzzz");
    await page.waitForSelector("text=Nothing found");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".conv >> text=Morning digest");
  });
});

// TOO-6, TOO-9
describe("questions", () => {
  it("an approval shows what Always adds, holds its buttons back for a moment, and stands in the record", async () => {
    const page = await bench.page(NEW);
    await send(page, "approve this");
    const card = page.locator(".ask");
    await card.waitFor();
    expect(await card.getByRole("button", { name: "Allow once" }).isDisabled()).toBe(true);
    await page.waitForFunction(() => document.title.startsWith("(1)"));
    await page.waitForSelector("text=/Always adds .*#support/");
    await page.keyboard.press("Alt+a");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Send this message to #support?");
    await page.keyboard.press("Enter");
    expect(await card.count()).toBe(1);
    await card.getByRole("button", { name: "Allow once" }).click();
    await settled(page);
    await page.locator("details.act summary").first().click();
    await page.waitForSelector(".call >> text=Allowed once by you");
  });

  it("a denied call is a refusal with its reason", async () => {
    const page = await bench.page(NEW);
    await send(page, "approve this");
    await page.getByRole("button", { name: "Deny with a reason" }).click();
    await page.fill("[data-reason]", "wrong channel");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await page.waitForSelector(".call >> text=Refused: wrong channel");
  });

  it("answered in another tab, the card closes and says so", async () => {
    const page = await bench.page(NEW);
    await send(page, "approve this");
    await page.waitForSelector(".ask");
    const other = await bench.tab(page.context(), page.url().replace(bench.mock.url, ""));
    await other.getByRole("button", { name: "Allow once" }).click();
    await page.waitForSelector(".ask", { state: "detached" });
    await page.waitForSelector(".closed >> text=Answered");
  });

  it("one form asks all; an error stands at its question and takes the focus", async () => {
    const page = await bench.page(NEW);
    await send(page, "question me");
    await page.waitForSelector(".ask >> text=Atlas has 2 questions");
    await page.waitForTimeout(550);
    await page.getByLabel("Created last week").check();
    await page.getByRole("button", { name: "Send answers" }).click();
    await page.waitForSelector("fieldset:nth-of-type(2) .error");
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).type)).toBe("checkbox");
    await page.getByLabel("#support").check();
    await page.getByLabel(/Your own answer to: Send it where/).fill("the wiki");
    const body = page.waitForRequest(/answer$/);
    await page.getByRole("button", { name: "Send answers" }).click();
    expect((await body).postDataJSON()).toEqual({ answers: [{ selected: ["Created last week"] }, { selected: ["#support"], other: "the wiki" }] });
    await settled(page);
  });

  it("a server's form is asked after its schema", async () => {
    const page = await bench.page(NEW);
    await send(page, "elicit it");
    await page.waitForSelector(".ask >> text=tickets asks for details");
    await page.waitForTimeout(550);
    await page.getByRole("button", { name: "Send answers" }).click();
    await page.waitForSelector(".ask .error >> text=Name");
    await page.getByLabel("Name (needed)").fill("Ada");
    await page.getByLabel("How many").fill("3");
    await page.getByLabel("Level").selectOption("P1");
    const body = page.waitForRequest(/answer$/);
    await page.getByRole("button", { name: "Send answers" }).click();
    expect((await body).postDataJSON()).toEqual({ action: "accept", content: { name: "Ada", level: "P1", count: 3, now: false } });
  });
});

describe("files", () => {
  it("are attached, named where they are too large, and sent", async () => {
    const page = await bench.page(NEW);
    await page.setInputFiles("input[type=file]", [
      { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
      { name: "big.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc((20 << 20) + 1) },
    ]);
    await page.waitForSelector(".file-chip >> text=5 B");
    await page.waitForSelector(".compose .error >> text=big.bin is larger than 20.0 MB and was not attached.");
    await send(page, "look at it");
    await page.waitForSelector(".attached >> text=a.txt");
    expect(await page.locator(".file-chip").count()).toBe(0);
  });
});

describe("the keyboard", () => {
  it("leads everywhere: palette, letters, rows, folds, panes", async () => {
    const page = await bench.page("/agents/atlas/chats/weekly");
    await page.waitForSelector(".answer");
    await page.locator("#transcript").focus();
    await page.keyboard.press(".");
    await page.waitForSelector("details.act[open]");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL(/\/tools$/);
    await page.waitForSelector(".tools-grid");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside >> text=How it was decided");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("go memory");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/memory$/);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog >> text=What needs you");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.keyboard.press("n");
    await page.waitForURL(/\/chats\/new$/);
    await page.waitForFunction(() => document.activeElement?.matches("[data-composer]"));
    await page.keyboard.type("gt");
    expect(await page.inputValue("[data-composer]")).toBe("gt");
  });

  it("letters can be turned off", async () => {
    const page = await bench.page("/settings");
    await page.getByLabel("Single letters do things outside fields").uncheck();
    await page.waitForTimeout(200);
    await page.locator("body").press("n");
    await page.waitForTimeout(100);
    expect(page.url()).toMatch(/settings$/);
    expect(world.settings.letterKeys).toBe(false);
  });

  it("a menu is a menu: arrows, letters, Escape gives the focus back", async () => {
    const page = await bench.page("/agents/atlas/chats/release");
    const more = page.locator("header.bar").getByRole("button", { name: /More actions/ });
    await more.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.textContent === "Rename");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("a");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Archive");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-haspopup") === "menu");
  });
});

// WEB-4
describe("safety", () => {
  it("asks for the token first, and a wrong one is refused", async () => {
    world.token = "right";
    const page = await bench.page("/agents/atlas/chats/weekly");
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector("text=This is not the token");
    await page.getByLabel("Token").fill("right");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector(".answer");
    expect(page.url()).toMatch(/weekly$/);
  });

  it("hostile text of a model, a file name, a title or a tool stays text", async () => {
    const { thread, messages } = world.threads.get("weekly");
    const bad = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>";
    thread.title = `${bad}\u202Ecod.exe`;
    messages[0].text = bad;
    messages[1].text = `${bad}\n\n[x](javascript:window.hit=1) ![p](https://elsewhere.example/p.png)`;
    messages[1].activity[0].result = bad;
    messages[1].activity[0].tool = bad;
    messages[1].parts[1].name = `${"a".repeat(300)}\u202E${bad}.csv`;
    const asked: string[] = [];
    const page = await bench.page("/agents/atlas/chats/weekly");
    page.on("request", (request) => !request.url().startsWith(bench.mock.url) && asked.push(request.url()));
    await page.waitForSelector(".answer");
    await page.locator("details.act summary").first().click();
    await page.locator("details.call summary").first().click();
    await page.waitForTimeout(300);
    expect(await page.evaluate(() => (window as { hit?: number }).hit)).toBeUndefined();
    expect(await page.locator(".answer script, .answer img, a[href^=javascript]").count()).toBe(0);
    expect(await page.locator("h1").textContent()).not.toContain("\u202E");
    expect(asked).toEqual([]);
  });

  it("the shell holds no inline script or style, and asks nobody else", async () => {
    const asked: string[] = [];
    const page = await bench.page("/agents/atlas/chats/weekly");
    page.on("request", (request) => asked.push(new URL(request.url()).host));
    await page.reload();
    await page.waitForSelector(".answer");
    const html = await (await page.request.get(bench.mock.url)).text();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    expect(new Set(asked)).toEqual(new Set([new URL(bench.mock.url).host]));
  });
});
