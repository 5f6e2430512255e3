// The console's pages. What they show and change goes through docs/design/console-api.md alone.

import "./style/all.css";
import { render } from "preact";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { loginNeeded } from "./api/client";
import { startLive } from "./state/live";
import { go, route, startRouter, to } from "./state/router";
import { agent, boot, bootError, needsYou, rememberAgent, start, threads } from "./state/store";
import { Chats } from "./screens/chats";
import { oneLine, plain } from "./text/words";
import { startKeys, summoned } from "./ui/keys";
import { KeyList, Palette } from "./ui/palette";
import { Bones, Failed } from "./ui/pieces";
import { Announcer, Login, More, Rail } from "./ui/shell";
import { room } from "./ui/media";
import { lazy } from "./ui/lazy";
import { Guard } from "./ui/guard";

const Runs = lazy(() => import("./screens/runs").then((it) => it.Runs));
const Tools = lazy(() => import("./screens/tools").then((it) => it.Tools));
const Servers = lazy(() => import("./screens/servers").then((it) => it.Servers));
const Memory = lazy(() => import("./screens/memory").then((it) => it.Memory));
const Audit = lazy(() => import("./screens/audit").then((it) => it.Audit));
const SettingsScreen = lazy(() => import("./screens/settings").then((it) => it.SettingsScreen));

function Screen(): VNode | null {
  switch (route.value.screen) {
    case "chats":
      return <Chats />;
    case "runs":
      return <Runs />;
    case "tools":
      return <Tools />;
    case "servers":
      return <Servers />;
    case "memory":
      return <Memory />;
    case "audit":
      return <Audit />;
    case "settings":
      return <SettingsScreen />;
    case "more":
      return <More />;
    case "home":
      return null;
  }
}

const TITLES: Record<string, string> = {
  chats: "Chats", runs: "Runs", tools: "Tools", servers: "Servers", memory: "Memory", audit: "Audit", settings: "Settings", more: "More", home: "",
};

/** The window's title: what waits, where one is, whose it is. */
function useTitle(): void {
  const { screen, item } = route.value;
  const row = item ? threads.value.get(item) : undefined;
  const parts = [screen === "chats" && row ? oneLine(row.title) : TITLES[screen], agent.value && screen !== "settings" ? plain(agent.value.name) : null, "mono-agent"];
  const title = parts.filter(Boolean).join(" · ");
  const waits = needsYou.value > 0 ? `(${needsYou.value}) ` : "";
  useEffect(() => {
    document.title = waits + title;
  }, [waits + title]);
}

/** The frame of index.html, until there is something to put into it. */
function Frame(): VNode {
  return (
    <div class="app frame">
      <div class="rail" />
      <div class="panes">
        <div class="list" />
        <main class="main" id="main"><h1 class="sr">mono-agent</h1><div class="page narrow"><Bones label="Loading the console" rows={3} /></div></main>
      </div>
    </div>
  );
}

function App(): VNode {
  const here = route.value;
  const it = agent.value;
  useTitle();
  useEffect(() => {
    if (boot.value && here.screen === "home") go(it ? to(it.id, "chats") : "/agents/none/chats", true);
    if (it && here.agent === it.id) rememberAgent(it.id);
  }, [boot.value, here, it?.id]);
  if (loginNeeded.value) return <><Login /><Announcer /></>;
  if (!boot.value && bootError.value) {
    return (
      <main class="door" id="main">
        <h1 class="sr">mono-agent</h1>
        <div class="door-fault"><Failed error={bootError.value} again={() => void start()} what="The console can't be reached." /></div>
      </main>
    );
  }
  if (!boot.value) return <Frame />;
  const summons = summoned.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <div class={`app room-${room.value}`}>
        <Rail />
        <Guard key={here.screen}><Screen /></Guard>
      </div>
      {summons === "palette" && <Palette />}
      {summons === "keys" && <KeyList />}
      <Announcer />
    </>
  );
}

startRouter();
startKeys();
startLive();
void start();
const root = document.getElementById("root")!;
root.replaceChildren();
render(<App />, root);
