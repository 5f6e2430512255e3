// The conversations: at work, pinned, by day; search over titles and messages; the shelf of archived ones.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import { connection } from "../api/feed";
import type { Found, Hit, Thread } from "../api/types";
import { seenAt } from "../state/device";
import { route, to } from "../state/router";
import { active, agent, agents, asks, loadShelf, shelfKey, shelves, threads } from "../state/store";
import { clockOf, count, daysAgo, oneLine, previewOf, when } from "../text/words";
import { Badge, Icon, Marked } from "../ui/icons";
import { useLoad, useNow, useSettled } from "../ui/hooks";
import { room } from "../ui/media";
import { Bones, Empty, Failed, Scroll, Search } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";
import { ThreadMenu } from "./thread-menu";

const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });

function groupOf(row: Thread): string {
  const at = new Date(row.updatedAt);
  const ago = daysAgo(at);
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  return ago < 8 ? "Last week" : MONTH.format(at);
}

/** Rows under their headings, newest first. */
export function grouped(rows: Thread[]): [string, Thread[]][] {
  const sorted = rows.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
  const groups = new Map<string, Thread[]>();
  const add = (name: string, row: Thread) => groups.set(name, [...(groups.get(name) ?? []), row]);
  for (const row of sorted) if (row.pinned) add("Pinned", row);
  for (const row of sorted) if (!row.pinned) add(groupOf(row), row);
  return [...groups];
}

/** The pane with everything that one can go on with. */
export function ConversationList(): VNode {
  const [query, setQuery] = useState("");
  const [archived, setArchived] = useState(false);
  const it = agent.value;
  const phone = room.value === "phone";
  useEffect(() => {
    if (it) void loadShelf(it.id, archived);
  }, [it?.id, archived]);
  const searching = [...query.trim()].length >= 2;
  return (
    <>
      <div class="list-head">
        <div class="agent">
          {phone && <h1 class="phone-h">Chats</h1>}
          <AgentPicker />
          {it && (
            <a class="btn icon quiet" href={to(it.id, "chats", "new")} aria-label="New conversation"><Icon name="pen" /></a>
          )}
        </div>
        <Search value={query} set={setQuery} label="Search" hint={!phone} />
      </div>
      {phone && <ConnectionLine />}
      <Scroll label={archived ? "List of archived conversations" : "List of conversations"}>
        {searching ? <Results query={query.trim()} /> : <Rows archived={archived} />}
        {!searching && it && (
          <button type="button" class="btn quiet shelf" onClick={() => setArchived(!archived)}>
            {archived ? <><Icon name="back" small />Back to all conversations</> : <>Archived<Icon name="chev" small /></>}
          </button>
        )}
      </Scroll>
    </>
  );
}

function Rows({ archived }: { archived: boolean }): VNode {
  const it = agent.value;
  const shelf = it ? shelves.value.get(shelfKey(it.id, archived)) : undefined;
  const more = useRef<HTMLButtonElement>(null);
  const load = (on: boolean) => it && void loadShelf(it.id, archived, on);
  useEffect(() => {
    if (!more.current) return;
    const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && load(true));
    seen.observe(more.current);
    return () => seen.disconnect();
  }, [shelf?.nextCursor]);
  if (!it) return <div class="pad"><Empty icon="chats" title="No agent is known"><p>Start one with <code>mono-agent start</code> in its folder.</p></Empty></div>;
  const working = archived ? [] : (active.value?.threads ?? []);
  const busy = new Set(working.map((row) => row.id));
  const rows = (shelf?.ids ?? []).map((id) => threads.value.get(id)).filter((row): row is Thread => Boolean(row) && !busy.has(row!.id));
  const left = (active.value?.total ?? 0) - working.length;
  return (
    <>
      {working.length > 0 && (
        <>
          <h2 class="group">
            Working now <span>{connection.value === "live" || connection.value === "waiting" ? active.value!.total : "last known"}</span>
          </h2>
          <ul>{working.map((row) => <Row key={row.id} row={row} foreign={row.agentId !== it.id} />)}</ul>
          {left > 0 && <p class="tell">and {left} more</p>}
        </>
      )}
      {shelf?.state === "failed" && (
        <div class="pad"><Failed error={shelf.error!} again={() => load(false)} what="The conversations can't be read." /></div>
      )}
      {grouped(rows).map(([name, list]) => (
        <div key={name}>
          <h2 class="group">{name}</h2>
          <ul>{list.map((row) => <Row key={row.id} row={row} />)}</ul>
        </div>
      ))}
      {shelf?.state === "loading" && rows.length === 0 && <div class="pad"><Bones label="Loading conversations" /></div>}
      {shelf?.state === "ready" && rows.length === 0 && working.length === 0 && (
        <div class="pad">
          {archived ? (
            <Empty icon="chats" title="Nothing is archived" />
          ) : (
            <Empty icon="chats" title="No conversations yet">
              <a class="btn" href={to(it.id, "chats", "new")}>New conversation</a>
            </Empty>
          )}
        </div>
      )}
      {shelf?.nextCursor && (
        <button type="button" class="btn quiet shelf" ref={more} onClick={() => load(true)}>
          {shelf.state === "loading" ? "Loading…" : "Load more"}
        </button>
      )}
    </>
  );
}

/** One conversation in the list. */
function Row({ row, foreign = false }: { row: Thread; foreign?: boolean }): VNode {
  const here = route.value.screen === "chats" && route.value.item === row.id;
  const works = row.runState?.status === "running" || row.runState?.status === "waiting";
  const now = useNow(works);
  const seen = seenAt(row.id);
  const unread = !here && seen !== null && seen < row.updatedAt && !works;
  const opener = useRef<(() => void) | null>(null);
  return (
    <li
      class="conv-row"
      onContextMenu={(event) => {
        event.preventDefault();
        opener.current?.();
      }}
    >
      <a class={`conv${unread ? " unread" : ""}`} href={to(row.agentId, "chats", row.id)} aria-current={here ? "true" : undefined} data-row>
        <span class="t cut"><bdi>{oneLine(row.title)}</bdi></span>
        <span class="w num">{works ? clockOf(now - Date.parse(row.runState!.startedAt)) : when(row.updatedAt)}</span>
        <span class="p cut"><bdi>{foreign ? `${agentName(row)} · ` : ""}{previewOf(row)}</bdi></span>
        <span class="m"><RowMark row={row} /></span>
        {unread && <span class="sr">, unread</span>}
      </a>
      <ThreadMenu row={row} opener={opener} class="btn icon quiet row-more" />
    </li>
  );
}

const agentName = (row: Thread) => agents.value.find((it) => it.id === row.agentId)?.name ?? "";

function RowMark({ row }: { row: Thread }): VNode | null {
  const status = row.runState?.status;
  if (status === "waiting" || asks.value.has(row.id)) return <Badge mark="waiting" />;
  if (status === "running") return <Marked mark="running" />;
  if (status === "interrupted") return <Badge mark="unknown" word="Interrupted" />;
  if (status === "failed") return <Badge mark="failed" />;
  if (status === "cancelled") return <span class="word done">Stopped</span>;
  if (row.origin !== "web") return <span class="tag">{row.origin.toUpperCase()}</span>;
  return row.pinned ? <span class="tag">PIN</span> : null;
}

function Results({ query }: { query: string }): VNode {
  const settled = useSettled(query, 150);
  const it = agent.value;
  const found = useLoad(it ? `${it.id} ${settled}` : null, () => get<Found>("/search", { agent: it!.id, q: settled, limit: 50 }));
  if (found.error) return <div class="pad"><Failed error={found.error} again={found.again} what="The search failed." /></div>;
  if (!found.data) return <div class="pad"><Bones label="Searching" rows={3} /></div>;
  const { threads: hits, archived, truncated } = found.data;
  if (hits.length + archived.length === 0) {
    return <div class="pad"><Empty icon="search" title="Nothing found"><p>No title and no message has “{settled}”.</p></Empty></div>;
  }
  return (
    <>
      <p class="sr" role="status">{count(hits.length + archived.length, "conversation")} found</p>
      {hits.length > 0 && <><h2 class="group">Found <span>{hits.length}</span></h2><ul>{hits.map((hit) => <HitRow key={hit.thread.id} hit={hit} />)}</ul></>}
      {archived.length > 0 && <><h2 class="group">Archived <span>{archived.length}</span></h2><ul>{archived.map((hit) => <HitRow key={hit.thread.id} hit={hit} />)}</ul></>}
      {truncated && <p class="tell">There are more. Another word narrows it.</p>}
    </>
  );
}

function HitRow({ hit }: { hit: Hit }): VNode {
  const { thread, messages } = hit;
  const here = route.value.item === thread.id;
  const first = messages[0];
  return (
    <li>
      <a class="conv" href={to(thread.agentId, "chats", thread.id, first ? { at: first.messageId } : undefined)} aria-current={here ? "true" : undefined} data-row>
        <span class="t cut"><bdi>{oneLine(thread.title)}</bdi></span>
        <span class="w num">{when(thread.updatedAt)}</span>
        <span class="p cut hit">
          <bdi>{first ? first.snippet.map((part) => (part.match ? <mark>{part.text}</mark> : part.text)) : oneLine(thread.preview)}</bdi>
        </span>
      </a>
    </li>
  );
}
