// Small pieces that every screen uses: banners, empty and waiting states, fields, blocks of text.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { plain, size } from "../text/words";
import type { Mark } from "../text/words";
import { Icon, MarkIcon } from "./icons";
import type { IconName } from "./icons";

/** A line that says what happened, whether anything took effect, and what to do. */
export function Banner(props: { tone: "warn" | "bad" | "doubt" | "plain"; mark?: Mark; children: ComponentChildren; action?: ComponentChildren; live?: boolean }): VNode {
  const marks = { warn: "refused", bad: "failed", doubt: "unknown", plain: "done" } as const;
  return (
    <div class={`banner ${props.tone}`} role={props.live ? "status" : undefined}>
      <MarkIcon mark={props.mark ?? marks[props.tone]} />
      <span class="banner-text">{props.children}</span>
      {props.action && <><span class="sp" />{props.action}</>}
    </div>
  );
}

/** What could not be loaded, and a way to try again. */
export function Failed({ error, again, what }: { error: ApiError; again: () => void; what: string }): VNode {
  if (error.status === 501) return <Banner tone="plain" mark="later">{plain(error.message)}</Banner>;
  return (
    <Banner tone="bad" action={<button type="button" class="btn" onClick={again}>Try again</button>}>
      <b>{what}</b> {plain(error.message)}
    </Banner>
  );
}

/** Nothing here yet. */
export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren; level?: 2 | 3 }): VNode {
  const Level = `h${props.level ?? 2}` as "h2";
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <Level class="empty-h">{props.title}</Level>
      {props.children}
    </div>
  );
}

/** Whether something has been waited for long enough to say so (300 ms). */
export function useSlow(waiting: boolean): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!waiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, [waiting]);
  return slow && waiting;
}

/** Bones of rows that are on their way; nothing before 300 ms. */
export function Bones({ rows = 6, label }: { rows?: number; label: string }): VNode | null {
  if (!useSlow(true)) return null;
  return (
    <div class="bones" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, at) => <div class={`bone l${(at % 3) + 1}`} />)}
    </div>
  );
}

/** The search field of a screen; `/` goes to it. */
export function Search(props: { value: string; set: (value: string) => void; label: string; hint?: boolean }): VNode {
  return (
    <label class="field">
      <Icon name="search" small />
      <span class="sr">{props.label}</span>
      <input
        type="search" data-search placeholder={props.label} value={props.value} autocomplete="off" spellcheck={false}
        onInput={(event) => props.set(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && props.value) {
            event.stopPropagation();
            props.set("");
          }
        }}
      />
      {props.hint && <kbd aria-hidden="true">/</kbd>}
    </label>
  );
}

/** Text of others in a box, as it is: never as anything but text. */
export function Block(props: { title: string; note?: string; text: string; label?: string }): VNode {
  return (
    <div class="block">
      <p class="bh">{props.title} {props.note && <span>{props.note}</span>}</p>
      <pre tabIndex={0} role="region" aria-label={props.label ?? props.title} dir="auto">{plain(props.text)}</pre>
    </div>
  );
}

/** A button that copies, and says so. */
export function Copy({ text, label, class: name = "btn" }: { text: () => string; label: string; class?: string }): VNode {
  const [copied, setCopied] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" class={name} onClick={() => void copy().catch(() => {})}>
      <Icon name="copy" small />
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </button>
  );
}

/** JSON as a person reads it. */
export function pretty(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

/** `first 4.0 KB of 38.0 KB`, or the size alone. */
export function cutNote(shown: number, whole: number | undefined, cut: boolean | undefined): string {
  if (whole === undefined) return "";
  return cut ? `first ${size(shown)} of ${size(whole)}` : size(whole);
}

/** A pane that scrolls and can be reached with the keyboard. */
export function Scroll(props: { label: string; class?: string; children: ComponentChildren }): VNode {
  return <div class={`scroll ${props.class ?? ""}`} tabIndex={0} role="region" aria-label={props.label}>{props.children}</div>;
}
