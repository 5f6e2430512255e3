// A real Chromium in front of the mock console: pages of every size, axe, and pictures.

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
// @ts-expect-error The mock is plain JavaScript.
import { startMock } from "../mock/server.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SHOTS = process.env.CONSOLE_SHOTS;

/** The widths that the design names, with a fitting height. */
export const SIZES: [number, number][] = [[1440, 900], [1024, 768], [390, 844], [320, 640]];

// The mock has no types; tests reach into it freely.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type World = any;
export type Mock = { url: string; world: World; close: () => Promise<void> };

/** One Chromium and one mock console. */
export class Bench {
  private contexts: BrowserContext[] = [];
  /** What pages complained of. */
  readonly faults: string[] = [];

  private constructor(readonly browser: Browser, public mock: Mock) {}

  static async open(): Promise<Bench> {
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    return new Bench(browser, await startMock());
  }

  /** A console as it is at first. */
  async fresh(): Promise<World> {
    await this.mock.close();
    this.mock = await startMock();
    this.faults.length = 0;
    return this.mock.world;
  }

  /** A page of its own browser profile. */
  async page(path: string, size: [number, number] = [1440, 900], colorScheme: "light" | "dark" = "light", more: object = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: size[0], height: size[1] }, colorScheme, ...more });
    this.contexts.push(context);
    return this.tab(context, path);
  }

  /** Another tab of the same profile. */
  async tab(context: BrowserContext, path: string): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(40_000);
    page.on("pageerror", (error) => this.faults.push(`${path}: ${error.message}`));
    page.on("console", (line) => {
      if (line.type() === "error" && !/Failed to load resource|ERR_|net::/.test(line.text())) this.faults.push(`${path}: ${line.text()}`);
    });
    await page.goto(this.mock.url + path);
    await page.waitForSelector("main");
    return page;
  }

  async leave(): Promise<void> {
    await Promise.all(this.contexts.splice(0).map((context) => context.close()));
  }

  async close(): Promise<void> {
    await this.leave();
    await this.browser.close();
    await this.mock.close();
  }
}

/** What axe has against a page, one line each; `colours` alone where the same page was looked at in the other theme. */
export async function axe(page: Page, colours = false): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (only) => {
    type Result = { violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] };
    const { axe } = window as unknown as { axe: { run: (what: Document, how: object) => Promise<Result> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await axe.run(document, { runOnly: only ? ["color-contrast", "link-in-text-block"] : tags, resultTypes: ["violations"] });
    return violations.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target.join(" ")} — ${node.failureSummary.replace(/\s+/g, " ")}`));
  }, colours);
}

/** Keeps a picture, where CONSOLE_SHOTS names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
}

/** Whether a page can be moved sideways: nothing may be wider than the window. */
export async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Types a message and sends it. */
export async function send(page: Page, text: string): Promise<void> {
  await page.fill("[data-composer]", text);
  await page.click("button[aria-label='Send'], button[aria-label='Add to this turn']");
}

/** The last answer, when it is whole. */
export async function settled(page: Page, words = " done."): Promise<void> {
  await page.waitForFunction((end) => [...document.querySelectorAll(".answer")].at(-1)?.textContent?.trimEnd().endsWith(end.trim()) && !document.querySelector(".answer.growing"), words, { timeout: 90_000 });
}
