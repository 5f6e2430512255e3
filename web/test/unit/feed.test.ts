import { beforeEach, describe, expect, it } from "vitest";
import { connection, Feed, QUIET_MS } from "../../src/api/feed";
import type { EventSourceLike, Wiring } from "../../src/api/feed";

class Source implements EventSourceLike {
  listeners = new Map<string, (event: { data: string }) => void>();
  onerror: ((event: unknown) => void) | null = null;
  closed = false;
  constructor(readonly url: string) {}
  addEventListener(kind: string, listener: (event: { data: string }) => void) {
    this.listeners.set(kind, listener);
  }
  close() {
    this.closed = true;
  }
  tell(kind: string, data: unknown) {
    this.listeners.get(kind)!({ data: typeof data === "string" ? data : JSON.stringify(data) });
  }
}

function bench() {
  const sources: Source[] = [];
  const heard: [string, unknown][] = [];
  const timers = new Map<number, { work: () => void; at: number }>();
  let [now, next, doubts] = [0, 1, 0];
  const net = { online: true };
  const wiring: Wiring = {
    open: (url) => (sources.push(new Source(url)), sources.at(-1)!),
    later: (work, ms) => (timers.set(next, { work, at: now + ms }), next++),
    never: (timer) => void timers.delete(timer),
    online: () => net.online,
  };
  const feed = new Feed((kind, data) => heard.push([kind, data]), () => (doubts += 1), wiring);
  const pass = (ms: number) => {
    const until = now + ms;
    for (;;) {
      const due = [...timers].filter(([, it]) => it.at <= until).sort((a, b) => a[1].at - b[1].at)[0];
      if (!due) break;
      timers.delete(due[0]);
      now = due[1].at;
      due[1].work();
    }
    now = until;
  };
  return { sources, heard, feed, pass, net, last: () => sources.at(-1)!, doubts: () => doubts };
}

// WEB-2
describe("the live feed", () => {
  beforeEach(() => {
    connection.value = "starting";
  });

  it("follows one conversation and opens anew only for another", () => {
    const { feed, sources, last } = bench();
    feed.follow("a b");
    feed.follow("a b");
    expect(sources).toHaveLength(1);
    expect(last().url).toBe("/api/v1/events?thread=a%20b");
    feed.follow(null);
    expect(sources[0]!.closed).toBe(true);
    expect(last().url).toBe("/api/v1/events");
  });

  it("comes back by itself, and says nothing of a short break", () => {
    const { feed, last, pass, heard, sources } = bench();
    feed.follow("t");
    last().tell("ready", { serverId: "s" });
    expect(connection.value).toBe("live");
    last().onerror!({});
    expect(connection.value).toBe("waiting");
    pass(300);
    expect(sources).toHaveLength(2);
    last().tell("ready", { serverId: "s" });
    pass(QUIET_MS * 2);
    expect(connection.value).toBe("live");
    expect(heard.map(([kind]) => kind)).toEqual(["ready", "ready"]);
  });

  it("tells a long break after five seconds, and asks why after some tries", () => {
    const { feed, last, pass, doubts } = bench();
    feed.follow("t");
    last().tell("ready", {});
    for (let n = 0; n < 4; n += 1) {
      last().onerror!({});
      pass(1_600);
    }
    expect(connection.value).toBe("lost");
    expect(doubts()).toBeGreaterThan(0);
    last().tell("ready", {});
    expect(connection.value).toBe("live");
  });

  it("tells at once that the device is offline", () => {
    const { feed, last, net } = bench();
    feed.follow("t");
    last().tell("ready", {});
    net.online = false;
    last().onerror!({});
    expect(connection.value).toBe("offline");
  });

  it("hears nothing of a feed that it left, passes over what is no JSON, and stays stopped", () => {
    const { feed, sources, last, heard, pass } = bench();
    feed.follow("a");
    feed.follow("b");
    sources[0]!.tell("thread.changed", {});
    last().tell("thread.changed", "{");
    expect(heard).toEqual([]);
    feed.stop();
    pass(60_000);
    expect(sources).toHaveLength(2);
  });
});
