// Parts of answers, questions and titles in front of the real program. A tool that this program lacks is left out, and
// said so.

import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { TestContext } from "vitest";
import { send } from "./bench";
import { PROGRAM, Real } from "./real";

let browser: Browser;
let real: Real;

/** A page with a new conversation, where the program has the tool. */
async function fresh(context: TestContext, tool: string): Promise<Page> {
  const profile = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await real.pages(profile);
  const page = await profile.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(real.url);
  await page.waitForURL(/\/agents\/[^/]+\/chats/);
  const agent = new URL(page.url()).pathname.split("/")[2]!;
  const explained = (await (await page.request.get(`${real.url}/api/v1/agents/${agent}/explain?channel=web`)).json()) as { tools: { name: string; offered: boolean }[] };
  // A title is a matter of one conversation; explained without one, its tool is known and withheld.
  const there = (it: { name: string; offered: boolean }) => it.name === tool && (it.offered || tool === "SetConversationTitle");
  if (!explained.tools.some(there)) context.skip(`this program does not offer ${tool}`);
  await page.goto(`${real.url}/agents/${agent}/chats/new`);
  await page.waitForSelector("[data-composer]");
  return page;
}

const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args }] });

describe.runIf(PROGRAM)("with the real program", () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((it) => it.close()));
    await real.close();
  });
  afterAll(() => browser.close());

  // WEB-5, REP-2, OUT-5
  it("a published file is downloaded as it was published", async (context) => {
    real = await Real.open(
      [call("PublishReplyFile", { path: "weekly.csv", name: "weekly.csv", mediaType: "text/csv" }), { text: "Here is the file." }],
      {},
      { "weekly.csv": "product,tickets\nBilling,88\n" },
    );
    const page = await fresh(context, "PublishReplyFile");
    await send(page, "the file, please");
    await page.waitForSelector(".answer >> text=Here is the file.");
    const waits = page.waitForEvent("download");
    await page.getByRole("link", { name: /Download weekly.csv, CSV/ }).first().click();
    const download = await waits;
    expect(download.suggestedFilename()).toBe("weekly.csv");
    expect(readFileSync((await download.path())!, "utf8")).toBe("product,tickets\nBilling,88\n");
  });

  // WEB-5, QUI-1
  it("a quick reply is sent as it stands, and is chosen for good", async (context) => {
    real = await Real.open([call("SuggestReplies", { options: ["Review draft", "Keep going"] }), { text: "What now?" }, { text: "I keep going." }]);
    const page = await fresh(context, "SuggestReplies");
    await send(page, "begin");
    await page.getByRole("button", { name: "Keep going" }).click();
    await page.waitForSelector(".answer >> text=I keep going.");
    await page.reload();
    await page.waitForSelector(".quick .picked:disabled >> text=Keep going");
  });

  // WEB-5, RES-1
  it("a restart is proposed, confirmed by a person, and done once", async (context) => {
    real = await Real.open([call("ProposeRestart", { reason: "New settings are read at a start." }), { text: "It needs a restart." }, { text: "I am back." }]);
    const page = await fresh(context, "ProposeRestart");
    const generation = async () => ((await (await page.request.get(`${real.url}/api/v1/agents`)).json()) as { agents: { generation: number; state: string }[] }).agents[0]!;
    const before = (await generation()).generation;
    await send(page, "does it need one?");
    await page.waitForSelector(".ask >> text=New settings are read at a start.");
    expect((await generation()).generation).toBe(before);
    await page.getByRole("button", { name: "Restart Atlas" }).click();
    await page.waitForSelector(".ask", { state: "detached" });
    for (let n = 0; n < 300 && ((await generation()).generation === before || (await generation()).state !== "online"); n += 1) await page.waitForTimeout(100);
    expect((await generation()).generation).toBe(before + 1);
    await page.reload();
    await page.waitForSelector(".banner >> text=New settings are read at a start.");
    expect(await page.getByRole("button", { name: "Restart Atlas" }).count()).toBe(0);
    await send(page, "are you back?");
    await page.waitForSelector(".answer >> nth=1");
  });

  // WEB-5, TIT-1
  it("the agent names the conversation, until a person did", async (context) => {
    real = await Real.open([
      call("SetConversationTitle", { title: "Herons" }), { text: "Named." },
      call("SetConversationTitle", { title: "Storks" }), { text: "Tried again." },
    ]);
    const page = await fresh(context, "SetConversationTitle");
    await send(page, "name it");
    await page.waitForSelector("h1 >> text=Herons");
    await page.waitForSelector(".answer >> text=Named.");
    await page.locator("h1 .title").click();
    await page.fill("dialog input", "Mine");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.waitForSelector("h1 >> text=Mine");
    await send(page, "again");
    await page.waitForSelector(".answer >> text=Tried again.");
    expect(await page.locator("h1").textContent()).toBe("Mine");
  });

  // TOO-6
  it("the agent's questions are answered in one form", async (context) => {
    const options = [{ label: "Created", description: "Matches earlier reports" }, { label: "Closed", description: "Misses the backlog" }];
    real = await Real.open([call("AskUser", { questions: [{ header: "Count", question: "Which tickets?", options }] }), { expect: "Closed", text: "Closed ones, then." }]);
    const page = await fresh(context, "AskUser");
    await send(page, "report");
    await page.waitForSelector(".ask >> text=Which tickets?");
    await page.getByLabel("Closed").check();
    await page.getByRole("button", { name: "Send answers" }).click();
    await page.waitForSelector(".answer >> text=Closed ones, then.");
  });

  // ENG-8
  it("what is added to a running turn is read by it, and stands in the conversation once", async (context) => {
    real = await Real.open([{ delayMs: 4000, ...call("Read", { file_path: "notes.txt" }) }, { delayMs: 500, text: "Both are looked at." }, { text: "A turn too many." }], {}, { "notes.txt": "x" });
    const page = await fresh(context, "Read");
    const { agents } = (await (await page.request.get(`${real.url}/api/v1/agents`)).json()) as { agents: { can: { steer: boolean } }[] };
    if (!agents[0]!.can.steer) context.skip("this program takes no follow-ups");
    await send(page, "look at one");
    await page.waitForSelector(".act-line >> text=Working");
    await send(page, "and at two");
    await page.waitForSelector(".follow >> text=read at the next step");
    await page.waitForSelector(".answer >> text=Both are looked at.");
    await page.waitForSelector(".said >> text=and at two");
    await page.waitForSelector(".follow", { state: "detached" });
    await page.reload();
    await page.waitForSelector(".answer >> text=Both are looked at.");
    expect(await page.locator(".said >> text=and at two").count()).toBe(1);
    expect(await page.locator("text=A turn too many.").count()).toBe(0);
  });

  // TOO-9
  it("what is always allowed stands in Settings and can be taken back", async (context) => {
    real = await Real.open(
      [call("Write", { file_path: "a.txt", content: "a" }), { text: "One." }, call("Write", { file_path: "a.txt", content: "b" }), { text: "Two." }],
      { tools: { approvals: { rules: [{ tool: "Write", decision: "ask" }] } } },
    );
    const page = await fresh(context, "Write");
    await send(page, "write");
    await page.waitForSelector(".ask");
    const always = page.getByRole("button", { name: "Always allow" });
    if ((await always.count()) === 0) context.skip("this program keeps no standing approvals");
    await always.click();
    await page.waitForSelector(".answer >> text=One.");
    await send(page, "write again");
    await page.waitForSelector(".answer >> text=Two.");
    await page.goto(`${real.url}/settings`);
    await page.getByRole("button", { name: /^Remove/ }).click();
    await page.waitForSelector("text=Nothing is always allowed.");
  });
});
