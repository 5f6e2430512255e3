// The frame of every screen: a list, what was picked from it, and its details, in as much room as there is.

import { signal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect } from "preact/hooks";
import { chosen, choose } from "../state/device";
import { route } from "../state/router";
import { Icon } from "./icons";
import { room } from "./media";
import { Modal } from "./overlay";

/** Whether the list lies over the page, where it has no place of its own. */
export const drawer = signal(false);
/** Whether the details lie over the page, where they have no place of their own. */
export const sheet = signal(false);
const docked = signal(chosen("details", true));

/** Shows or hides the details, as the room allows. */
export function toggleDetails(show?: boolean): void {
  if (room.value === "wide") {
    docked.value = show ?? !docked.value;
    choose("details", docked.value);
  } else {
    sheet.value = show ?? !sheet.value;
  }
}

/** Whether details are on screen. */
export const detailsShown = () => (room.value === "wide" ? docked.value : sheet.value);

type PanesProps = {
  list?: ComponentChildren;
  listLabel: string;
  main: ComponentChildren;
  /** What the phone shows: the list, or what was picked. */
  phone: "list" | "main";
  side?: { title: string; code?: boolean; body: ComponentChildren } | null;
  /** Called when the details are closed; without it they are only hidden. */
  closeSide?: () => void;
  talk?: boolean;
};

/** Lays out a screen. */
export function Panes({ list, listLabel, main, phone, side, closeSide, talk }: PanesProps): VNode {
  const space = room.value;
  const { screen, item } = route.value;
  useEffect(() => {
    drawer.value = false;
    if (!closeSide) sheet.value = false;
  }, [screen, item]);
  useEffect(() => {
    // What the address names is shown, wherever there is room for it.
    sheet.value = Boolean(closeSide && side && space !== "wide");
  }, [side?.title, Boolean(closeSide), space === "wide"]);

  const showSide = side && space === "wide" && (closeSide ? true : docked.value);
  const close = () => {
    if (closeSide) {
      sheet.value = false;
      closeSide();
    } else {
      toggleDetails(false);
    }
  };
  const sideParts = side && (
    <>
      <div class="bar">
        <h2 class={side.code ? "grow mono cut" : "grow cut"}><bdi>{side.title}</bdi></h2>
        <button type="button" class="btn icon quiet" aria-label="Close details" onClick={close}><Icon name="close" /></button>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${side.title} details`}>{side.body}</div>
    </>
  );
  const hasList = list !== undefined;
  const showList = hasList && (space === "wide" || space === "middle" || (space === "phone" && phone === "list"));
  const showMain = space !== "phone" || phone === "main";
  return (
    <div class={`panes${showSide ? " with-side" : ""}${hasList ? "" : " no-list"}${talk ? " talk" : ""}`}>
      <main class="wrap" id="main" tabIndex={-1}>
        {showList && <section class="list" id="list" tabIndex={-1} aria-label={listLabel}>{list}</section>}
        {showMain && <section class="main" aria-label={hasList ? "Content" : undefined}>{main}</section>}
      </main>
      {showSide && <aside class="side" id="side" tabIndex={-1} aria-label={`${side.title} details`}>{sideParts}</aside>}
      {hasList && space === "tablet" && drawer.value && (
        <Modal kind="list" label={listLabel} close={() => (drawer.value = false)}><section class="list">{list}</section></Modal>
      )}
      {side && space !== "wide" && sheet.value && (
        <Modal kind="details" label={`${side.title} details`} close={close}><div class="side">{sideParts}</div></Modal>
      )}
    </div>
  );
}

/** The button that opens the list where it is a drawer. */
export function ListButton({ label }: { label: string }): VNode | null {
  if (room.value !== "tablet") return null;
  return (
    <button type="button" class="btn icon quiet" aria-label={label} onClick={() => (drawer.value = true)}>
      <Icon name="menu" />
    </button>
  );
}

/** The way back to the list on a phone. */
export function Back({ href, label }: { href: string; label: string }): VNode | null {
  if (room.value !== "phone") return null;
  return <a class="btn icon quiet" href={href} aria-label={label}><Icon name="back" /></a>;
}
