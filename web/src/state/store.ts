// The picture that this page has of the console: agents, settings, rows of conversations, open questions.

import { batch, computed, signal } from "@preact/signals";
import { ApiError, change, get } from "../api/client";
import type { ActiveThreads, Agent, Ask, Bootstrap, Limits, Settings, Thread, ThreadPage } from "../api/types";
import { chosen, choose } from "./device";
import { route } from "./router";

/** What the pages start from; null until it is there. */
export const boot = signal<Bootstrap | null>(null);
/** Why there is nothing to start from. */
export const bootError = signal<ApiError | null>(null);
export const agents = signal<Agent[]>([]);
export const settings = signal<Settings>({
  theme: "system", accent: "evergreen", density: "comfortable", sendKey: "enter", letterKeys: true,
});
export const limits = signal<Limits>({
  textChars: 200_000, followUpChars: 8_000, fileBytes: 20 << 20, turnFiles: 10, turnBytes: 64 << 20,
});
/** Every row that is known, by id. */
export const threads = signal<ReadonlyMap<string, Thread>>(new Map());
/** Conversations at work over all agents, newest first; null until known. */
export const active = signal<ActiveThreads | null>(null);
/** Open questions by conversation. */
export const asks = signal<ReadonlyMap<string, Ask[]>>(new Map());

/** The agent that rules every screen. */
export const agent = computed<Agent | null>(() => {
  const wanted = route.value.agent ?? chosen<string | null>("agent", null);
  return agents.value.find((it) => it.id === wanted) ?? agents.value[0] ?? null;
});

/** How many conversations wait for a person. */
export const needsYou = computed(() => {
  const waiting = new Set([...asks.value].filter(([, list]) => list.some((ask) => ask.state === "open")).map(([id]) => id));
  for (const thread of threads.value.values()) if (thread.runState?.status === "waiting") waiting.add(thread.id);
  return waiting.size;
});

/** Loads what every screen needs. */
export async function start(): Promise<void> {
  try {
    const got = await get<Bootstrap>("/bootstrap");
    batch(() => {
      boot.value = got;
      bootError.value = null;
      agents.value = got.agents;
      limits.value = got.limits;
      takeSettings(got.settings);
    });
  } catch (error) {
    bootError.value = error as ApiError;
  }
}

/** Shows settings as they are now. */
export function takeSettings(next: Settings): void {
  settings.value = next;
  const root = document.documentElement;
  root.dataset.theme = next.theme;
  root.dataset.accent = next.accent;
  root.dataset.density = next.density;
}

/** Changes settings; what is shown changes at once and goes back if the server refuses. */
export async function setSettings(part: Partial<Settings>): Promise<void> {
  const before = settings.value;
  takeSettings({ ...before, ...part });
  try {
    takeSettings(await change<Settings>("PATCH", "/settings", part));
  } catch (error) {
    takeSettings(before);
    throw error;
  }
}

/** Remembers the agent for addresses that name none. */
export function rememberAgent(id: string): void {
  choose("agent", id);
}

// ---- rows -------------------------------------------------------------------------------------------------------

/** One list of rows: an agent's shelf, as far as it was loaded. */
export type Shelf = { ids: string[]; nextCursor: string | null; state: "loading" | "ready" | "failed"; error: ApiError | null };
export const shelves = signal<ReadonlyMap<string, Shelf>>(new Map());

/** Names a shelf. */
export const shelfKey = (agentId: string, archived: boolean) => `${agentId}${archived ? " archived" : ""}`;

function put(key: string, shelf: Shelf): void {
  shelves.value = new Map(shelves.value).set(key, shelf);
}

// When each row was last heard of in the feed. An answer that was asked for before that is older than what is known.
const heardOf = new Map<string, number>();
let clock = 0;

/** The moment of a request, for `takeThreads`. */
export const moment = (): number => clock;

/** Takes rows of an answer in, but not in place of what the feed told since it was asked for. */
export function takeThreads(rows: readonly Thread[], askedAt: number): void {
  const fresh = rows.filter((row) => (heardOf.get(row.id) ?? 0) <= askedAt);
  if (fresh.length === 0) return;
  const next = new Map(threads.value);
  for (const row of fresh) next.set(row.id, row);
  threads.value = next;
}

/** Loads a shelf from its beginning, or goes on where it ended. Old rows stay while new ones load. */
export async function loadShelf(agentId: string, archived: boolean, more = false): Promise<void> {
  const key = shelfKey(agentId, archived);
  const before = shelves.value.get(key);
  if (before?.state === "loading") return;
  put(key, { ids: before?.ids ?? [], nextCursor: before?.nextCursor ?? null, state: "loading", error: null });
  const askedAt = moment();
  try {
    const cursor = more ? before?.nextCursor : null;
    const page = await get<ThreadPage>("/threads", { agent: agentId, archived, cursor, limit: 50 });
    batch(() => {
      takeThreads(page.threads, askedAt);
      const ids = page.threads.map((row) => row.id);
      const all = more ? [...new Set([...(before?.ids ?? []), ...ids])] : ids;
      put(key, { ids: all, nextCursor: page.nextCursor, state: "ready", error: null });
    });
  } catch (error) {
    put(key, { ids: before?.ids ?? [], nextCursor: before?.nextCursor ?? null, state: "failed", error: error as ApiError });
  }
}

const isWorking = (row: Thread) => row.runState?.status === "running" || row.runState?.status === "waiting";

/** Loads what is at work. Where it can't be, the last known list stays. */
export async function loadActive(): Promise<void> {
  const askedAt = moment();
  try {
    const got = await get<ActiveThreads>("/threads/active");
    batch(() => {
      takeThreads(got.threads, askedAt);
      // What ended meanwhile is not at work, and what began meanwhile is.
      const known = threads.value;
      const rows = new Map(got.threads.map((row) => [row.id, known.get(row.id) ?? row]));
      for (const [id, at] of heardOf) if (at > askedAt && known.has(id)) rows.set(id, known.get(id)!);
      const working = [...rows.values()].filter(isWorking);
      active.value = { ...got, threads: working, total: got.total + working.length - got.threads.length };
    });
  } catch {
    // Said by the connection's line.
  }
}

/** A row is new or different. */
export function threadChanged(row: Thread): void {
  batch(() => {
    clock += 1;
    heardOf.set(row.id, clock);
    takeThreads([row], clock);
    const list = active.value;
    if (list) {
      const others = list.threads.filter((it) => it.id !== row.id);
      const was = others.length < list.threads.length;
      const works = isWorking(row);
      if (was || works) {
        const total = list.total + (works ? 1 : 0) - (was ? 1 : 0);
        active.value = { ...list, threads: works ? [row, ...others].slice(0, 50) : others, total };
      }
    }
    for (const archived of [false, true]) {
      const key = shelfKey(row.agentId, archived);
      const shelf = shelves.value.get(key);
      if (!shelf) continue;
      const there = shelf.ids.includes(row.id);
      const belongs = row.archived === archived && row.preview !== "";
      if (belongs && !there) put(key, { ...shelf, ids: [row.id, ...shelf.ids] });
      if (there && row.archived !== archived) put(key, { ...shelf, ids: shelf.ids.filter((id) => id !== row.id) });
    }
  });
}

/** A row is gone. */
export function threadGone(id: string): void {
  batch(() => {
    heardOf.delete(id);
    const next = new Map(threads.value);
    next.delete(id);
    threads.value = next;
    for (const [key, shelf] of shelves.value) {
      if (shelf.ids.includes(id)) put(key, { ...shelf, ids: shelf.ids.filter((it) => it !== id) });
    }
    if (active.value) {
      const left = active.value.threads.filter((it) => it.id !== id);
      active.value = { ...active.value, threads: left };
    }
  });
}

/** Questions of one conversation are new or different. */
export function asksChanged(threadId: string, list: Ask[]): void {
  const next = new Map(asks.value);
  if (list.some((ask) => ask.state === "open")) next.set(threadId, list);
  else next.delete(threadId);
  asks.value = next;
}

/** Changes a conversation: its title, pin, shelf or model. */
export async function patchThread(id: string, part: Partial<Pick<Thread, "title" | "pinned" | "archived" | "model" | "effort">>): Promise<void> {
  threadChanged(await change<Thread>("PATCH", `/threads/${encodeURIComponent(id)}`, part));
}

/** Deletes an archived conversation. */
export async function deleteThread(id: string): Promise<void> {
  await change("DELETE", `/threads/${encodeURIComponent(id)}`);
  threadGone(id);
}
