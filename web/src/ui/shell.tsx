// The rail, the agent picker, the login form, and what a screen reader is told.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError, change, loginNeeded } from "../api/client";
import { connection } from "../api/feed";
import type { Agent } from "../api/types";
import { go, route, to } from "../state/router";
import type { ScreenName } from "../state/router";
import { alarmed, said } from "../state/say";
import { agent, agents, needsYou, rememberAgent, start } from "../state/store";
import { count, plain, when } from "../text/words";
import { Icon, MarkIcon } from "./icons";
import type { IconName } from "./icons";
import { room } from "./media";
import { Menu } from "./overlay";

const PLACES: { screen: ScreenName; label: string; icon: IconName; phone: boolean }[] = [
  { screen: "chats", label: "Chats", icon: "chats", phone: true },
  { screen: "runs", label: "Runs", icon: "runs", phone: true },
  { screen: "tools", label: "Tools", icon: "tools", phone: true },
  { screen: "servers", label: "Servers", icon: "servers", phone: false },
  { screen: "memory", label: "Memory", icon: "memory", phone: true },
  { screen: "audit", label: "Audit", icon: "audit", phone: false },
];

/** The places that the tabs of a phone have no room for. */
export const MORE = PLACES.filter((place) => !place.phone);

/** Where one can go. */
export function Rail(): VNode | null {
  const here = route.value;
  const id = agent.value?.id ?? "none";
  const phone = room.value === "phone";
  if (phone && here.screen === "chats" && here.item) return null;
  const current = (on: boolean) => (on ? ("page" as const) : undefined);
  return (
    <nav class="rail" id="rail" tabIndex={-1} aria-label="Console">
      {!phone && <span class="brand"><Icon name="brand" /></span>}
      {PLACES.filter((place) => !phone || place.phone).map((place) => (
        <a href={to(id, place.screen)} aria-current={current(here.screen === place.screen)}>
          <Icon name={place.icon} />
          {place.label}
          {place.screen === "chats" && needsYou.value > 0 && (
            <>
              <span class="pip" aria-hidden="true">{needsYou.value}</span>
              <span class="sr">, {needsYou.value} {needsYou.value === 1 ? "needs" : "need"} you</span>
            </>
          )}
        </a>
      ))}
      {phone ? (
        <a href="/more" aria-current={current(["more", "settings", "servers", "audit"].includes(here.screen))}><Icon name="more" />More</a>
      ) : (
        <a href="/settings" class="push" aria-current={current(here.screen === "settings")}><Icon name="settings" />Settings</a>
      )}
    </nav>
  );
}

function stateOf(it: Agent): string {
  return it.state === "online" ? "running" : `offline${it.offlineSince ? ` since ${when(it.offlineSince)}` : ""}`;
}

/** Chooses the agent that rules every screen. */
export function AgentPicker(): VNode | null {
  const it = agent.value;
  if (!it) return null;
  const screen = route.value.screen;
  const place: ScreenName = PLACES.some((known) => known.screen === screen) ? (screen as ScreenName) : "chats";
  const items = agents.value.map((other) => ({
    label: `${plain(other.name)} · ${other.state === "online" ? plain(other.model) : stateOf(other)}`,
    checked: other.id === it.id,
    act: () => {
      rememberAgent(other.id);
      go(to(other.id, place));
    },
  }));
  return (
    <Menu label={`${plain(it.name)}, ${stateOf(it)}. Choose an agent`} items={items} class="btn agent-btn" choice>
      <span class={it.state === "online" ? "live" : "live off"} aria-hidden="true" />
      <span class="cut"><bdi>{plain(it.name)}</bdi></span>
      <Icon name="down" small />
    </Menu>
  );
}

/** One line on the connection, where something is to be said. */
export function ConnectionLine(): VNode | null {
  const state = connection.value;
  const it = agent.value;
  if (state === "lost" || state === "offline") {
    return (
      <div class="line warn" role="status">
        <MarkIcon mark="running" />
        <span>{state === "offline" ? "This device is offline. Work goes on; the page catches up by itself." : "Reconnecting. Work goes on; the page catches up by itself."}</span>
      </div>
    );
  }
  if (it && it.state === "offline") {
    return (
      <div class="line warn" role="status">
        <MarkIcon mark="refused" />
        <span>{plain(it.name)} is {stateOf(it)}. What is shown is the last that was known.</span>
      </div>
    );
  }
  return null;
}

/** What a screen reader is told. */
export function Announcer(): VNode {
  return (
    <>
      <div class="sr" role="status" aria-live="polite">{said.value}</div>
      <div class="sr" role="alert">{alarmed.value}</div>
    </>
  );
}

/** Asks for the token, where the console is reached from elsewhere. */
export function Login(): VNode {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await change("POST", "/login", { token: token.trim() });
      loginNeeded.value = false;
      await start();
    } catch (error) {
      setWrong((error as ApiError).code === "login_failed" ? "This is not the token. Look at what mono-agent web printed." : plain((error as ApiError).message));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="door" id="main">
      <form class="dialog" onSubmit={(event) => void enter(event)} aria-labelledby="door-h">
        <span class="brand"><Icon name="brand" /></span>
        <h1 id="door-h">Sign in to this console</h1>
        <p class="why">Its token was printed where <code>mono-agent web</code> was started.</p>
        <label class="stack">
          Token
          <input
            class="text" type="password" autocomplete="current-password" required value={token} aria-invalid={wrong ? true : undefined}
            aria-describedby={wrong ? "door-e" : undefined} onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {wrong && <p class="error" id="door-e" role="alert"><MarkIcon mark="failed" />{wrong}</p>}
        <button type="submit" class="btn primary" disabled={busy || !token.trim()}>Sign in</button>
      </form>
    </main>
  );
}

/** The rest of the places, on a phone. */
export function More(): VNode {
  const id = agent.value?.id ?? "none";
  return (
    <div class="panes no-list">
      <main class="wrap" id="main" tabIndex={-1}>
        <section class="main" aria-label="More">
          <header class="bar"><h1 class="phone-pad grow">More</h1></header>
          <div class="page facet">
            {MORE.map((place) => <a href={to(id, place.screen)}><Icon name={place.icon} />{place.label}</a>)}
            <a href="/settings"><Icon name="settings" />Settings</a>
            <p class="why">{count(agents.value.length, "agent")} on this machine.</p>
          </div>
        </section>
      </main>
    </div>
  );
}
