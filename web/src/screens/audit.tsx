// The gate's decisions, newest first, and whether the chain that binds the log together is whole.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { get, path } from "../api/client";
import { to } from "../state/router";
import { agent as current } from "../state/store";
import { count, fullTime, oneLine, plain, timeOf, dayOf } from "../text/words";
import type { Mark } from "../text/words";
import { useLoad } from "../ui/hooks";
import { Marked } from "../ui/icons";
import { Panes } from "../ui/panes";
import { Banner, Bones, Empty, Failed } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";

type Decision = {
  seq: number; atMs: number; conversation: string | null; run: string | null; call: string | null; what: string; tool: string;
  rule?: string; outcome?: string; argumentsDigest?: string;
};
type Page = { decisions: Decision[]; nextCursor: string | null };
type Verdict = { ok: boolean; checked: number; last: number; broken: { event: number; why: string } | null };

const MARKS: Record<string, Mark> = { refused: "refused", asked: "waiting", started: "done", answered: "done", settled: "done" };

/** A decision's mark and its words. */
export function wordsOf(it: Decision): { mark: Mark; word: string } {
  if (it.what === "settled") {
    if (it.outcome === "ok" || it.outcome === "done") return { mark: "done", word: "done" };
    return { mark: it.outcome === "unknown" ? "unknown" : "failed", word: `ended: ${oneLine(it.outcome ?? "failed")}` };
  }
  if (it.what === "answered") {
    const no = it.outcome !== "approved" && it.outcome !== "approved_always";
    const words: Record<string, string> = { approved: "allowed once", approved_always: "always allowed", denied: "denied", timed_out: "denied: nobody answered", no_asker: "denied: nobody could be asked" };
    return { mark: no ? "refused" : "done", word: words[it.outcome ?? ""] ?? oneLine(it.outcome ?? "") };
  }
  const words: Record<string, string> = { refused: "refused", asked: "asked a person", started: "let through" };
  return { mark: MARKS[it.what] ?? "later", word: words[it.what] ?? oneLine(it.what) };
}

/** The screen. */
export function Audit(): VNode {
  const it = current.value;
  const [tool, setTool] = useState("");
  const [cursors, setCursors] = useState<string[]>([]);
  const base = it ? `${path("agents", it.id)}/decisions` : null;
  const chain = useLoad(base, () => get<Verdict>(`${base}/verify`), false);
  const loaded = useLoad(base ? `${base} ${tool} ${cursors.length}` : null, async () => {
    const pages = await Promise.all([null, ...cursors].map((cursor) => get<Page>(base!, { tool, cursor, limit: 50 })));
    return { decisions: pages.flatMap((page) => page.decisions ?? []), nextCursor: pages.at(-1)!.nextCursor };
  });
  const main = (
    <>
      <header class="bar"><div class="grow"><h1 class="phone-pad">Audit</h1></div><div class="agent end"><AgentPicker /></div></header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Decisions">
        <div class="page narrow">
          {chain.data && <Chain verdict={chain.data} />}
          {chain.error && chain.error.status !== 501 && chain.error.status !== 404 && <Failed error={chain.error} again={chain.again} what="The chain can't be checked." />}
          <div class="page-top">
            <label class="field"><span class="sr">Tool</span><input type="search" data-search placeholder="One tool, by its full name" value={tool} spellcheck={false} onInput={(event) => { setTool(event.currentTarget.value.trim()); setCursors([]); }} /></label>
          </div>
          {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The decisions can't be read." />}
          {!loaded.data && !loaded.error && <Bones label="Loading decisions" />}
          {loaded.data && loaded.data.decisions.length === 0 && <Empty icon="audit" title={tool ? "No decision on this tool" : "Nothing was decided yet"} />}
          {loaded.data && loaded.data.decisions.length > 0 && (
            <ul class="rows">
              {loaded.data.decisions.map((row) => {
                const { mark, word } = wordsOf(row);
                const at = new Date(row.atMs).toISOString();
                return (
                  <li key={row.seq}>
                    <Marked mark={mark} word={word} />
                    <span><code>{oneLine(row.tool)}</code> {word}{row.rule && <> by <code>{oneLine(row.rule)}</code></>}</span>
                    <time class="w num" dateTime={at} title={fullTime(at)}>{timeOf(at)}</time>
                    <span class="d">
                      {dayOf(at)} · {row.run && it ? <a href={to(it.id, "runs", row.run)}>{row.run.slice(0, 14)}</a> : "no run"}
                      {row.argumentsDigest && <> · arguments <code>{row.argumentsDigest.slice(0, 10)}</code></>} · entry {row.seq.toLocaleString()}
                    </span>
                  </li>
                );
              })}
            </ul>
          )}
          {loaded.data?.nextCursor && <button type="button" class="btn" onClick={() => setCursors([...cursors, loaded.data!.nextCursor!])}>Load more</button>}
        </div>
      </div>
    </>
  );
  return <Panes listLabel="" phone="main" main={main} />;
}

function Chain({ verdict }: { verdict: Verdict }): VNode {
  if (verdict.ok) return <Banner tone="plain">The chain is whole: {count(verdict.checked, "entry", "entries")}.</Banner>;
  const broken = verdict.broken;
  return (
    <Banner tone="bad">
      <b>{broken ? `The chain breaks at entry ${broken.event.toLocaleString()}.` : "The log does not fit its kept heads."}</b>{" "}
      {broken ? plain(broken.why) : ""} <code>mono-agent audit verify</code> says more.
    </Banner>
  );
}
