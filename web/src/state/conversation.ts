// The conversation that is open: its messages, kept right by the live feed (WEB-2).

import { batch, signal } from "@preact/signals";
import { ApiError, change, get } from "../api/client";
import { take } from "../api/delta";
import type {
  Answer, Ask, Delta, FollowUp, Message, MessagePage, Receipt, Thread, ThreadDetail, Upload,
} from "../api/types";
import { saw } from "./device";
import { say } from "./say";
import { asksChanged, moment, takeThreads, threads } from "./store";
import { askTitle } from "../text/words";

/** What is shown of the open conversation. */
export class Conversation {
  readonly messages = signal<Message[]>([]);
  readonly olderCursor = signal<string | null>(null);
  readonly asks = signal<Ask[]>([]);
  readonly followUps = signal<FollowUp[]>([]);
  readonly state = signal<"loading" | "ready" | "failed" | "gone">("loading");
  readonly error = signal<ApiError | null>(null);
  readonly loadingOlder = signal(false);
  /** What was sent and not yet confirmed. */
  readonly sending = signal<{ id: string; text: string } | null>(null);

  private pending: Delta[] = [];
  private frame: number | null = null;
  /** How often the feed told of questions and follow-ups. */
  private toldOf = 0;
  private readonly repairing = new Set<string>();

  constructor(readonly id: string) {}

  private get base(): string {
    return `/threads/${encodeURIComponent(this.id)}`;
  }

  /** Loads or catches up. What is on screen stays until it is there; `anew` believes nothing of it. */
  async load(anew = false): Promise<void> {
    const [askedAt, told] = [moment(), this.toldOf];
    try {
      const got = await get<ThreadDetail>(this.base);
      batch(() => {
        takeThreads([got.thread], askedAt);
        this.messages.value = merged(anew ? [] : this.messages.value, this.mine(got.messages));
        if (anew || this.state.value !== "ready") this.olderCursor.value = got.olderCursor;
        // What the feed told meanwhile is newer.
        if (told === this.toldOf) {
          this.setAsks(got.asks);
          this.followUps.value = got.followUps;
        }
        this.state.value = "ready";
        this.error.value = null;
      });
      this.markSeen();
    } catch (error) {
      const failed = error as ApiError;
      this.error.value = failed;
      if (failed.status === 404) this.state.value = "gone";
      else if (this.state.value !== "ready") this.state.value = "failed";
    }
  }

  /** Loads what came before. */
  async loadOlder(): Promise<void> {
    const cursor = this.olderCursor.value;
    if (!cursor || this.loadingOlder.value) return;
    this.loadingOlder.value = true;
    try {
      const page = await get<MessagePage>(`${this.base}/messages`, { cursor, limit: 30 });
      batch(() => {
        const known = new Set(this.messages.value.map((message) => message.id));
        this.messages.value = [...this.mine(page.messages).filter((message) => !known.has(message.id)), ...this.messages.value];
        this.olderCursor.value = page.olderCursor;
      });
    } finally {
      this.loadingOlder.value = false;
    }
  }

  /** Takes a delta in; at most one repaint a frame. */
  delta(delta: Delta): void {
    this.pending.push(delta);
    this.frame ??= nextFrame(() => {
      this.frame = null;
      this.flush();
    });
  }

  private flush(): void {
    const deltas = this.pending;
    this.pending = [];
    let list = this.messages.value;
    for (const delta of deltas) {
      const at = list.findIndex((message) => message.id === delta.messageId);
      const taken = at < 0 ? "gap" : take(list[at]!, delta);
      if (taken === "old") continue;
      if (taken === "gap") {
        void this.repair(delta.messageId);
        continue;
      }
      if (list === this.messages.value) list = list.slice();
      this.told(list[at]!, taken.message);
      list[at] = taken.message;
    }
    this.messages.value = list;
  }

  /** Fetches a message once, where something before a delta is missing. */
  private async repair(id: string): Promise<void> {
    if (this.repairing.has(id)) return;
    this.repairing.add(id);
    try {
      this.changed(await get<Message>(`${this.base}/messages/${encodeURIComponent(id)}`));
    } catch {
      // The next `ready` fetches everything.
    } finally {
      this.repairing.delete(id);
    }
  }

  /** A message is new, or came as a whole. */
  changed(came: Message): void {
    const message = this.mine([came])[0]!;
    const list = this.messages.value;
    const at = list.findIndex((other) => other.id === message.id);
    if (at < 0) {
      this.messages.value = [...list, message].sort(byTime);
      if (message.role === "assistant") say("Working");
    } else if (message.seq >= list[at]!.seq) {
      const copy = list.slice();
      this.told(copy[at]!, message);
      copy[at] = message;
      this.messages.value = copy;
    }
    if (this.sending.value && message.role === "user") this.sending.value = null;
    this.markSeen();
  }

  /** Tells a screen reader of an answer's end. */
  private told(before: Message, after: Message): void {
    if (before.role !== "assistant" || after.role !== "assistant" || before.status === after.status) return;
    const words: Partial<Record<Answer["status"], string>> = {
      succeeded: "Answer ready", failed: "The turn failed", cancelled: "Stopped", interrupted: "Interrupted",
    };
    const line = words[after.status];
    if (line) say(line);
    // How parts stand is worked out by the server when it is asked.
    if (line && after.parts.some((part) => part.type === "restart_proposal" && !after.partStatus[part.id])) void this.repair(after.id);
    this.markSeen();
  }

  /** The feed tells of questions or follow-ups. */
  heard(part: { asks?: Ask[]; followUps?: FollowUp[] }): void {
    this.toldOf += 1;
    if (part.asks) this.setAsks(part.asks);
    if (part.followUps) this.followUps.value = part.followUps;
  }

  /** Questions are new or different. */
  setAsks(list: Ask[]): void {
    const known = new Set(this.asks.value.map((ask) => ask.id));
    const fresh = list.find((ask) => ask.state === "open" && !known.has(ask.id));
    this.asks.value = list;
    asksChanged(this.id, list);
    if (fresh) say(`Needs you: ${askTitle(fresh, "the agent")}`);
  }

  /** Messages that know where they belong. */
  private mine(messages: Message[]): Message[] {
    return messages.map((message) => (message.threadId === this.id ? message : { ...message, threadId: this.id }));
  }

  private markSeen(): void {
    const row = threads.value.get(this.id);
    if (row && document.visibilityState !== "hidden") saw(this.id, row.updatedAt);
  }

  /** Sends a text. The server decides whether it begins a turn or joins the running one. */
  async submit(text: string, attachments: Upload[], quote?: { messageId: string; text: string }): Promise<void> {
    const id = crypto.randomUUID();
    this.sending.value = { id, text };
    try {
      const body = { id, text, attachments: attachments.map((it) => it.id), ...(quote ? { quote } : {}) };
      const receipt = await change<Receipt>("POST", `${this.base}/submissions`, body);
      batch(() => {
        if (receipt.kind === "turn") {
          this.changed(receipt.user);
          this.changed(receipt.answer);
        } else {
          this.takeFollowUp(receipt.followUp);
        }
        this.sending.value = null;
      });
    } catch (error) {
      this.sending.value = null;
      throw error;
    }
  }

  private takeFollowUp(next: FollowUp): void {
    const others = this.followUps.value.filter((it) => it.id !== next.id);
    this.followUps.value = [...others, next];
  }

  /** Takes a follow-up back, if it wasn't read yet. */
  async cancelFollowUp(id: string): Promise<void> {
    this.takeFollowUp(await change<FollowUp>("POST", `${this.base}/follow-ups/${encodeURIComponent(id)}/cancel`));
  }

  /** Stops the running turn. */
  async stop(): Promise<void> {
    await change("POST", `${this.base}/cancel`);
  }

  /** Answers a question. One that was answered elsewhere closes too. */
  async answer(askId: string, body: unknown): Promise<void> {
    try {
      const closed = await change<Ask>("POST", `${this.base}/asks/${encodeURIComponent(askId)}/answer`, body);
      this.setAsks(this.asks.value.map((ask) => (ask.id === askId ? closed : ask)));
    } catch (error) {
      const ask = (error as ApiError).code === "ask_closed" ? ((error as ApiError).body as { ask?: Ask } | null)?.ask : null;
      if (ask) this.setAsks(this.asks.value.map((it) => (it.id === askId ? ask : it)));
      throw error;
    }
  }

  /** The answer that is being made, if one is. */
  get running(): Answer | null {
    const last = this.messages.value.findLast((message) => message.role === "assistant") as Answer | undefined;
    return last && (last.status === "running" || last.status === "waiting") ? last : null;
  }
}

function byTime(a: Message, b: Message): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  // What was said at the very moment of its answer stands before it.
  return (a.role === "user" ? 0 : 1) - (b.role === "user" ? 0 : 1);
}

/** What is known and what came, each message in its newest form; older pages stay. */
export function merged(known: Message[], came: Message[]): Message[] {
  const mine = new Map(known.map((message) => [message.id, message]));
  const fresh = came.map((message) => {
    const held = mine.get(message.id);
    return held && held.seq >= message.seq ? held : message;
  });
  const first = fresh[0];
  if (!first) return fresh;
  const ids = new Set(fresh.map((message) => message.id));
  // What is older than the page stays only where it joins on to it.
  const joins = known.findIndex((message) => message.id === first.id);
  return joins > 0 ? [...known.slice(0, joins).filter((message) => !ids.has(message.id)), ...fresh] : fresh;
}

function nextFrame(work: () => void): number {
  // A hidden tab paints no frames; what comes is still taken in.
  if (document.visibilityState === "hidden") return window.setTimeout(work, 250);
  return requestAnimationFrame(work);
}

/** The conversation that is open. */
export const open = signal<Conversation | null>(null);

/** The row of the open conversation. */
export function rowOf(id: string): Thread | null {
  return threads.value.get(id) ?? null;
}
