// Ties the live feed to the picture: what is heard changes it, and `ready` after a break fetches what is shown.

import { effect, signal } from "@preact/signals";
import { get, loginNeeded } from "../api/client";
import { connection, Feed } from "../api/feed";
import type { Kind } from "../api/feed";
import type { Agent, Ask, Delta, FollowUp, Message, Settings, Thread } from "../api/types";
import { Conversation, open } from "./conversation";
import { route } from "./router";
import * as store from "./store";

type Heard = {
  serverId: string;
  threadId: string; thread: Thread; message?: Message; asks: Ask[]; followUps: FollowUp[]; agents: Agent[]; settings: Settings;
};

function heard(kind: Kind, data: unknown): void {
  const told = data as Heard;
  const here = open.peek();
  const mine = here && here.id === told.threadId ? here : null;
  switch (kind) {
    case "ready":
      return ready(String(told.serverId));
    case "message.delta":
      return mine?.delta(data as Delta);
    case "message.changed":
      if (told.message) mine?.changed(told.message);
      return;
    case "thread.changed":
      return store.threadChanged(told.thread);
    case "thread.deleted":
      store.threadGone(told.threadId);
      if (mine) mine.state.value = "gone";
      return;
    case "asks.changed":
      store.asksChanged(told.threadId, told.asks);
      return mine?.heard({ asks: told.asks });
    case "followUps.changed":
      return mine?.heard({ followUps: told.followUps });
    case "agents.changed":
      store.agents.value = told.agents;
      return;
    case "settings.changed":
      return store.takeSettings(told.settings);
  }
}

let server: string | null = null;

/** Connected: after a break, everything on screen is fetched again. A new process counts its changes anew. */
function ready(serverId: string): void {
  const again = server !== null;
  const anew = again && server !== serverId;
  server = serverId;
  void store.loadActive();
  void open.peek()?.load(anew);
  if (!again) return;
  void store.start();
  for (const key of store.shelves.peek().keys()) {
    const [agentId, archived] = key.split(" ");
    void store.loadShelf(agentId!, archived === "archived");
  }
}

const feed = new Feed(heard, () => void get("/settings").catch(() => {}));

/** How long a hidden tab keeps its feed, and how often it looks around afterwards, in milliseconds. */
const AWAKE_MS = 60_000;
const GLANCE_MS = 30_000;
/** Whether this tab was hidden for so long that it gave its connection up: a browser has six for one address. */
const asleep = signal(false);

function watchSleep(): void {
  let timer: number | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    clearInterval(timer);
    if (document.visibilityState === "visible") {
      asleep.value = false;
      feed.retry();
      return;
    }
    timer = window.setTimeout(() => {
      asleep.value = true;
      timer = window.setInterval(() => void store.loadActive(), GLANCE_MS);
    }, AWAKE_MS);
  });
}

/** Starts what keeps the picture right. */
export function startLive(): void {
  effect(() => {
    const { screen, item } = route.value;
    const wanted = screen === "chats" && item && item !== "new" ? item : null;
    if (open.peek()?.id !== wanted) {
      open.value = wanted ? new Conversation(wanted) : null;
      void open.peek()?.load();
    }
    if (store.boot.value && !loginNeeded.value && !asleep.value) feed.follow(wanted);
    else feed.stop();
  });
  addEventListener("online", () => feed.retry());
  addEventListener("offline", () => (connection.value = "offline"));
  watchSleep();
}
