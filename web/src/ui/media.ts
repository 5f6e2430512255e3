// How much room there is, as a value.

import { computed, signal } from "@preact/signals";

function media(query: string) {
  const list = typeof matchMedia === "undefined" ? null : matchMedia(query);
  const it = signal(list?.matches ?? false);
  list?.addEventListener("change", (event) => (it.value = event.matches));
  return it;
}

const wide = media("(min-width: 1280px)");
const middle = media("(min-width: 960px)");
const tablet = media("(min-width: 640px)");

/** `wide`: all panes; `middle`: details are a sheet; `tablet`: the list is a drawer too; `phone`: one screen at a time. */
export const room = computed<"wide" | "middle" | "tablet" | "phone">(() =>
  wide.value ? "wide" : middle.value ? "middle" : tablet.value ? "tablet" : "phone",
);

/** Whether little moves. */
export const calm = media("(prefers-reduced-motion: reduce)");
