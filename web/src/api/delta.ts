// Changes of one message, in order (WEB-2).

import type { Delta, Message, Op } from "./types";

/** What became of a delta: taken, already known, or something before it is missing. */
export type Taken = { message: Message } | "old" | "gap";

/** Applies a delta to the message that it is about. */
export function take(message: Message, delta: Delta): Taken {
  if (delta.seq <= message.seq) return "old";
  if (delta.base !== message.seq) return "gap";
  let next: Message = message;
  try {
    for (const op of delta.ops) next = changed(next, op.path, op) as Message;
  } catch {
    return "gap";
  }
  return { message: { ...next, seq: delta.seq } as Message };
}

/** A copy of `node` in which what `path` names is changed; everything else is shared. */
function changed(node: unknown, path: (string | number)[], op: Op): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return applied(node, op);
  if (Array.isArray(node)) {
    const at = node.findIndex((entry) => (entry as { id?: unknown }).id === key);
    if (at < 0) throw new Error("no such entry");
    const copy = node.slice();
    copy[at] = changed(node[at], rest, op);
    return copy;
  }
  if (typeof node !== "object" || node === null || key === "__proto__") throw new Error("no such place");
  return { ...node, [key]: changed((node as Record<string, unknown>)[key], rest, op) };
}

function applied(value: unknown, op: Op): unknown {
  switch (op.op) {
    case "set":
      return op.value;
    case "append":
      if (Array.isArray(value)) return withEntry(value, op.value);
      if ((typeof value === "string" || value === undefined) && typeof op.value === "string") return (value ?? "") + op.value;
      throw new Error("nothing to append to");
    case "truncate":
      if (typeof value === "string" || Array.isArray(value)) return value.slice(0, op.length);
      throw new Error("nothing to cut");
    default:
      throw new Error("unknown change");
  }
}

/** Adds an entry, or puts it in the place of one with its id. */
function withEntry(list: unknown[], entry: unknown): unknown[] {
  const id = (entry as { id?: unknown } | null)?.id;
  const at = id === undefined ? -1 : list.findIndex((other) => (other as { id?: unknown }).id === id);
  if (at < 0) return [...list, entry];
  const copy = list.slice();
  copy[at] = entry;
  return copy;
}
