// What this device remembers by itself: drafts, what was read, widths. Losing it loses nothing that matters.

const PREFIX = "mono-agent:";
const DRAFTS_MAX = 40;
const DRAFT_CHARS_MAX = 32_768;
const DRAFT_AGE_MS = 30 * 24 * 3600 * 1000;

function read<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // A full or forbidden store: nothing is remembered, all still works.
  }
}

type Drafts = Record<string, { text: string; at: number }>;

/** The text that was not sent yet. */
export function draftOf(thread: string): string {
  return read<Drafts>("drafts", {})[thread]?.text ?? "";
}

/** Keeps a text that was not sent yet; an empty one is forgotten. */
export function keepDraft(thread: string, text: string): void {
  const drafts = read<Drafts>("drafts", {});
  const now = Date.now();
  if (text) drafts[thread] = { text: text.slice(0, DRAFT_CHARS_MAX), at: now };
  else delete drafts[thread];
  const kept = Object.entries(drafts)
    .filter(([, draft]) => now - draft.at < DRAFT_AGE_MS)
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, DRAFTS_MAX);
  write("drafts", Object.fromEntries(kept));
}

const SEEN_MAX = 500;

/** When a conversation was last looked at here; null where it never was. */
export function seenAt(thread: string): string | null {
  return read<Record<string, string>>("seen", {})[thread] ?? null;
}

/** Notes that a conversation was looked at as it was at `at`. */
export function saw(thread: string, at: string): void {
  const seen = read<Record<string, string>>("seen", {});
  if ((seen[thread] ?? "") >= at) return;
  delete seen[thread];
  seen[thread] = at;
  write("seen", Object.fromEntries(Object.entries(seen).slice(-SEEN_MAX)));
}

/** A choice of this device, such as an open pane. */
export function chosen<T>(key: string, otherwise: T): T {
  return read(`ui:${key}`, otherwise);
}

/** Remembers a choice of this device. */
export function choose(key: string, value: unknown): void {
  write(`ui:${key}`, value);
}
