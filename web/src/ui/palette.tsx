// What keys summon: the palette to go anywhere and act, and the list of keys.

import type { VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { go, to } from "../state/router";
import { agent, agents, setSettings, threads } from "../state/store";
import { oneLine, plain } from "../text/words";
import { Icon } from "./icons";
import type { IconName } from "./icons";
import { summoned } from "./keys";
import { Modal } from "./overlay";

type Deed = { label: string; kind: string; icon: IconName; act: () => void };

function deeds(): Deed[] {
  const id = agent.value?.id;
  const places = [["chats", "Chats"], ["runs", "Runs"], ["tools", "Tools"], ["servers", "Servers"], ["memory", "Memory"], ["audit", "Audit"]] as const;
  const all: Deed[] = [];
  if (id) {
    all.push({ label: "New conversation", kind: "Do", icon: "pen", act: () => go(to(id, "chats", "new")) });
    for (const [screen, label] of places) all.push({ label, kind: "Go to", icon: screen, act: () => go(to(id, screen)) });
  }
  all.push({ label: "Settings", kind: "Go to", icon: "settings", act: () => go("/settings") });
  for (const theme of ["light", "dark", "system"] as const) {
    all.push({ label: `Theme: ${theme}`, kind: "Do", icon: "settings", act: () => void setSettings({ theme }).catch(() => {}) });
  }
  for (const it of agents.value) {
    all.push({ label: plain(it.name), kind: "Agent", icon: "brand", act: () => go(to(it.id, "chats")) });
  }
  const rows = [...threads.value.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
  for (const row of rows) all.push({ label: oneLine(row.title), kind: "Conversation", icon: "chats", act: () => go(to(row.agentId, "chats", row.id)) });
  return all;
}

/** Finds every word of `query`, in any order. */
export function finds(label: string, query: string): boolean {
  const low = label.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

/** The palette: a combobox with a listbox. */
export function Palette(): VNode {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const found = deeds().filter((it) => finds(`${it.kind} ${it.label}`, query.trim())).slice(0, 50);
  const close = () => (summoned.value = null);
  const act = (deed: Deed | undefined) => {
    if (!deed) return;
    close();
    deed.act();
  };
  const move = (to: number) => {
    const next = Math.max(0, Math.min(found.length - 1, to));
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Modal kind="dialog" label="Go to or do" close={close}>
      <label class="field palette-field">
        <Icon name="search" small />
        <span class="sr">Go to or do</span>
        <input
          data-first role="combobox" aria-expanded="true" aria-controls={id} aria-autocomplete="list" aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          placeholder="Go to or do" value={query} autocomplete="off" spellcheck={false}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") move(at + 1);
            else if (event.key === "ArrowUp") move(at - 1);
            else if (event.key === "Enter") act(found[at]);
            else return;
            event.preventDefault();
          }}
        />
      </label>
      <ul class="palette" id={id} role="listbox" aria-label="Found" ref={list}>
        {found.map((deed, n) => (
          <li key={`${deed.kind} ${deed.label} ${n}`} id={`${id}-${n}`} role="option" aria-selected={n === at} onMouseMove={() => setAt(n)} onClick={() => act(deed)}>
            <Icon name={deed.icon} small /><span class="cut"><bdi>{deed.label}</bdi></span><span class="meta">{deed.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="why" role="status">Nothing fits.</p>}
    </Modal>
  );
}

const KEYS: [string, string][] = [
  ["Ctrl K", "Go to or do"], ["/", "Search of this screen"], ["n", "New conversation"], ["g then c r t s m a", "Chats, Runs, Tools, Servers, Memory, Audit"],
  ["j  k", "Next, previous row"], ["Enter", "Open; send in the composer"], ["→  ←", "Unfold, fold a row of activity"], [".", "Fold or unfold the latest activity"],
  ["Alt A", "What needs you"], ["[  ]", "List pane, details pane"], ["Alt ↑  Alt ↓", "Previous, next message"], ["F6", "Next part of the page"],
  ["Esc", "Close, or leave the field"], ["Esc Esc", "Stop the turn"], ["?", "This list"],
];

/** The list of keys. */
export function KeyList(): VNode {
  const close = () => (summoned.value = null);
  return (
    <Modal kind="dialog" label="Keys" close={close}>
      <h2 class="h-ask">Keys</h2>
      <dl class="key-list">
        {KEYS.map(([key, does]) => <><dt><kbd>{key}</kbd></dt><dd>{does}</dd></>)}
      </dl>
      <p class="why">Letters work outside fields. They can be turned off in Settings.</p>
      <div class="acts"><button type="button" class="btn" data-first onClick={close}>Close</button></div>
    </Modal>
  );
}
