// Own drawings: icons on a grid of 20, marks on one of 16. Always hidden from screen readers; the text beside speaks.

import type { JSX, VNode } from "preact";
import type { Mark } from "../text/words";
import { WORDS } from "../text/words";

const ICONS = {
  chats: <><path d="M3.5 5.5a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9l-3.5 3v-3a2 2 0 0 1-2-2z" /></>,
  runs: <><path d="M3.5 5h6M6.5 10h7M10.5 15h6" /><path d="M3.5 10h.01M7.5 15h.01M12.5 5h.01" stroke-width="1.2" /></>,
  tools: <><path d="M12.2 4.2a3.6 3.6 0 0 0-4.6 4.6l-4.2 4.2a1.6 1.6 0 0 0 0 2.3l1.3 1.3a1.6 1.6 0 0 0 2.3 0l4.2-4.2a3.6 3.6 0 0 0 4.6-4.6L13.6 10 11 9l-1-2.6z" /></>,
  servers: <><path d="M7 3.5v4M13 3.5v4M4.8 7.5h10.4v2.7a5.2 5.2 0 0 1-10.4 0zM10 15.4v2.1" /></>,
  memory: <><path d="M4.5 4.2A1.7 1.7 0 0 1 6.2 2.5h9.3v15H6.2a1.7 1.7 0 0 1-1.7-1.7zM4.5 15.2a1.7 1.7 0 0 1 1.7-1.7h9.3M8.3 6.3h4" /></>,
  jobs: <><circle cx="10" cy="10" r="6.8" /><path d="M10 6v4.2l2.8 1.7" /></>,
  audit: <><path d="M10 2.5l6 2.2v4.6c0 3.8-2.5 6.6-6 8.2-3.5-1.6-6-4.4-6-8.2V4.7z" /><path d="M7.4 9.8l1.9 1.9 3.4-3.6" /></>,
  settings: <><path d="M3.5 6h7M14.5 6h2M3.5 14h2M9.5 14h7" /><circle cx="12.5" cy="6" r="2" /><circle cx="7.5" cy="14" r="2" /></>,
  more: <><circle cx="4.5" cy="10" r="1" /><circle cx="10" cy="10" r="1" /><circle cx="15.5" cy="10" r="1" /></>,
  search: <><circle cx="9" cy="9" r="5.2" /><path d="M13 13l3.5 3.5" /></>,
  plus: <><path d="M10 4v12M4 10h12" /></>,
  chev: <><path d="M8 5.5l4.5 4.5L8 14.5" /></>,
  down: <><path d="M5.5 8l4.5 4.5L14.5 8" /></>,
  back: <><path d="M12 4.5L6.5 10l5.5 5.5" /></>,
  pin: <><path d="M7 3h6l-1 5 2.5 3h-9L8 8zM10 11v6" /></>,
  clip: <><path d="M14.5 9.2l-5 5a3 3 0 0 1-4.3-4.3l5.6-5.5a2 2 0 0 1 2.9 2.9L8.2 12.7a1 1 0 0 1-1.4-1.4l4.7-4.7" /></>,
  send: <><path d="M10 16V4.5M5 9.5l5-5 5 5" /></>,
  stop: <><rect x="6" y="6" width="8" height="8" rx="1.5" fill="currentColor" stroke="none" /></>,
  save: <><path d="M10 3.5v8.5M6.5 8.7L10 12.2l3.5-3.5M4 16h12" /></>,
  file: <><path d="M5.5 2.5h6l3 3v12h-9zM11.5 2.5v3h3" /><path d="M7.7 9.5h4.6M7.7 12.5h4.6" /></>,
  image: <><rect x="3.5" y="4.5" width="13" height="11" rx="1.5" /><path d="M4 13.5l3.7-3.7 3 3 2-2 3.5 3.5" /><circle cx="12.8" cy="7.8" r=".8" /></>,
  panel: <><rect x="3" y="4" width="14" height="12" rx="2" /><path d="M12 4v12" /></>,
  menu: <><path d="M3.5 6h13M3.5 10h13M3.5 14h13" /></>,
  copy: <><rect x="7" y="7" width="9.5" height="9.5" rx="1.5" /><path d="M13 7V5a1.5 1.5 0 0 0-1.5-1.5H5A1.5 1.5 0 0 0 3.5 5v6.5A1.5 1.5 0 0 0 5 13h2" /></>,
  pen: <><path d="M4 16l.8-3.4L13 4.4a1.3 1.3 0 0 1 1.8 0l.8.8a1.3 1.3 0 0 1 0 1.8L7.4 15.2z" /></>,
  close: <><path d="M5.5 5.5l9 9M14.5 5.5l-9 9" /></>,
  brand: <><path d="M10 1.8l7 4v8.4l-7 4-7-4V5.8z" /><path d="M6.6 10h6.8M10 6.6v6.8" /></>,
  app: <><rect x="3" y="3.5" width="14" height="13" rx="2" /><path d="M3 7.5h14M5.5 5.5h.01M7.5 5.5h.01" /></>,
  restart: <><path d="M15.8 8A6.2 6.2 0 1 0 16 11.5M16.2 4v4h-4" /></>,
} satisfies Record<string, JSX.Element>;
export type IconName = keyof typeof ICONS;

const MARKS: Record<Mark, JSX.Element> = {
  done: <><path d="M3 8.5l3.2 3.2L13 4.8" /></>,
  refused: <><circle cx="8" cy="8" r="5.8" /><path d="M4 12L12 4" /></>,
  failed: <><circle cx="8" cy="8" r="5.8" /><path d="M6 6l4 4M10 6l-4 4" /></>,
  unknown: <><circle cx="8" cy="8" r="6" stroke-dasharray="2.2 1.57" /><path d="M6.5 6.5a1.6 1.6 0 1 1 2.2 1.5c-.5.2-.7.5-.7 1M8 11.2h.01" /></>,
  running: <><path d="M8 2a6 6 0 1 1-6 6" /></>,
  waiting: <><circle cx="8" cy="8" r="5.8" /><path d="M6.4 5.9v4.2M9.6 5.9v4.2" /></>,
  later: <><circle cx="8" cy="8" r="4.5" /></>,
  model: <><circle cx="8" cy="8" r="2.2" fill="currentColor" stroke="none" /></>,
};

/** A drawing of 20 pixels, or 16 with `small`. */
export function Icon({ name, small = false }: { name: IconName; small?: boolean }): VNode {
  return <svg class={small ? "i s" : "i"} viewBox="0 0 20 20" aria-hidden="true">{ICONS[name]}</svg>;
}

/** The mark alone; its word must stand beside it. */
export function MarkIcon({ mark }: { mark: Mark }): VNode {
  return <svg class={`mk ${mark}`} viewBox="0 0 16 16" aria-hidden="true">{MARKS[mark]}</svg>;
}

/** A mark in its colour with its word, for screen readers only unless `shown`. */
export function Marked({ mark, word, shown = false }: { mark: Mark; word?: string; shown?: boolean }): VNode {
  return (
    <span class={mark}>
      <MarkIcon mark={mark} />
      <span class={shown ? "word" : "sr"}>{word ?? WORDS[mark]}</span>
    </span>
  );
}

/** A mark with its word on its tint. */
export function Badge({ mark, word }: { mark: Mark; word?: string }): VNode {
  return (
    <span class={`wash ${mark}`}>
      <MarkIcon mark={mark} />
      {word ?? WORDS[mark]}
    </span>
  );
}
