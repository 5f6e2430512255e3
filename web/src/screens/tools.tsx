// Every tool of the next turn, offered or withheld, with who decided: the answer of `mono-agent explain`.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { get, path } from "../api/client";
import type { Agent, ExplainRow, Explanation, ToolSpecs } from "../api/types";
import { go, route, to } from "../state/router";
import { agent as current } from "../state/store";
import { count, oneLine, plain, toolName } from "../text/words";
import type { Mark } from "../text/words";
import { useLoad } from "../ui/hooks";
import { Badge, Icon, MarkIcon } from "../ui/icons";
import { room } from "../ui/media";
import { ListButton, Panes } from "../ui/panes";
import { Block, Bones, Copy, Empty, Failed, pretty, Search } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";

/** Places that a turn can come from. */
const PLACES: [string, string][] = [["web", "Web console"], ["terminal", "Terminal"]];

type Filter = "all" | "offered" | "asks" | "withheld";
const FILTERS: [Filter, string][] = [["all", "All"], ["offered", "Offered"], ["asks", "Asks first"], ["withheld", "Withheld"]];

/** How a tool stands. */
export function stateOf(row: ExplainRow): { filter: Filter; mark: Mark; word: string } {
  if (row.offered) return row.asks ? { filter: "asks", mark: "waiting", word: "Asks first" } : { filter: "offered", mark: "done", word: "Offered" };
  return row.by === "source" ? { filter: "withheld", mark: "unknown", word: "Not ready" } : { filter: "withheld", mark: "refused", word: "Withheld" };
}

/** A source's name for people. */
export function sourceName(source: string): string {
  const server = /^mcp[:_]+(.+)$/.exec(source);
  if (server) return server[1]!;
  return source === "builtin" ? "Built-in" : source.charAt(0).toUpperCase() + source.slice(1);
}

const DECIDERS: Record<string, string> = {
  policy: "tools lists", source: "its source", channel: "this place", sandbox: "sandbox", approval: "tools.approvals",
  capability: "what it needs", limit: "bounds", dialect: "config dialect",
};

/** The screen. */
export function Tools(): VNode {
  const it = current.value;
  const { query, item } = route.value;
  const place = query.get("place") ?? "web";
  const [source, setSource] = useState<string | null>(null);
  const [filter, setFilter] = useState<Filter>("all");
  const [words, setWords] = useState("");
  const loaded = useLoad(it ? `${it.id} ${place}` : null, () => get<Explanation>(`${path("agents", it!.id)}/explain`, { channel: place }));
  const rows = loaded.data?.tools ?? [];
  const picked = rows.find((row) => row.name === item) ?? null;
  const here = (name: string | null) => to(it?.id ?? "none", "tools", name, place === "web" ? undefined : { place });
  const sources = [...new Set(rows.map((row) => row.source))];
  const choice = (
    <label class="select">
      Place
      <select value={place} onChange={(event) => go(to(it!.id, "tools", item, event.currentTarget.value === "web" ? undefined : { place: event.currentTarget.value }), true)}>
        {PLACES.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
      </select>
      <Icon name="down" small />
    </label>
  );
  const facet = (name: string | null, label: string, n: number) => (
    <button type="button" aria-pressed={source === name} onClick={() => setSource(name)}>{label}<span class="n num">{n}</span></button>
  );
  const list = (
    <>
      <div class="list-head"><div class="agent"><AgentPicker /></div>{choice}</div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Sources">
        <h2 class="group">Source</h2>
        <div class="facet" role="group" aria-label="Source">
          {facet(null, "All sources", rows.length)}
          {sources.map((name) => facet(name, sourceName(name), rows.filter((row) => row.source === name).length))}
        </div>
        <p class="tell">Changes apply to the next turn. A running turn keeps the tools it started with.</p>
      </div>
    </>
  );
  const main = (
    <>
      <header class="bar">
        {picked ? null : <ListButton label="Sources" />}
        <div class="grow"><h1 class="phone-pad">Tools</h1></div>
        {loaded.data?.text && <span class="head-acts"><Copy text={() => loaded.data!.text!} label="Copy as text" /></span>}
      </header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Tools">
        <div class="page">
          {room.value === "phone" && <div class="pair"><div class="stack">Agent<AgentPicker /></div>{choice}</div>}
          {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The tools can't be read." />}
          {!loaded.data && !loaded.error && <Bones label="Loading tools" />}
          {loaded.data && it && (
            <Table rows={source === null ? rows : rows.filter((row) => row.source === source)} all={rows} {...{ filter, setFilter, words, setWords, picked, here, agent: it }} />
          )}
        </div>
      </div>
    </>
  );
  return (
    <Panes
      list={list} listLabel="Explain for" phone="main" main={main} closeSide={() => go(here(null))}
      side={picked && it ? { title: toolName(picked.name).name, code: true, body: <ToolDetails row={picked} agent={it} place={place} /> } : null}
    />
  );
}

type TableProps = {
  rows: ExplainRow[]; all: ExplainRow[]; filter: Filter; setFilter: (to: Filter) => void; words: string; setWords: (to: string) => void;
  picked: ExplainRow | null; here: (name: string | null) => string; agent: Agent;
};

function Table({ rows, all, filter, setFilter, words, setWords, picked, here, agent }: TableProps): VNode {
  const n = (of: Filter) => (of === "all" ? rows.length : rows.filter((row) => stateOf(row).filter === of).length);
  const total = (of: Filter) => all.filter((row) => stateOf(row).filter === of).length;
  const low = words.trim().toLowerCase();
  const shown = rows.filter((row) => (filter === "all" || stateOf(row).filter === filter) && (!low || `${row.name} ${row.why}`.toLowerCase().includes(low)));
  const groups = [...new Set(shown.map((row) => row.source))];
  const offered = total("offered") + total("asks");
  if (all.length === 0) return <Empty icon="tools" title="No tools. This agent can only talk."><p>Its lists allow none, and no server is declared.</p></Empty>;
  return (
    <>
      <p class="tally">
        {plain(agent.name)}’s next turn here gets <b>{count(offered, "tool")}</b>.{total("asks") > 0 && ` ${total("asks")} of them ${total("asks") === 1 ? "asks" : "ask"} first.`}{" "}
        {total("withheld") > 0 && <><b>{total("withheld")}</b> {total("withheld") === 1 ? "is" : "are"} withheld.</>}
      </p>
      <div class="page-top">
        <Search value={words} set={setWords} label="Find a tool" />
        <div class="chips slide" role="group" aria-label="Show">
          {FILTERS.map(([name, label]) => (
            <button key={name} type="button" class="chip" aria-pressed={filter === name} onClick={() => setFilter(name)}>{label} {n(name)}</button>
          ))}
        </div>
      </div>
      <table class="grid tools-grid" role="table" aria-label="Tools for the next turn">
        <thead role="rowgroup">
          <tr role="row">{["Tool", "State", "Why", "Decided by"].map((head) => <th key={head} scope="col" role="columnheader">{head}</th>)}</tr>
        </thead>
        <tbody role="rowgroup">
          {groups.map((group) => {
            const mine = shown.filter((row) => row.source === group);
            const whole = all.filter((row) => row.source === group);
            return (
              <>
                <tr class="grp" role="row" key={group}>
                  <th colSpan={4} scope="rowgroup" role="rowheader"><bdi>{oneLine(sourceName(group))}</bdi><span class="num">{whole.filter((row) => row.offered).length} of {whole.length}</span></th>
                </tr>
                {mine.map((row) => {
                  const state = stateOf(row);
                  return (
                    <tr class={row.offered ? "row" : "row off"} role="row" key={row.name}>
                      <td class="tool" role="rowheader">
                        <a href={here(row.name)} aria-current={picked?.name === row.name ? "true" : undefined} data-row><span><bdi>{oneLine(toolName(row.name).name)}</bdi></span></a>
                      </td>
                      <td role="cell"><span class={`st ${state.mark}`}><MarkIcon mark={state.mark} />{state.word}</span></td>
                      <td class="why-cell" role="cell"><bdi>{oneLine(row.why)}</bdi></td>
                      <td class="rule-cell cut" role="cell">{row.by ? DECIDERS[row.by] ?? oneLine(row.by) : row.asks ? "tools.approvals" : "tools lists"}</td>
                    </tr>
                  );
                })}
              </>
            );
          })}
        </tbody>
      </table>
      {shown.length === 0 && <p class="tally" role="status">No tool fits. <button type="button" class="link" onClick={() => { setWords(""); setFilter("all"); }}>Show all</button></p>}
    </>
  );
}

type Step = { title: string; by: string[]; passed: (row: ExplainRow) => string };

/** What the host asks of a tool, in its order. */
const STEPS: Step[] = [
  { title: "Its source offers it", by: ["source", "capability", "channel", "sandbox", "dialect"], passed: (row) => `${sourceName(row.source)} has it ready for this place` },
  { title: "Names and bounds", by: ["limit"], passed: () => "No other tool has its name" },
  { title: "Allow and deny lists", by: ["policy"], passed: (row) => plain(row.why.split("; ")[0] ?? row.why) },
  { title: "Approval rules", by: ["approval"], passed: (row) => (row.asks ? plain(row.why.split("; ").slice(1).join("; ") || "A person is asked first") : "No rule asks or denies") },
];

/** The questions in order, where it stopped, and what was not reached. */
export function ladderOf(row: ExplainRow): { title: string; text: string; state: "passed" | "asks" | "stopped" | "later" }[] {
  const stop = row.offered ? -1 : Math.max(0, STEPS.findIndex((step) => step.by.includes(row.by ?? "")));
  return STEPS.map((step, at) => {
    if (at === stop) return { title: step.title, text: plain(row.why), state: "stopped" };
    if (stop >= 0 && at > stop) return { title: step.title, text: "Not reached", state: "later" };
    const asks = at === STEPS.length - 1 && row.asks;
    const text = stop >= 0 && step.by.includes("policy") ? "Allowed" : step.passed(row);
    return { title: step.title, text, state: asks ? "asks" : "passed" };
  });
}

const HINTS: Record<string, string> = {
  policy: "Change tools.allowedTools or tools.disallowedTools in the agent's config. A deny wins over any allow.",
  source: "Bring its server up: the Servers screen says why it is down and can try it.",
  channel: "Another place can show it. Choose one at the top of the list.",
  sandbox: "The sandbox block of the agent's config decides what a tool can reach.",
  approval: "A rule in tools.approvals denies it whatever its arguments. Change the rule.",
  capability: "Configure what it needs; the reason above names it.",
  limit: "Rename one of the two, or leave the other server out.",
  dialect: "It belongs to the other config dialect.",
};

const LADDER_MARKS: Record<string, Mark> = { passed: "done", asks: "waiting", stopped: "refused", later: "later" };

function ToolDetails({ row, agent, place }: { row: ExplainRow; agent: Agent; place: string }): VNode {
  const state = stateOf(row);
  const specs = useLoad(row.offered ? `${agent.id} ${place} specs` : null, () => get<ToolSpecs>(`${path("agents", agent.id)}/tools`, { channel: place }));
  const spec = specs.data?.tools.find((tool) => tool.name === row.name);
  return (
    <>
      <section class="sec">
        <p><Badge mark={state.mark} word={state.word} /></p>
        {spec?.description && <p class="desc" dir="auto">{plain(spec.description)}</p>}
        <p class="why">Full name <code>{oneLine(row.name)}</code></p>
      </section>
      <section class="sec">
        <h3>How it was decided</h3>
        <ol class="ladder">
          {ladderOf(row).map((step) => (
            <li key={step.title} class={step.state === "stopped" ? "stop" : step.state === "later" ? "later" : "done"}>
              <span class={LADDER_MARKS[step.state]}><MarkIcon mark={LADDER_MARKS[step.state]!} /></span>
              <div><b>{step.title}</b><p><bdi>{step.text}</bdi></p></div>
            </li>
          ))}
        </ol>
      </section>
      {!row.offered && HINTS[row.by ?? ""] && <section class="sec"><h3>To offer it</h3><p class="hint">{HINTS[row.by ?? ""]} The next turn gets it; running turns don’t change.</p></section>}
      {spec && <section class="sec"><Block title="Input" text={pretty(spec.inputSchema)} label="Input schema" /></section>}
    </>
  );
}
