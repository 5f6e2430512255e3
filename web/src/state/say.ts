// What a screen reader is told: one polite line, at most one in two seconds; alerts only for what failed.

import { signal } from "@preact/signals";

/** The polite line. */
export const said = signal("");
/** The line that interrupts. */
export const alarmed = signal("");

const GAP_MS = 2_000;
let last = 0;
let waiting: number | null = null;

/** Says a line politely. The newest line wins where several come at once. */
export function say(line: string): void {
  const wait = Math.max(0, last + GAP_MS - Date.now());
  if (waiting !== null) clearTimeout(waiting);
  waiting = window.setTimeout(() => {
    waiting = null;
    last = Date.now();
    said.value = said.value === line ? `${line}\u00a0` : line;
  }, wait);
}

/** Says a line at once. */
export function alarm(line: string): void {
  alarmed.value = alarmed.value === line ? `${line}\u00a0` : line;
}
