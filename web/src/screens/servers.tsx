// MCP servers: how each stands and why, its tools, what it printed, and a test.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError, change, get, path } from "../api/client";
import type { Agent, ServerRow, Servers as ServersAnswer, ServerTest } from "../api/types";
import { go, route, to } from "../state/router";
import { say } from "../state/say";
import { agent as current } from "../state/store";
import { count, oneLine, plain, took } from "../text/words";
import type { Mark } from "../text/words";
import { useLoad } from "../ui/hooks";
import { Badge, MarkIcon, Marked } from "../ui/icons";
import { room } from "../ui/media";
import { Panes } from "../ui/panes";
import { Banner, Block, Bones, Empty, Failed } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";

/** One server as it stands, whatever kind of entry it is. */
export type Entry = { name: string; row: ServerRow | null; mark: Mark; word: string; cause: string | null };

/** All entries: those that work or failed, those that can't be used, those that are off. */
export function entriesOf(answer: ServersAnswer): Entry[] {
  const rows = answer.servers.map((row): Entry => {
    const [mark, word] = standing(row);
    return { name: row.name, row, mark, word, cause: row.error };
  });
  const broken = answer.broken.map(([name, why]): Entry => ({ name, row: null, mark: "failed", word: "Can't be used", cause: why }));
  const off = answer.disabled.map((name): Entry => ({ name, row: null, mark: "refused", word: "Off", cause: "Its entry says disabled." }));
  return [...rows, ...broken, ...off];
}

function standing(row: ServerRow): [Mark, string] {
  switch (row.state) {
    case "connected":
      return ["done", "Connected"];
    case "discovered":
      return ["done", row.cached ? "Known, not started yet" : "Ready"];
    case "degraded":
      return ["failed", "Failed"];
    case "quarantined":
      return ["unknown", "Left alone for a while"];
    default:
      return ["later", "Not looked at yet"];
  }
}

/** The screen. */
export function Servers(): VNode {
  const it = current.value;
  const { item } = route.value;
  const loaded = useLoad(it ? it.id : null, () => get<ServersAnswer>(`${path("agents", it!.id)}/servers`), false);
  const entries = loaded.data ? entriesOf(loaded.data) : [];
  const picked = entries.find((entry) => entry.name === item) ?? null;
  const here = (name: string | null) => to(it?.id ?? "none", "servers", name);
  const main = (
    <>
      <header class="bar">
        <div class="grow"><h1 class="phone-pad">Servers</h1></div>
        <div class="agent end"><AgentPicker /></div>
      </header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Servers">
        <div class="page narrow">
          {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The servers can't be read." />}
          {!loaded.data && !loaded.error && <Bones label="Loading servers" rows={4} />}
          {loaded.data && entries.length === 0 && (
            <Empty icon="servers" title="No MCP server is declared">
              <p>A server brings tools of its own. In the agent’s folder:</p>
              <p><code>mono-agent mcp add time -- uvx mcp-server-time</code></p>
            </Empty>
          )}
          {loaded.data && entries.length > 0 && (
            <>
              {loaded.data.from === "here" && <p class="tally">The agent doesn’t run; these were started to look.</p>}
              <ul class="rows linked">{entries.map((entry) => <Row key={entry.name} entry={entry} href={here(entry.name)} on={picked === entry} />)}</ul>
            </>
          )}
        </div>
      </div>
    </>
  );
  return (
    <Panes
      listLabel="" phone="main" main={main} closeSide={() => go(here(null))}
      side={picked && it ? { title: picked.name, code: true, body: <Details key={picked.name} entry={picked} agent={it} again={loaded.again} /> } : null}
    />
  );
}

function Row({ entry, href, on }: { entry: Entry; href: string; on: boolean }): VNode {
  const { row } = entry;
  return (
    <li class={on ? "on" : undefined}>
      <Marked mark={entry.mark} word={entry.word} />
      <span>
        <a href={href} aria-current={on ? "true" : undefined} data-row><b><bdi>{oneLine(entry.name)}</bdi></b></a>
        {row && <span class="meta"> · {oneLine(row.transport)}</span>}
      </span>
      <span class="w num">{row && entry.mark !== "failed" ? `${row.offered} of ${count(row.advertised, "tool")}` : entry.word}</span>
      {entry.cause && <span class="d"><bdi>{oneLine(entry.cause)}</bdi></span>}
    </li>
  );
}

function Details({ entry, agent, again }: { entry: Entry; agent: Agent; again: () => void }): VNode {
  const { row } = entry;
  const [test, setTest] = useState<ServerTest | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setFault(null);
    try {
      const result = await change<ServerTest>("POST", path("agents", agent.id, "servers", entry.name, "test"));
      setTest(result);
      say(result.error ? "The test failed" : "The test passed");
      again();
    } catch (error) {
      setFault(plain((error as ApiError).message));
    } finally {
      setBusy(false);
    }
  };
  const stderr = test?.stderrTail || row?.stderrTail;
  const leftOut = test?.leftOut ?? row?.leftOut ?? [];
  return (
    <>
      <section class="sec">
        <p><Badge mark={entry.mark} word={entry.word} /></p>
        {entry.cause && <p class="why"><bdi>{plain(entry.cause)}</bdi></p>}
        {row && (
          <dl class="dl">
            <dt>Transport</dt><dd>{oneLine(row.transport)}</dd>
            <dt>Tools</dt><dd class="num">{row.offered} offered of {row.advertised}</dd>
            {row.revision && <><dt>Protocol</dt><dd>{oneLine(row.revision)}{row.era ? ` (${row.era})` : ""}</dd></>}
            <dt>Needed</dt><dd>{row.required ? "Yes: no turn runs without it" : "No: turns go on without it"}</dd>
            <dt>Started</dt><dd class="num">{count(row.starts, "time")} by this host</dd>
            {row.failures > 0 && <><dt>Failures</dt><dd class="num">{row.failures} since it last worked</dd></>}
            {row.noise > 0 && <><dt>Noise</dt><dd class="num">{count(row.noise, "line")} that were no messages</dd></>}
            {row.pid !== null && <><dt>Process</dt><dd class="num">{row.pid}</dd></>}
          </dl>
        )}
      </section>
      {row && (
        <section class="sec">
          <h3>Test</h3>
          <p class="why">Connects, lists the tools, and says how long it took.</p>
          {test && (
            <Banner tone={test.error ? "bad" : "plain"} live>
              {test.error ? plain(test.error) : `${plain(test.server ?? "Connected")}: ${count(test.advertised, "tool")} in ${took(test.tookMs)}`}
            </Banner>
          )}
          {fault && <p class="error" role="alert"><MarkIcon mark="failed" />{fault}</p>}
          <div class="acts"><button type="button" class="btn" disabled={busy} onClick={() => void run()}>{busy ? "Testing…" : entry.mark === "failed" || entry.mark === "unknown" ? "Try now" : "Test"}</button></div>
        </section>
      )}
      {test && test.tools.length > 0 && <section class="sec"><h3>Tools <span>{test.tools.length}</span></h3><ul class="names">{test.tools.map((name) => <li key={name}><code>{oneLine(name)}</code></li>)}</ul></section>}
      {leftOut.length > 0 && (
        <section class="sec">
          <h3>Left out <span>{leftOut.length}</span></h3>
          <ul class="names">{leftOut.map((it) => <li key={it.tool}><code>{oneLine(it.tool)}</code><span class="why">{plain(it.why)}</span></li>)}</ul>
        </section>
      )}
      {stderr && <section class="sec"><Block title="It printed last" text={stderr} label="The end of its error output. It comes from outside and is not an instruction" /></section>}
      {room.value === "phone" ? null : <section class="sec"><a href={to(agent.id, "tools")}>Its tools, and who decides</a></section>}
    </>
  );
}
