// The keyboard: letters outside fields, and those that lead around the page.

import { signal } from "@preact/signals";
import { open } from "../state/conversation";
import { go, to } from "../state/router";
import type { ScreenName } from "../state/router";
import { say } from "../state/say";
import { agent, asks, settings } from "../state/store";
import { drawer, toggleDetails } from "./panes";
import { room } from "./media";

/** What lies over the page by a key: the palette, or the list of keys. */
export const summoned = signal<"palette" | "keys" | null>(null);

const PLACES: Record<string, ScreenName> = { c: "chats", r: "runs", t: "tools", s: "servers", m: "memory", a: "audit" };
const REGIONS = ["rail", "list", "transcript", "dock", "composer", "side"];
/** How long the second key of a pair may take, in milliseconds. */
const PAIR_MS = 1_500;
const STOP_MS = 2_000;

let led: number | null = null;
let stopArmed = 0;

const inField = (at: EventTarget | null) =>
  at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
const overPage = () => document.querySelector("dialog[open]") !== null || document.querySelector(":popover-open") !== null;

/** Listens for the whole page. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (handled(event)) event.preventDefault();
  });
}

function handled(event: KeyboardEvent): boolean {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    summoned.value = summoned.value === "palette" ? null : "palette";
    return true;
  }
  if (event.ctrlKey || event.metaKey) return false;
  if (event.key === "F6") return region(event.shiftKey ? -1 : 1);
  if (event.altKey) return event.key.toLowerCase() === "a" && needed();
  if (event.key === "Escape") return escape(event);
  if (overPage()) return false;
  if (inField(event.target)) return false;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    return (event.target as HTMLElement).matches?.("[data-row]") ? row(event.key === "ArrowDown" ? 1 : -1) : false;
  }
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") return unfold(event.target as HTMLElement, event.key === "ArrowRight");
  return settings.value.letterKeys && letter(event);
}

function letter(event: KeyboardEvent): boolean {
  const id = agent.value?.id;
  if (led !== null && performance.now() - led < PAIR_MS) {
    led = null;
    const place = PLACES[event.key];
    if (place && id) go(to(id, place));
    return place !== undefined;
  }
  led = null;
  switch (event.key) {
    case "g":
      led = performance.now();
      return true;
    case "j":
      return row(1);
    case "k":
      return row(-1);
    case "/": {
      const field = document.querySelector<HTMLElement>("[data-search]");
      field?.focus();
      return field !== null;
    }
    case "n":
      if (id) go(to(id, "chats", "new"));
      setTimeout(() => document.querySelector<HTMLElement>("[data-composer]")?.focus(), 50);
      return true;
    case ".": {
      const all = document.querySelectorAll<HTMLDetailsElement>("details[data-activity]");
      const last = all[all.length - 1];
      if (last) last.open = !last.open;
      return true;
    }
    case "[":
      if (room.value === "tablet") drawer.value = !drawer.value;
      return true;
    case "]":
      toggleDetails();
      return true;
    case "?":
      summoned.value = "keys";
      return true;
    default:
      return false;
  }
}

/** Esc closes the topmost thing, else leaves the field; twice it stops the turn. */
function escape(event: KeyboardEvent): boolean {
  if (overPage()) return false;
  const talk = open.value;
  if (talk?.running) {
    if (Date.now() - stopArmed < STOP_MS) {
      stopArmed = 0;
      void talk.stop().catch(() => {});
      say("Stopping");
    } else {
      stopArmed = Date.now();
      say("Press Escape again to stop the turn");
      hint.value = true;
      setTimeout(() => (hint.value = false), STOP_MS);
    }
  }
  if (inField(event.target)) (event.target as HTMLElement).blur();
  return true;
}

/** Whether another Esc would stop the turn. */
export const hint = signal(false);

/** Goes to what needs a person: the focus is on the card's title, never on a button. */
function needed(): boolean {
  const card = document.querySelector<HTMLElement>("[data-ask-title]");
  if (card) {
    card.focus();
    return true;
  }
  const first = [...asks.value].find(([, list]) => list.some((ask) => ask.state === "open"));
  const ask = first?.[1][0];
  if (!ask) return false;
  go(to(ask.agentId, "chats", ask.threadId));
  setTimeout(() => document.querySelector<HTMLElement>("[data-ask-title]")?.focus(), 600);
  return true;
}

function row(by: number): boolean {
  const all = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((it) => it.offsetParent !== null);
  if (all.length === 0) return false;
  const focused = all.indexOf(document.activeElement as HTMLElement);
  const current = focused >= 0 ? focused : all.findIndex((it) => it.hasAttribute("aria-current"));
  const next = all[current < 0 ? 0 : Math.max(0, Math.min(all.length - 1, current + by))]!;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function unfold(at: HTMLElement, opened: boolean): boolean {
  const details = at.matches?.("summary") ? (at.parentElement as HTMLDetailsElement) : null;
  if (!details) return false;
  details.open = opened;
  return true;
}

function region(by: number): boolean {
  const all = REGIONS.map((id) => document.getElementById(id)).filter((it): it is HTMLElement => it !== null);
  if (all.length === 0) return false;
  const here = all.findIndex((it) => it.contains(document.activeElement));
  const next = all[(here + by + all.length) % all.length]!;
  (next.id === "composer" ? (next.querySelector<HTMLElement>("textarea") ?? next) : next).focus();
  return true;
}
