// How runs went over a time, as tables: counts, rates, durations, what it cost, in which ways it failed.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { get, path } from "../api/client";
import type { Agent } from "../api/types";
import { count, failureWords, oneLine, took } from "../text/words";
import { useLoad } from "../ui/hooks";
import { Bones, Empty, Failed } from "../ui/pieces";

type Figures = {
  runs: number; status: Record<string, number>; failureKinds: Record<string, number>; successRate: number | null;
  durationMs: { p50: number; p90: number; p99: number; max: number } | null; inputTokens: number; outputTokens: number;
  cacheReadTokens: number; costUsd: number | null; unpricedRuns: number;
};
type Report = { total: Figures; groups?: Record<string, Figures>; cut: boolean };

const DAY_MS = 24 * 3600 * 1000;
const SPANS: [string, number | null][] = [["7 days", 7], ["30 days", 30], ["All", null]];
const GROUPS: [string, string][] = [["model", "Model"], ["channel", "Place"], ["failureKind", "Failure"]];
const rate = (it: Figures) => (it.successRate === null ? "" : `${(it.successRate * 100).toFixed(it.successRate === 1 ? 0 : 1)} %`);
/** What runs cost; never a number where some of them have no price. */
export const cost = (it: Pick<Figures, "costUsd" | "unpricedRuns">) =>
  it.costUsd === null ? "Not priced" : `$${it.costUsd.toFixed(2)}${it.unpricedRuns > 0 ? ` and ${count(it.unpricedRuns, "run")} not priced` : ""}`;

/** The report of one agent. */
export function RunsReport({ agent }: { agent: Agent }): VNode {
  const [days, setDays] = useState<number | null>(7);
  const [by, setBy] = useState("model");
  const since = days === null ? null : new Date(Math.floor(Date.now() / DAY_MS - days + 1) * DAY_MS).toISOString();
  const loaded = useLoad(`${agent.id} ${days} ${by}`, () => get<Report>(`${path("agents", agent.id)}/report`, { since, by }));
  const total = loaded.data?.total;
  const kinds = Object.entries(total?.failureKinds ?? {}).sort(([, a], [, b]) => b - a);
  return (
    <>
      <div class="page-top">
        <div class="chips" role="group" aria-label="Over">
          {SPANS.map(([label, n]) => <button key={label} type="button" class="chip" aria-pressed={days === n} onClick={() => setDays(n)}>{label}</button>)}
        </div>
      </div>
      {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The report can't be made." />}
      {!loaded.data && !loaded.error && <Bones label="Loading the report" />}
      {total && total.runs === 0 && <Empty icon="runs" title="Nothing ran in this time" />}
      {total && total.runs > 0 && (
        <>
          <dl class="figures">
            <div><dt>Runs</dt><dd class="num">{total.runs.toLocaleString()}</dd></div>
            <div><dt>Done</dt><dd class="num">{rate(total)}</dd></div>
            {total.durationMs && <div><dt>Half took up to</dt><dd class="num">{took(total.durationMs.p50)}</dd></div>}
            {total.durationMs && <div><dt>9 of 10 up to</dt><dd class="num">{took(total.durationMs.p90)}</dd></div>}
            {total.durationMs && <div><dt>99 of 100 up to</dt><dd class="num">{took(total.durationMs.p99)}</dd></div>}
            <div><dt>Tokens in, out</dt><dd class="num">{total.inputTokens.toLocaleString()}, {total.outputTokens.toLocaleString()}</dd></div>
            <div><dt>Cost</dt><dd class="num">{cost(total)}</dd></div>
          </dl>
          {loaded.data?.cut && <p class="tally">There are more runs than one report takes; these are the newest.</p>}
          {kinds.length > 0 && <Table label="In which ways it failed" heads={["Kind", "Runs"]} rows={kinds.map(([kind, n]) => [failureWords(kind), n.toLocaleString()])} />}
          <div class="page-top">
            <div class="chips" role="group" aria-label="By">
              {GROUPS.map(([name, label]) => <button key={name} type="button" class="chip" aria-pressed={by === name} onClick={() => setBy(name)}>{label}</button>)}
            </div>
          </div>
          <Table
            label={`By ${by}`} heads={["Group", "Runs", "Done", "Half up to", "Cost"]}
            rows={Object.entries(loaded.data?.groups ?? {}).map(([name, it]) => [oneLine(name) || "none", it.runs.toLocaleString(), rate(it), took(it.durationMs?.p50), cost(it)])}
          />
        </>
      )}
    </>
  );
}

function Table({ label, heads, rows }: { label: string; heads: string[]; rows: string[][] }): VNode {
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label={label}>
      <table class="prose-table figures-table">
        <caption class="sr">{label}</caption>
        <thead><tr>{heads.map((head, at) => <th key={head} scope="col" class={at > 0 ? "r" : undefined}>{head}</th>)}</tr></thead>
        <tbody class="num">
          {rows.map(([name, ...cells]) => <tr key={name}><th scope="row"><bdi>{name}</bdi></th>{cells.map((cell) => <td class="r">{cell}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}
