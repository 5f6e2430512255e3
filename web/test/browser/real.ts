// A real host with a scripted model and a real console in front of it, in a home folder of their own.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BrowserContext } from "playwright-core";

/** The program; tests of the real thing run only where it is named. */
export const PROGRAM = process.env.MONO_AGENT_BIN;

const DIST = new URL("../../dist/", import.meta.url);
const TYPES: Record<string, string> = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };

/** One agent and its console. */
export class Real {
  private readonly children: ChildProcess[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "console-"));
  url = "";

  /** Starts both. Each line of `script` answers one request to the model. */
  static async open(script: object[], config: object = {}, files: Record<string, string> = {}): Promise<Real> {
    const real = new Real();
    mkdirSync(real.agent);
    mkdirSync(join(real.folder, "home"));
    const base = { agent: { name: "Atlas" }, runtime: { model: "scripted:answers.jsonl" }, context: { identityPath: "IDENTITY.md" } };
    real.write("mono-agent.config.json", JSON.stringify({ ...base, ...config }));
    real.write("IDENTITY.md", "You are Atlas.\n");
    real.write("answers.jsonl", script.map((line) => JSON.stringify(line)).join("\n") + "\n");
    for (const [name, text] of Object.entries(files)) real.write(name, text);
    await real.startHost();
    await real.startConsole();
    return real;
  }

  get agent(): string {
    return join(this.folder, "agent");
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.agent, name), text);
  }

  /** A file of the agent; null where there is none. */
  read(name: string): string | null {
    const path = join(this.agent, name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  private run(args: string[]): ChildProcess {
    const env = { ...process.env, HOME: join(this.folder, "home") };
    const child = spawn(PROGRAM!, args, { cwd: this.agent, env, stdio: ["ignore", "pipe", "pipe"] });
    this.children.push(child);
    return child;
  }

  async startHost(): Promise<void> {
    const host = this.run(["start"]);
    let said = "";
    host.stdout!.on("data", (bytes) => (said += bytes));
    host.stderr!.on("data", (bytes) => (said += bytes));
    for (let n = 0; n < 300; n += 1) {
      if (host.exitCode !== null) break;
      if (await this.asked(["status", "--json"])) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`the host does not come up: ${said}`);
  }

  private asked(args: string[]): Promise<boolean> {
    return new Promise((resolve) => this.run(args).on("exit", (code) => resolve(code === 0)));
  }

  async startConsole(port = "0"): Promise<ChildProcess> {
    const console_ = this.run(["web", "--port", port, "--json"]);
    const lines = createInterface({ input: console_.stdout! });
    const first = await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      console_.once("exit", (code) => reject(new Error(`the console ended with ${code}`)));
    });
    this.url = (JSON.parse(first) as { url: string }).url.replace(/\/$/, "");
    return console_;
  }

  /** Ends the console at once, as a crash does, and starts it at the same address. */
  async restartConsole(): Promise<void> {
    const port = new URL(this.url).port;
    const old = this.children.find((child) => child.spawnargs.includes("web") && child.exitCode === null && child.signalCode === null)!;
    await new Promise((resolve) => {
      old.once("exit", resolve);
      old.kill("SIGKILL");
    });
    await this.startConsole(port);
  }

  /** Serves the pages that were built here, whatever the program has embedded. */
  async pages(context: BrowserContext): Promise<void> {
    await context.route((url) => url.origin === this.url && !url.pathname.startsWith("/api/"), async (route) => {
      const path = new URL(route.request().url()).pathname.slice(1);
      const file = path.startsWith("assets/") || path === "favicon.svg" ? path : "index.html";
      await route.fulfill({ body: readFileSync(new URL(file, DIST)), contentType: TYPES[file.split(".").pop()!] });
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      this.children.filter((child) => child.exitCode === null && child.signalCode === null).map((child) => new Promise((resolve) => {
        child.once("exit", resolve);
        child.kill("SIGTERM");
        setTimeout(() => child.kill("SIGKILL"), 5_000);
      })),
    );
    rmSync(this.folder, { recursive: true, force: true });
  }
}
