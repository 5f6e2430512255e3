// What the agent remembers: by day, or found over all days; adding a fact, and forgetting one in two steps.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError, change, get, path } from "../api/client";
import type { Agent, Fact, MemoryDay, MemoryDays, MemoryHits, MemoryStats } from "../api/types";
import { route, to } from "../state/router";
import { say } from "../state/say";
import { agent as current } from "../state/store";
import { count, dayHeading, oneLine, plain, timeOf } from "../text/words";
import { useLoad, useSettled } from "../ui/hooks";
import { MarkIcon, Marked } from "../ui/icons";
import { room } from "../ui/media";
import { Back, ListButton, Panes } from "../ui/panes";
import { Banner, Bones, Empty, Failed, Search } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";

const localDay = () => {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
};

/** The screen. */
export function Memory(): VNode {
  const it = current.value;
  const base = it ? `${path("agents", it.id)}/memory` : null;
  const { item } = route.value;
  const [query, setQuery] = useState("");
  const stats = useLoad(base, () => get<MemoryStats>(base!), false);
  const days = useLoad(base, () => get<MemoryDays>(`${base}/days`), false);
  const known = days.data?.days ?? [];
  const date = item ?? known[0]?.date ?? localDay();
  const searching = [...query.trim()].length >= 2;
  const phone = room.value === "phone";
  const list = (
    <>
      <div class="list-head">
        <div class="agent">{phone && <h1 class="phone-h">Memory</h1>}<AgentPicker /></div>
        <Search value={query} set={setQuery} label="Search all days" hint={!phone} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Days">
        <h2 class="group">Days <span>{known.length > 0 ? known.length : ""}</span></h2>
        <div class="facet">
          {known.map((day) => (
            <a key={day.date} href={to(it!.id, "memory", day.date)} aria-current={!searching && day.date === date ? "true" : undefined} data-row onClick={() => setQuery("")}>
              <span class="dot" aria-hidden="true" />{dayHeading(`${day.date}T12:00:00`)}<span class="n num">{day.facts}</span>
            </a>
          ))}
        </div>
        {days.data && known.length === 0 && <p class="tell">No day has facts yet.</p>}
        {!days.data && !days.error && <div class="pad"><Bones label="Loading days" rows={4} /></div>}
        {stats.data && <Stats stats={stats.data} />}
      </div>
    </>
  );
  const none = stats.error?.status === 501;
  const main = (
    <>
      <header class="bar">
        <Back href={to(it?.id ?? "none", "memory")} label="All days" />
        <ListButton label="Days" />
        <div class="grow"><h1 class="cut">{phone && !searching ? dayHeading(`${date}T12:00:00`) : searching ? "Found" : dayHeading(`${date}T12:00:00`)}</h1></div>
      </header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Facts">
        <div class="page narrow">
          {none && <Empty icon="memory" title="This agent has no memory"><p>Set <code>memory.mode</code> in its config, and it remembers from the next start on.</p></Empty>}
          {stats.error && !none && <Failed error={stats.error} again={stats.again} what="Memory can't be read." />}
          {it && base && !none && !stats.error && (searching ? <Hits key="hits" agent={it} query={query.trim()} /> : <Day key={date} agent={it} date={date} near={known.map((day) => day.date)} changed={days.again} />)}
        </div>
      </div>
    </>
  );
  return <Panes list={list} listLabel="Memory" phone={item || searching ? "main" : "list"} main={main} />;
}

function Stats({ stats }: { stats: MemoryStats }): VNode {
  const index = stats.index;
  const gone = (index.invalidated ?? 0) + (index.dropped ?? 0);
  return (
    <>
      <h2 class="group">In all</h2>
      <div class="sec">
        <dl class="dl">
          <dt>Recalled</dt><dd class="num">{count(index.live ?? 0, "fact")}</dd>
          {gone > 0 && <><dt>Left out</dt><dd class="num">{index.invalidated ?? 0} replaced, {index.dropped ?? 0} forgotten</dd></>}
          <dt>Mode</dt><dd>{oneLine(stats.mode)}</dd>
          <dt>Meaning</dt><dd>{stats.embeddings?.model ? oneLine(stats.embeddings.model) : "by words alone"}</dd>
        </dl>
        {!stats.upToDate && <p class="why">The newest notes are not in the index yet.</p>}
      </div>
    </>
  );
}

function Day({ agent, date, near, changed }: { agent: Agent; date: string; near: string[]; changed: () => void }): VNode {
  const loaded = useLoad(`${agent.id} ${date}`, () => get<MemoryDay>(path("agents", agent.id, "memory", "days", date)), false);
  const facts = loaded.data?.facts ?? [];
  const again = () => {
    loaded.again();
    changed();
  };
  const none = loaded.error?.status === 404 || loaded.error?.code === "no_notes";
  const empty = (loaded.data && facts.length === 0) || none;
  const others = near.filter((day) => day !== date).slice(0, 3);
  return (
    <>
      <AddFact agent={agent} added={again} />
      {loaded.error && !none && <Failed error={loaded.error} again={loaded.again} what="Memory can't be read." />}
      {loaded.loading && !loaded.data && <Bones label="Loading facts" rows={4} />}
      {empty && (
        <Empty icon="memory" title="Nothing remembered on this day">
          {others.length > 0 && <p>Days near it: {others.map((day, at) => <>{at > 0 && ", "}<a href={to(agent.id, "memory", day)}>{dayHeading(`${day}T12:00:00`)}</a></>)}</p>}
        </Empty>
      )}
      {facts.length > 0 && <Facts facts={facts} agent={agent} source={loaded.data?.source} again={again} />}
      {(loaded.data?.leftOut ?? 0) > 0 && <p class="tally">{count(loaded.data!.leftOut!, "more fact")} of this day are not shown.</p>}
    </>
  );
}

function Hits({ agent, query }: { agent: Agent; query: string }): VNode {
  const settled = useSettled(query, 250);
  const loaded = useLoad(`${agent.id} ${settled}`, () => get<MemoryHits>(`${path("agents", agent.id)}/memory/search`, { q: settled, limit: 50 }));
  if (loaded.error) return <Failed error={loaded.error} again={loaded.again} what="The search failed." />;
  if (!loaded.data) return <Bones label="Searching" rows={4} />;
  return (
    <>
      {loaded.data.degraded && <Banner tone="warn">Text only: {plain(loaded.data.degraded)}</Banner>}
      {loaded.data.hits.length === 0 ? <Empty icon="search" title="No fact fits"><p>Nothing that is remembered has these words.</p></Empty> : <Facts facts={loaded.data.hits} agent={agent} days again={loaded.again} />}
    </>
  );
}

/** How a fact stands. */
export function factState(fact: Fact): "live" | "replaced" | "forgotten" {
  if (/superseded|invalid|replaced|done/.test(fact.status)) return "replaced";
  return /forgotten|dropped|cancel/.test(fact.status) ? "forgotten" : "live";
}

function Facts({ facts, agent, source, days = false, again }: { facts: Fact[]; agent: Agent; source?: string; days?: boolean; again: () => void }): VNode {
  const [asked, setAsked] = useState<Fact | null>(null);
  return (
    <ul class="rows">
      {facts.map((fact) => {
        const state = factState(fact);
        const day = fact.createdAt.slice(0, 10);
        const where = [days ? dayHeading(fact.createdAt) : timeOf(fact.createdAt), fact.kind ? oneLine(fact.kind) : "", oneLine(fact.source ?? source ?? "")].filter(Boolean).join(" · ");
        return (
          <li key={fact.id}>
            <Marked mark={state === "live" ? "model" : "later"} word={state === "live" ? "Remembered" : state} />
            <span class={state === "live" ? "fact" : "fact gone"} dir="auto">{state === "forgotten" ? "Forgotten" : plain(fact.text)}</span>
            {state === "live" ? (
              <button type="button" class="btn quiet tiny-b" aria-label={`Forget: ${oneLine(fact.text)}`} onClick={() => setAsked(fact)}>Forget</button>
            ) : (
              <span class="w">{state === "replaced" ? "Replaced" : "Forgotten"}</span>
            )}
            <span class="d">{days ? <a href={to(agent.id, "memory", day)}>{where}</a> : where}</span>
            {asked?.id === fact.id && <div class="whole"><Forget fact={fact} agent={agent} done={(went) => { setAsked(null); if (went) again(); }} /></div>}
          </li>
        );
      })}
    </ul>
  );
}

type Plan = { plan: unknown; facts: Fact[] };

/** Two steps: what would go, then a button that says so. */
function Forget({ fact, agent, done }: { fact: Fact; agent: Agent; done: (went: boolean) => void }): VNode {
  const base = `${path("agents", agent.id)}/memory/forget`;
  const plan = useLoad(fact.id, () => change<Plan>("POST", base, { ids: [fact.id], reason: "asked in the console" }));
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiError | null>(null);
  const apply = async () => {
    setBusy(true);
    try {
      await change("POST", `${base}/apply`, { plan: plan.data!.plan });
      say("Forgotten");
      done(true);
    } catch (error) {
      setFault(error as ApiError);
      setBusy(false);
    }
  };
  const id = `forget-${fact.id}`;
  const also = (plan.data?.facts.length ?? 1) - 1;
  return (
    <section class="ask" aria-labelledby={id}>
      <div class="ask-head"><MarkIcon mark="waiting" /><h2 class="h-ask" id={id}>Forget this fact?</h2></div>
      <div class="ask-body">
        <p dir="auto">“{plain(fact.text)}”</p>
        <p class="why">It leaves recall at once and can’t be stored again. A backup is kept.{also > 0 && ` ${count(also, "more fact")} that ${also === 1 ? "says" : "say"} the same ${also === 1 ? "goes" : "go"} with it.`}</p>
        {plan.error && <p class="error" role="alert"><MarkIcon mark="failed" />{plain(plan.error.message)}</p>}
        {fault && <p class="error" role="alert"><MarkIcon mark="failed" />{fault.code === "agent_running" ? "Forgetting needs the agent stopped: mono-agent stop, then forget it here or with mono-agent memory forget." : plain(fault.message)}</p>}
        <div class="acts">
          <button type="button" class="btn danger" disabled={busy || !plan.data} onClick={() => void apply()}>Forget</button>
          <button type="button" class="btn" onClick={() => done(false)} ref={(it) => it?.focus()}>Keep</button>
        </div>
      </div>
    </section>
  );
}

function AddFact({ agent, added }: { agent: Agent; added: () => void }): VNode {
  const [text, setText] = useState("");
  const [told, setTold] = useState<{ tone: "plain" | "bad"; line: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const [unsupported, setUnsupported] = useState<string | null>(null);
  if (unsupported) return <Banner tone="plain" mark="later" live>{unsupported}</Banner>;
  const add = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const stored = await change<{ text: string }>("POST", `${path("agents", agent.id)}/memory/facts`, { text: text.trim() });
      setTold({ tone: "plain", line: `Saved: ${plain(stored.text)}` });
      setText("");
      added();
    } catch (error) {
      const failed = error as ApiError;
      if (failed.status === 501) return setUnsupported(plain(failed.message));
      if (failed.code === "secret_refused") setText("");
      setTold({ tone: "bad", line: plain(failed.message) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="add" onSubmit={(event) => void add(event)}>
      <label class="sr" for="fact">Add a fact</label>
      <input id="fact" class="text" placeholder="Add a fact, in one sentence" value={text} maxLength={2000} dir="auto" onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" class="btn" disabled={busy || !text.trim()}>Add</button>
      {told && <Banner tone={told.tone} live>{told.line}</Banner>}
    </form>
  );
}
