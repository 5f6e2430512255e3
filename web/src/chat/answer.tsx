// The text of an answer, block by block: only what changed is drawn again, and what is too long comes in pieces.

import type { Token } from "marked";
import { memo } from "../ui/memo";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Block, Growing } from "../text/markdown";
import { size } from "../text/words";

/** How much of an answer is drawn at once, in blocks and in characters. */
const BLOCKS_MAX = 400;
const CHARS_MAX = 200_000;

const Kept = memo(Block, (a: { token: Token }, b: { token: Token }) => a.token.raw === b.token.raw && a.token.type === b.token.type);

/** How many of the blocks fit. */
export function fitting(blocks: Token[], from: number, step: 1 | -1): number {
  let chars = 0;
  let n = 0;
  for (let at = from; at >= 0 && at < blocks.length && n < BLOCKS_MAX; at += step) {
    chars += blocks[at]!.raw.length;
    if (n > 0 && chars > CHARS_MAX) break;
    n += 1;
  }
  return n;
}

/** An answer's text. While it grows its end is shown, afterwards its beginning. */
export function AnswerText({ text, growing }: { text: string; growing: boolean }): VNode | null {
  const reader = useMemo(() => new Growing(), []);
  const [pages, setPages] = useState(1);
  if (!text && !growing) return null;
  const blocks = reader.read(text);
  let start = 0;
  let end = blocks.length;
  for (let page = 0, at = growing ? end - 1 : 0; page < pages; page += 1) {
    const n = fitting(blocks, at, growing ? -1 : 1);
    at = growing ? at - n : at + n;
    if (growing) start = Math.max(0, at + 1);
    else end = Math.min(blocks.length, at);
  }
  const hidden = (part: Token[]) => size(part.reduce((sum, block) => sum + block.raw.length, 0));
  const long = blocks.length > 60;
  return (
    <div class={`answer${long ? " long" : ""}${growing ? " growing" : ""}`} aria-busy={growing || undefined}>
      {start > 0 && <button type="button" class="link" onClick={() => setPages(pages + 1)}>Show what came before ({hidden(blocks.slice(0, start))})</button>}
      {blocks.slice(start, end).map((token, at) => <Kept key={start + at} token={clipped(token)} />)}
      {growing && blocks.length === 0 && <p />}
      {end < blocks.length && <button type="button" class="link" onClick={() => setPages(pages + 1)}>Show more of this answer ({hidden(blocks.slice(end))} left)</button>}
    </div>
  );
}

/** A single block that no page holds: its beginning as text. */
function clipped(token: Token): Token {
  if (token.raw.length <= CHARS_MAX) return token;
  const raw = `${token.raw.slice(0, CHARS_MAX)}…`;
  return { type: token.type === "code" ? "code" : "text", raw, text: raw, lang: "" } as Token;
}
