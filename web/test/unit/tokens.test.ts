import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync(new URL("../../src/style/tokens.css", import.meta.url), "utf8");

/** The colours of a block of the style sheet. */
function colours(selector: string): Record<string, string> {
  const escaped = selector.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const block = new RegExp(`(?:^|\\n)\\s*${escaped}\\s*\\{([^}]*)\\}`).exec(css)?.[1];
  if (!block) throw new Error(`no block ${selector}`);
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map(([, name, value]) => [name!, value!]));
}

function luminance(hex: string): number {
  const part = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const TEXT: [string, string[]][] = [
  ["ink", ["canvas", "rail", "surface", "sunken", "bubble"]], ["ink-2", ["canvas", "rail", "surface", "sunken", "bubble", "accent-wash"]], ["ink-3", ["canvas", "rail", "surface", "sunken", "accent-wash"]],
  ["accent", ["canvas", "rail", "surface", "accent-wash"]], ["accent-ink", ["accent", "accent-hover"]], ["warn", ["surface", "canvas", "warn-wash"]], ["bad", ["surface", "canvas", "bad-wash"]],
  ["doubt", ["surface", "canvas", "doubt-wash"]], ["canvas", ["bad"]], ["hit-ink", ["hit"]],
];

// WEB-1 (WCAG 2.2 AA): computed from the style sheet, for each theme and accent.
describe.each([
  ["light", ":root", ':root[data-accent="X"]'],
  ["dark", ':root[data-theme="dark"]', ':root[data-theme="dark"][data-accent="X"]'],
])("%s", (_, base, accented) => {
  it.each(["evergreen", "ocean", "plum", "terracotta"])("text and controls in %s can be read", (accent) => {
    const own = accent === "evergreen" ? {} : colours(accented.replace("X", accent));
    const all: Record<string, string> = { ...colours(":root"), ...colours(base), ...own };
    for (const [text, grounds] of TEXT) {
      for (const ground of grounds) expect(contrast(all[text]!, all[ground]!), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
    for (const ground of ["canvas", "rail", "surface"]) expect(contrast(all["line-control"]!, all[ground]!)).toBeGreaterThanOrEqual(3);
  });
});

it("the dark theme of the system is the dark theme that is chosen", () => {
  expect(colours(':root:not([data-theme="light"])')).toEqual(colours(':root[data-theme="dark"]'));
});

it("no component uses a colour of its own", () => {
  for (const name of ["ground", "shell", "controls", "rows", "turn", "side", "tables", "runs", "narrow"]) {
    const text = readFileSync(new URL(`../../src/style/${name}.css`, import.meta.url), "utf8");
    expect(text.match(/#[0-9a-f]{3,8}\b(?=[;\s)])/g) ?? [], name).toEqual([]);
  }
});
