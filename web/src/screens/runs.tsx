// What ran: the list and the search of runs, one run with its timeline, each step with its record.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, path } from "../api/client";
import type { ApiError } from "../api/client";
import type { Agent, RunLine, RunPage, RunShown } from "../api/types";
import { go, route, to } from "../state/router";
import { agent as current } from "../state/store";
import { count, failureWords, fullTime, oneLine, plain, runMark, took, when } from "../text/words";
import { useLoad, useSettled } from "../ui/hooks";
import { Badge, Marked } from "../ui/icons";
import { room } from "../ui/media";
import { Back, ListButton, Panes } from "../ui/panes";
import { Bones, Copy, Empty, Failed, Search, Banner } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";
import { StepDetails, Timeline } from "./timeline";
import { rowsOf } from "../text/timeline";
import { RunsReport } from "./report";

const FILTERS: [string, string][] = [["", "All"], ["failed", "Failed"], ["cancelled", "Stopped"]];
export const STATUS_WORDS: Record<string, string> = {
  running: "Working", succeeded: "Done", failed: "Failed", cancelled: "Stopped", interrupted: "Interrupted",
};

/** The screen. */
export function Runs(): VNode {
  const it = current.value;
  const { item, query } = route.value;
  const phone = room.value === "phone";
  const report = item === "report";
  const shown = useRun(it, report ? null : item);
  const step = query.get("step");
  const rows = shown.data ? rowsOf(shown.data.timeline, shown.data.run.startedAt) : [];
  const picked = step === null ? null : (rows.find((row) => row.step === Number(step)) ?? null);
  const here = (at: number | null) => to(it?.id ?? "none", "runs", item, at === null ? undefined : { step: String(at) });
  const main = report && it ? (
    <>
      <header class="bar">
        <Back href={to(it.id, "runs")} label="All runs" />
        <ListButton label="All runs" />
        <div class="grow"><h1 class="cut">Report</h1></div>
      </header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Report"><div class="page"><RunsReport agent={it} /></div></div>
    </>
  ) : item && it ? (
    <>
      <header class="bar">
        <Back href={to(it.id, "runs")} label="All runs" />
        <ListButton label="All runs" />
        <div class="grow"><h1 class="cut">Run <span class="mono">{item.slice(0, 18)}</span></h1></div>
        <Copy text={() => item} label={phone ? "Copy id" : "Copy run id"} />
      </header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Run">
        <div class="page">
          {shown.error && (shown.error.status === 404 ? <Empty icon="runs" title="This run is not in the log"><p>Retention may have removed it, or it is another agent’s.</p></Empty> : <Failed error={shown.error} again={shown.again} what="This run can't be read." />)}
          {!shown.data && !shown.error && <Bones label="Loading the run" />}
          {shown.data && (
            <>
              <Head run={shown.data.run} shown={shown.data} agent={it} />
              <Timeline rows={rows} run={shown.data.run} here={here} picked={picked?.step ?? null} />
              {shown.more && <button type="button" class="btn" disabled={shown.loading} onClick={shown.more}>{shown.loading ? "Loading…" : "Load more of the timeline"}</button>}
            </>
          )}
        </div>
      </div>
    </>
  ) : (
    <>
      <header class="bar"><ListButton label="All runs" /><div class="grow"><h1 class="sr">Runs</h1></div></header>
      <ConnectionLine />
      <div class="middle"><Empty icon="runs" title="Choose a run"><p>Each shows what set it going, what was asked of the model, every call with its decision, and how it ended.</p></Empty></div>
    </>
  );
  return (
    <Panes
      list={<List />} listLabel="Runs" phone={item ? "main" : "list"} main={main} closeSide={() => go(here(null))}
      side={picked ? { title: picked.name, code: picked.kind === "call", body: <StepDetails row={picked} /> } : null}
    />
  );
}

type Whole = { data: RunShown | null; error: ApiError | null; loading: boolean; again: () => void; more: (() => void) | null };

/** A run with as much of its timeline as was loaded. The first pages come by themselves. */
function useRun(agent: Agent | null, id: string | null): Whole {
  const [pages, setPages] = useState(1);
  useEffect(() => setPages(1), [id]);
  const loaded = useLoad(
    agent && id ? `${agent.id} ${id} ${pages}` : null,
    async () => {
      const base = path("agents", agent!.id, "runs", id!);
      let whole = await get<RunShown>(base);
      for (let n = 1; n < pages * 12 && whole.nextCursor; n += 1) {
        const next = await get<RunShown>(base, { cursor: whole.nextCursor });
        whole = { ...whole, timeline: [...whole.timeline, ...next.timeline], nextCursor: next.nextCursor };
      }
      return whole;
    },
    true,
  );
  const fits = loaded.data?.run.runId === id ? loaded.data : null;
  return { ...loaded, data: fits, more: fits?.nextCursor ? () => setPages(pages + 1) : null };
}

function List(): VNode {
  const it = current.value;
  const [query, setQuery] = useState("");
  const [status, setStatus] = useState("");
  const [cursors, setCursors] = useState<string[]>([]);
  const words = useSettled(query.trim(), 200);
  const searching = [...words].length >= 2;
  const phone = room.value === "phone";
  const base = it ? path("agents", it.id, "runs") : null;
  const key = base ? `${base} ${searching ? words : ""} ${status}` : null;
  useEffect(() => setCursors([]), [key]);
  const loaded = useLoad(key ? `${key} ${cursors.length}` : null, async () => {
    const pages = await Promise.all([null, ...cursors].map((cursor) =>
      searching ? get<RunPage>(`${base}/search`, { q: words, cursor, limit: 50 }) : get<RunPage>(base!, { status, cursor, limit: 50 }),
    ));
    return { ...pages.at(-1)!, matchedAllTerms: pages[0]!.matchedAllTerms, runs: pages.flatMap((page) => page.runs) };
  });
  const all = loaded.data?.runs ?? [];
  const runs = searching && status ? all.filter((run) => run.status === status) : all;
  const partial = searching && loaded.data?.matchedAllTerms === false && runs.length > 0;
  return (
    <>
      <div class="list-head">
        <div class="agent">
          {phone && <h1 class="phone-h">Runs</h1>}
          <AgentPicker />
          {it && <a class="btn quiet" href={to(it.id, "runs", "report")} aria-current={route.value.item === "report" ? "true" : undefined}>Report</a>}
        </div>
        <Search value={query} set={setQuery} label="Search runs" hint={!phone} />
        <div class="chips slide" role="group" aria-label="Show">
          {FILTERS.map(([name, label]) => <button key={name} type="button" class="chip" aria-pressed={status === name} onClick={() => setStatus(name)}>{label}</button>)}
        </div>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="List of runs">
        {loaded.error && <div class="pad"><Failed error={loaded.error} again={loaded.again} what="The runs can't be read." /></div>}
        {!loaded.data && !loaded.error && <div class="pad"><Bones label="Loading runs" /></div>}
        {loaded.data && runs.length > 0 && <h2 class="group" aria-live="polite">{count(runs.length, "run")}{loaded.data.nextCursor ? " and more" : ""} <span>{searching ? "Best match first" : "Newest first"}</span></h2>}
        {partial && <p class="tell">No run has all of these words. These have some of them.</p>}
        <ul>{runs.map((run) => <RunRow key={run.runId} run={run} agent={it!} words={searching ? words : ""} />)}</ul>
        {loaded.data && runs.length === 0 && (
          <div class="pad">{searching || status ? <Empty icon="search" title={searching ? "No run has any of these words" : "No run ended like this"} /> : <Empty icon="runs" title="Nothing has run yet" />}</div>
        )}
        {loaded.data?.nextCursor && <button type="button" class="btn quiet shelf" onClick={() => setCursors([...cursors, loaded.data!.nextCursor!])}>Load more</button>}
      </div>
    </>
  );
}

/** Text with the searched words marked. */
export function marked(text: string, words: string): (string | VNode)[] {
  const parts = words.split(/\s+/).filter((word) => word.length > 1).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (parts.length === 0) return [text];
  return text.split(new RegExp(`(${parts.join("|")})`, "gi")).map((part, at) => (at % 2 === 1 ? <mark>{part}</mark> : part));
}

function RunRow({ run, agent, words }: { run: RunLine; agent: Agent; words: string }): VNode {
  const here = route.value.item === run.runId;
  const ended = run.status === "failed" && run.failureKind ? run.failureKind.replaceAll("_", " ") : run.status === "succeeded" ? "" : STATUS_WORDS[run.status];
  const meta = [ended, took(run.durationMs), run.source === "web" ? "" : oneLine(run.source)].filter(Boolean).join(" · ");
  return (
    <li>
      <a class="run" href={to(agent.id, "runs", run.runId)} aria-current={here ? "true" : undefined} data-row>
        <Marked mark={runMark(run.status)} word={STATUS_WORDS[run.status] ?? run.status} />
        <span class="t"><bdi>{marked(oneLine(run.userInput) || "No words", words)}</bdi></span>
        <span class="w">{when(run.startedAt)}</span>
        <span class="p cut"><bdi>{run.snippet ? marked(oneLine(run.snippet), words) : meta}</bdi></span>
      </a>
    </li>
  );
}

function Head({ run, shown, agent }: { run: RunLine; shown: RunShown; agent: Agent }): VNode {
  const overview = shown.overview;
  const thread = run.conversation?.startsWith("web:") ? run.conversation.slice(4) : null;
  const counts = overview?.tools ?? [];
  const calls = counts.reduce((sum, tool) => sum + tool.calls, 0);
  const errors = counts.reduce((sum, tool) => sum + tool.errors, 0);
  const broken = run.status === "interrupted" || run.status === "cancelled";
  return (
    <div class="runhead">
      <h2 dir="auto">{oneLine(run.userInput) || "A run without words"}</h2>
      <dl class="facts">
        <div><dt>Ended</dt><dd>{STATUS_WORDS[run.status] ?? oneLine(run.status)}</dd></div>
        <div><dt>Started</dt><dd><time dateTime={run.startedAt} title={fullTime(run.startedAt)}>{fullTime(run.startedAt)}</time></dd></div>
        {run.durationMs !== null && <div><dt>Took</dt><dd class="num">{took(run.durationMs)}</dd></div>}
        <div><dt>Model</dt><dd><bdi>{oneLine(run.model)}</bdi></dd></div>
        <div><dt>From</dt><dd>{oneLine(run.source)}{run.sourceDetail ? ` · ${oneLine(run.sourceDetail)}` : ""}</dd></div>
        {thread && <div><dt>Conversation</dt><dd><a href={to(agent.id, "chats", thread)}>Open</a></dd></div>}
      </dl>
      {calls > 0 && (
        <p class="chips">
          {calls - errors > 0 && <Badge mark="done" word={`${calls - errors} done`} />}
          {errors > 0 && <Badge mark="failed" word={`${errors} not done`} />}
        </p>
      )}
      {broken && <Banner tone="doubt">{run.status === "interrupted" ? "The host stopped during this run." : "This run was stopped."} Its record is incomplete, and nothing of it is resumed.</Banner>}
      {run.status === "failed" && <Banner tone="bad"><b>{failureWords(run.failureKind ?? undefined)}.</b> {plain(overview?.error ?? "")}</Banner>}
      {overview?.output && (
        <div class="quote"><h3>Final answer <span>redacted, as stored</span></h3><p class="kept" dir="auto">{plain(overview.output)}</p></div>
      )}
    </div>
  );
}
