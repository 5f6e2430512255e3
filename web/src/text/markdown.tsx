// Markdown of others, as elements: no HTML is ever made from it. What isn't understood is shown as it was written.

import { lexer } from "marked";
import type { Token, Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { plain } from "./words";

/** How deep quotes, lists and emphasis may nest before the rest is shown as text. */
const DEPTH_MAX = 24;
/** The longest text whose inline marks are looked at, in characters; longer ones are shown as they are. */
const LEXED_MAX = 2_000_000;

/** The blocks of a text. Never throws: what can't be read is one block of text. */
export function blocksOf(text: string): Token[] {
  const source = plain(text);
  if (source.length <= LEXED_MAX && !tooNested(source)) {
    try {
      return lexer(source, { gfm: true }).filter((token) => token.type !== "space");
    } catch {
      // Falls through: shown as text.
    }
  }
  return pieces(source);
}

/** Text of a size that nobody formats by hand, in paragraphs. */
function pieces(source: string): Token[] {
  return source
    .split(/\n{2,}/)
    .filter(Boolean)
    .map((raw) => ({ type: "text", raw, text: raw }) as Token);
}

/** Whether a line opens more levels than any writer means: a reader of such text could take for ever. */
function tooNested(source: string): boolean {
  return /(?:^|\n)[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){25}/.test(source) || /[[*_~`]{400}/.test(source) || /(?:\[[^\]\n]{0,3}){200}/.test(source);
}

/** An answer that grows: blocks that can no longer change are kept, the rest is read again. */
export class Growing {
  private text = "";
  private blocks: Token[] = [];

  /** The blocks of `text`. Quick where it only became longer. */
  read(text: string): Token[] {
    if (text === this.text) return this.blocks;
    if (text.startsWith(this.text) && this.blocks.length > 2) {
      const kept = this.blocks.slice(0, -2);
      const from = kept.reduce((sum, block) => sum + block.raw.length, 0) + gapsIn(this.text, kept);
      if (from >= 0) {
        this.blocks = [...kept, ...blocksOf(text.slice(from))];
        this.text = text;
        return this.blocks;
      }
    }
    this.blocks = blocksOf(text);
    this.text = text;
    return this.blocks;
  }
}

/** Characters between the kept blocks; -1 where the text isn't made of them as it stands. */
function gapsIn(text: string, kept: Token[]): number {
  let at = 0;
  let gaps = 0;
  for (const block of kept) {
    const found = text.indexOf(block.raw, at);
    if (found < 0) return -1;
    gaps += found - at;
    at = found + block.raw.length;
  }
  return gaps;
}

/** Where a link may lead. */
export function safeHref(href: string): string | null {
  try {
    const url = new URL(href);
    return ["https:", "http:", "mailto:"].includes(url.protocol) && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Entities as the characters that they stand for; unknown ones stay as they were written. */
function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,8}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex!, 16);
    return code > 0 && code <= 0x10ffff ? plain(String.fromCodePoint(code)) : whole;
  });
}

/** One block as elements. */
export function Block({ token }: { token: Token }): VNode {
  return <>{block(token, 0)}</>;
}

function block(token: Token, depth: number): ComponentChildren {
  if (depth > DEPTH_MAX) return <p dir="auto">{token.raw}</p>;
  switch (token.type) {
    case "heading":
      return heading(token as Tokens.Heading, depth);
    case "paragraph":
      return <p dir="auto">{inlines(token.tokens, depth)}</p>;
    case "text":
      return <p dir="auto">{token.tokens ? inlines(token.tokens, depth) : unescaped(token.text as string)}</p>;
    case "code":
      return <Code text={token.text as string} lang={(token as Tokens.Code).lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "list":
      return list(token as Tokens.List, depth);
    case "table":
      return table(token as Tokens.Table, depth);
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <p dir="auto" class="raw">{token.raw.trimEnd()}</p>;
  }
}

function blocks(tokens: Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token) => block(token, depth));
}

function heading(token: Tokens.Heading, depth: number): VNode {
  // The page's own headings are levels 1 and 2.
  const Level = `h${Math.min(6, token.depth + 2)}` as "h3";
  return <Level class={`d${token.depth}`} dir="auto">{inlines(token.tokens, depth)}</Level>;
}

function list(token: Tokens.List, depth: number): VNode {
  const items = token.items.map((item) => (
    <li dir="auto" class={item.task ? "task" : undefined}>
      {item.task && <span class="box-mark" role="img" aria-label={item.checked ? "Done:" : "Open:"}>{item.checked ? "☑" : "☐"}</span>}
      {item.tokens.map((part) =>
        part.type === "text" && !token.loose ? inlines(part.tokens ?? [part], depth + 1) : block(part, depth + 1),
      )}
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={typeof token.start === "number" && token.start !== 1 ? token.start : undefined}>{items}</ol>;
}

function table(token: Tokens.Table, depth: number): VNode {
  const align = (at: number) => (token.align[at] === "right" ? "r" : token.align[at] === "center" ? "c" : undefined);
  return (
    <div class="tablewrap" tabIndex={0} role="region" aria-label="Table">
      <table class="prose-table">
        <thead>
          <tr>{token.header.map((cell, at) => <th scope="col" class={align(at)} dir="auto">{inlines(cell.tokens, depth + 1)}</th>)}</tr>
        </thead>
        <tbody>
          {token.rows.map((row) => (
            <tr>{row.map((cell, at) => <td class={align(at)} dir="auto">{inlines(cell.tokens, depth + 1)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Code({ text, lang }: { text: string; lang: string }): VNode {
  const name = /^[\w+#.-]{1,20}/.exec(lang)?.[0];
  return (
    <pre tabIndex={0} role="region" aria-label={name ? `Code, ${name}` : "Code"} dir="ltr">
      <code>{text}</code>
    </pre>
  );
}

function inlines(tokens: Token[] | undefined, depth: number): ComponentChildren {
  return (tokens ?? []).map((token) => inline(token, depth));
}

function inline(token: Token, depth: number): ComponentChildren {
  if (depth > DEPTH_MAX) return token.raw;
  switch (token.type) {
    case "text":
      return token.tokens ? inlines(token.tokens, depth + 1) : unescaped(token.text as string);
    case "escape":
      return unescaped(token.text as string);
    case "strong":
      return <strong>{inlines(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inlines(token.tokens, depth + 1)}</em>;
    case "del":
      return <del>{inlines(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{token.text as string}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token as Tokens.Link, depth);
    case "image":
      return picture(token as Tokens.Image);
    default:
      return token.raw;
  }
}

function link(token: Tokens.Link, depth: number): ComponentChildren {
  const href = safeHref(unescaped(token.href));
  const words = inlines(token.tokens, depth + 1);
  if (!href) return <>{words}{token.href && token.text !== token.href ? <code>{` ${token.href}`}</code> : null}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      <bdi>{words}</bdi>
    </a>
  );
}

/** A picture from elsewhere is never loaded: it would tell its server who reads. */
function picture(token: Tokens.Image): ComponentChildren {
  const href = safeHref(unescaped(token.href));
  const words = `picture: ${token.text || "no description"}`;
  return href ? <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}><bdi>{words}</bdi></a> : `[${words}]`;
}
