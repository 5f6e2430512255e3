// The live feed: one connection that comes back by itself. Whatever was missed meanwhile is fetched again on `ready`.

import { signal } from "@preact/signals";

/** The kinds of events that the contract has. */
export const KINDS = [
  "ready", "message.delta", "message.changed", "thread.changed", "thread.deleted",
  "asks.changed", "followUps.changed", "agents.changed", "settings.changed",
] as const;
export type Kind = (typeof KINDS)[number];

/** How the connection is. `lost` is told only after it has been gone for a while (C5.5). */
export const connection = signal<"starting" | "live" | "waiting" | "lost" | "offline">("starting");

/** What a feed needs from the browser; replaced in tests. */
export type Wiring = {
  open: (url: string) => EventSourceLike;
  later: (work: () => void, ms: number) => number;
  never: (timer: number) => void;
  online: () => boolean;
};
export type EventSourceLike = {
  addEventListener(kind: string, listener: (event: { data: string }) => void): void;
  onerror: ((event: unknown) => void) | null;
  close(): void;
};

const BROWSER: Wiring = {
  open: (url) => new EventSource(url) as unknown as EventSourceLike,
  later: (work, ms) => window.setTimeout(work, ms),
  never: (timer) => window.clearTimeout(timer),
  online: () => navigator.onLine,
};

/** How long a lost connection goes untold, in milliseconds. */
export const QUIET_MS = 5_000;
const WAITS_MS = [250, 1_000, 2_000, 4_000, 8_000];

/** One feed of this page. */
export class Feed {
  private source: EventSourceLike | null = null;
  private timer: number | null = null;
  private telling: number | null = null;
  private tries = 0;
  private thread: string | null = null;
  private stopped = true;

  constructor(
    private readonly heard: (kind: Kind, data: unknown) => void,
    /** Called after a few failures in a row, to find out why (a login may be needed). */
    private readonly doubted: () => void = () => {},
    private readonly wiring: Wiring = BROWSER,
  ) {}

  /** Opens the feed, or opens it anew for another conversation. */
  follow(thread: string | null): void {
    if (!this.stopped && thread === this.thread) return;
    this.stopped = false;
    this.thread = thread;
    this.connect();
  }

  /** Tries at once, for instance when the browser is online again. */
  retry(): void {
    if (this.stopped || connection.value === "live") return;
    this.tries = 0;
    this.connect();
  }

  /** Ends the feed. Turns go on. */
  stop(): void {
    this.stopped = true;
    this.drop();
  }

  private connect(): void {
    this.drop();
    const query = this.thread ? `?thread=${encodeURIComponent(this.thread)}` : "";
    const source = this.wiring.open(`/api/v1/events${query}`);
    this.source = source;
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        if (source !== this.source) return;
        if (kind === "ready") this.ready();
        let data: unknown;
        try {
          data = JSON.parse(event.data);
        } catch {
          return;
        }
        this.heard(kind, data);
      });
    }
    source.onerror = () => {
      if (source === this.source) this.lost();
    };
  }

  private ready(): void {
    this.tries = 0;
    if (this.telling !== null) this.wiring.never(this.telling);
    this.telling = null;
    connection.value = "live";
  }

  private lost(): void {
    this.drop();
    if (!this.wiring.online()) {
      connection.value = "offline";
    } else if (connection.value !== "lost") {
      if (connection.value === "live") connection.value = "waiting";
      this.telling ??= this.wiring.later(() => {
        this.telling = null;
        if (connection.value !== "live") connection.value = "lost";
      }, QUIET_MS);
    }
    const wait = WAITS_MS[Math.min(this.tries, WAITS_MS.length - 1)]!;
    this.tries += 1;
    if (this.tries % 3 === 2) this.doubted();
    this.timer = this.wiring.later(() => {
      this.timer = null;
      if (!this.stopped) this.connect();
    }, wait);
  }

  private drop(): void {
    this.source?.close();
    this.source = null;
    if (this.timer !== null) this.wiring.never(this.timer);
    this.timer = null;
  }
}
