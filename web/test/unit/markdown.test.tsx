import { render } from "preact-render-to-string";
import { describe, expect, it } from "vitest";
import { Block, blocksOf, Growing, safeHref } from "../../src/text/markdown";

const html = (text: string) => render(<>{blocksOf(text).map((token) => <Block token={token} />)}</>);

describe("Markdown", () => {
  it("becomes the elements that it means", () => {
    const text = "# Title\n\nA **bold** and *soft* `code` line.\n\n- one\n- two\n\n1. a\n2. b\n\n> said\n\n---\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```js\nlet x = 1 < 2;\n```";
    const out = html(text);
    for (const part of ["<h3", "<strong>bold</strong>", "<em>soft</em>", "<code>code</code>", "<ul><li", "<ol><li", "<blockquote>", "<hr", "<th scope=\"col\"", "class=\"r\"", "let x = 1 &lt; 2;"]) {
      expect(out).toContain(part);
    }
  });

  it("keeps entities and escapes as a person means them", () => {
    expect(html("a &amp; b &lt;c&gt; \\*d\\*")).toContain("a &amp; b &lt;c> *d*");
    expect(html("`&amp;`")).toContain("<code>&amp;amp;</code>");
  });

  // WEB-1: text of models is never markup but the allowed Markdown.
  const HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "a <b onclick=alert(1)>b</b>", "<iframe srcdoc='<script>'></iframe>",
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\nscript:alert(1))", "[x](&#106;avascript:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](vbscript:x)",
    "<javascript:alert(1)>", "![x](javascript:alert(1))", "[x]: javascript:alert(1)\n\n[x]", "[x](https://user:pass@evil.example)", "```\"><script>alert(1)</script>\nx\n```", "<!-- <script> -->",
    "<a href=\"javascript:alert(1)\">x</a>", "[a](<javascript:alert(1)>)", "<style>*{display:none}</style>", "<form action=//evil><input name=token></form>",
  ];
  it.each(HOSTILE)("hostile text stays text: %s", (text) => {
    const out = html(text);
    expect(out).not.toMatch(/<(script|img|svg|iframe|style|form|input|b|object|embed|meta|link|base)[\s>/]/i);
    expect(out).not.toMatch(/<[^>]*\son\w+=/i);
    expect(out).not.toMatch(/<[^>]*(href|src|title)="(javascript|data|vbscript):/i);
    expect(out).not.toMatch(/<[^>]*href="[^"]*pass@/);
  });

  it("loads no picture: it would tell its server who reads", () => {
    const out = html("![chart](https://elsewhere.example/track.png)");
    expect(out).not.toContain("<img");
    expect(out).toContain('href="https://elsewhere.example/track.png"');
    expect(out).toContain('rel="noopener noreferrer nofollow"');
  });

  it("shows where a link leads, and leads only to the web and to mail", () => {
    expect(safeHref("https://example.com/a")).toBe("https://example.com/a");
    expect(safeHref("mailto:a@example.com")).toBe("mailto:a@example.com");
    for (const href of ["javascript:1", "file:///etc/passwd", "/api/v1/threads", "//evil.example", "blob:x", "https://a:b@c.example", "about:blank", ""]) expect(safeHref(href)).toBeNull();
  });

  it("takes out what can't be seen and what turns text around", () => {
    const out = html("invoice\u202Efdp.exe \u0000\u0007\u2066x\u2069");
    expect(out).toContain("invoicefdp.exe x");
  });

  it("reads text that is made to take for ever, and text that is deep, in a moment", () => {
    const nasty = [
      ">".repeat(50_000) + "x", "- ".repeat(20_000) + "x", "[".repeat(50_000), "*".repeat(60_000) + "a", "`".repeat(50_000) + "a", "![".repeat(20_000), "<".repeat(50_000),
      "_a ".repeat(30_000), "[a](".repeat(10_000), "| a ".repeat(5_000) + "|\n" + "|---".repeat(5_000) + "|\n", "**a ".repeat(10_000), "1. ".repeat(20_000), "~".repeat(50_000), "&".repeat(50_000),
    ];
    for (const text of nasty) {
      const from = performance.now();
      html(text);
      expect(performance.now() - from, JSON.stringify(text.slice(0, 12))).toBeLessThan(2_500);
    }
  }, 60_000);

  it("a text of five megabytes is read in time", () => {
    const text = "A paragraph with **some** words.\n\n".repeat(150_000);
    const from = performance.now();
    expect(blocksOf(text).length).toBeGreaterThan(100_000);
    expect(performance.now() - from).toBeLessThan(4_000);
  }, 30_000);
});

describe("an answer that grows", () => {
  const WHOLE = "# Head\n\nFirst *paragraph* of\nsome words.\n\n- one\n- two\n  - deep\n- three\n\n```py\nprint(1)\n\nprint(2)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n> more\n\nThe end.\n\n1. x\n\n2. y\n";
  it("reads the same as one that came at once, wherever it is cut", () => {
    const shape = (tokens: { type: string; raw: string }[]) => tokens.map((token) => [token.type, token.raw.trimEnd()]);
    for (const step of [1, 3, 7]) {
      const growing = new Growing();
      for (let end = step; end < WHOLE.length; end += step) growing.read(WHOLE.slice(0, end));
      expect(shape(growing.read(WHOLE))).toEqual(shape(blocksOf(WHOLE)));
    }
  });
  it("begins anew where text was cut off", () => {
    const growing = new Growing();
    growing.read("a\n\nb\n\nc\n\nd");
    expect(growing.read("other").map((token) => token.raw)).toEqual(["other"]);
  });
  it("keeps blocks that can no longer change", () => {
    const growing = new Growing();
    const first = growing.read("a\n\nb\n\nc\n\nd");
    const then = growing.read("a\n\nb\n\nc\n\nd and more");
    expect(then[0]).toBe(first[0]);
    expect(then[1]).toBe(first[1]);
  });
});
