//! Writes a part of a page as Markdown, or as plain text.

mod table;
mod writer;

use crate::web::tree::{NodeId, Tree, is_block};
use host_vocab::text;
use url::Url;
use writer::Writer;

/// The most text that a page becomes, in bytes; what follows is left out.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest address of a link that is kept, in bytes.
const LINK_BYTES_MAX: usize = 2000;

/// How it is written.
#[derive(Clone, Copy)]
pub(super) struct Style<'a> {
    /// What relative links start from.
    pub(super) base: &'a Url,
    /// Without marks and addresses.
    pub(super) plain: bool,
}

/// Writes what is below a node, less what is skipped.
pub(super) fn write(tree: &Tree, node: NodeId, skip: &[bool], style: Style<'_>) -> String {
    let mut blocks = vec![false; tree.len()];
    for node in (1..tree.len()).rev() {
        let below = blocks[node] || is_block(tree.name(node));
        blocks[tree.parent(node)] |= below && !skip[node];
    }
    let mut renderer = Renderer { tree, skip, blocks: &blocks, style, out: Writer::new(TEXT_BYTES_MAX) };
    renderer.children(node);
    renderer.out.finish()
}

struct Renderer<'a> {
    tree: &'a Tree,
    skip: &'a [bool],
    /// Whether there is a block below a node.
    blocks: &'a [bool],
    style: Style<'a>,
    out: Writer,
}

impl Renderer<'_> {
    fn children(&mut self, node: NodeId) {
        let tree = self.tree;
        for child in tree.children(node) {
            if self.out.is_full() {
                return;
            }
            if !self.skip[child] {
                self.node(child);
            }
        }
    }

    fn node(&mut self, node: NodeId) {
        if let Some(text) = self.tree.text(node) {
            self.out.text(text);
            return;
        }
        match self.tree.name(node) {
            "br" => self.out.line(),
            "hr" => self.rule(),
            "h1" => self.heading(node, 1),
            "h2" => self.heading(node, 2),
            "h3" => self.heading(node, 3),
            "h4" => self.heading(node, 4),
            "h5" | "h6" => self.heading(node, 5),
            "ul" | "menu" => self.list(node, None),
            "ol" => {
                let start = self.tree.attribute(node, "start").and_then(|it| it.trim().parse().ok());
                self.list(node, Some(start.unwrap_or(1)));
            }
            "li" => self.item(node, "- "),
            "blockquote" => self.nested(node, "> "),
            "dd" => self.nested(node, "  "),
            "dt" => {
                self.out.paragraph();
                self.marked(node, "**");
                self.out.line();
            }
            "pre" => self.preformatted(node),
            "code" | "kbd" | "samp" | "tt" => self.code(node),
            "strong" | "b" => self.marked(node, "**"),
            "em" | "i" => self.marked(node, "*"),
            "del" | "s" => self.marked(node, "~~"),
            "a" => self.link(node),
            "img" => self.image(node),
            "table" => self.table(node),
            "wbr" => {}
            name if is_block(name) => {
                self.out.paragraph();
                self.children(node);
                self.out.paragraph();
            }
            _ => self.children(node),
        }
    }

    fn rule(&mut self) {
        self.out.paragraph();
        if !self.style.plain {
            self.out.raw("---");
        }
        self.out.paragraph();
    }

    fn heading(&mut self, node: NodeId, level: usize) {
        self.out.paragraph();
        if !self.style.plain {
            self.out.open(&format!("{} ", "#".repeat(level)));
        }
        self.out.one_line(true);
        self.children(node);
        self.out.one_line(false);
        self.out.close("");
        self.out.paragraph();
    }

    fn list(&mut self, node: NodeId, start: Option<u32>) {
        self.out.list_begins();
        let mut number = start;
        let tree = self.tree;
        for child in tree.children(node) {
            if self.skip[child] || self.out.is_full() {
                continue;
            }
            if tree.name(child) == "li" {
                let marker = number.map_or_else(|| "- ".to_owned(), |it| format!("{it}. "));
                number = number.map(|it| it.saturating_add(1));
                self.item(child, &marker);
            } else {
                self.node(child);
            }
        }
        self.out.list_ends();
    }

    fn item(&mut self, node: NodeId, marker: &str) {
        self.out.line();
        self.out.indent(marker, &" ".repeat(marker.len()));
        self.children(node);
        self.out.dedent();
        self.out.line();
    }

    fn nested(&mut self, node: NodeId, prefix: &str) {
        self.out.paragraph();
        let prefix = if self.style.plain { "  " } else { prefix };
        self.out.indent(prefix, prefix);
        self.children(node);
        self.out.dedent();
        self.out.paragraph();
    }

    fn preformatted(&mut self, node: NodeId) {
        let content = self.tree.all_text(node, TEXT_BYTES_MAX);
        let content = content.strip_prefix('\n').unwrap_or(&content).trim_end();
        self.out.paragraph();
        if content.is_empty() {
            return;
        }
        if self.style.plain {
            self.out.raw_lines(content);
        } else {
            let fence = "`".repeat(longest_run(content, '`').max(2) + 1);
            let language = self.language(node).unwrap_or_default();
            self.out.raw(&format!("{fence}{language}"));
            self.out.line();
            self.out.raw_lines(content);
            self.out.line();
            self.out.raw(&fence);
        }
        self.out.paragraph();
    }

    /// The language that a class names, of the block itself or the `code` in it.
    fn language(&self, node: NodeId) -> Option<String> {
        let inner = self.tree.children(node).find(|&it| self.tree.name(it) == "code");
        let outer = self.tree.parent(node);
        inner.into_iter().chain([node, outer]).find_map(|it| {
            let classes = self.tree.attribute(it, "class")?;
            let name = classes.split_ascii_whitespace().find_map(|class| {
                ["language-", "lang-", "highlight-source-"].iter().find_map(|it| class.strip_prefix(it))
            })?;
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "+-#_.".contains(c));
            (plain && name.len() <= 20).then(|| name.to_owned())
        })
    }

    fn code(&mut self, node: NodeId) {
        let content = text::one_line(&self.tree.all_text(node, 20_000), 20_000);
        if content.is_empty() {
            return;
        }
        if self.style.plain || self.out.is_one_mark_deep() {
            self.out.text(&content);
            return;
        }
        let ticks = "`".repeat(longest_run(&content, '`') + 1);
        let pad = if content.starts_with('`') || content.ends_with('`') { " " } else { "" };
        self.out.raw(&format!("{ticks}{pad}{content}{pad}{ticks}"));
    }

    fn marked(&mut self, node: NodeId, mark: &str) {
        if self.style.plain || self.blocks[node] {
            self.children(node);
            return;
        }
        self.out.open(mark);
        self.children(node);
        self.out.close(mark);
    }

    fn link(&mut self, node: NodeId) {
        let target = self.tree.attribute(node, "href").and_then(|href| self.target(href));
        let Some(target) = target.filter(|_| !self.style.plain) else {
            self.children(node);
            return;
        };
        if self.blocks[node] {
            // A box that is a link as a whole.
            self.children(node);
            self.out.line();
            self.out.raw(&format!("<{target}>"));
            self.out.line();
            return;
        }
        self.out.open("[");
        self.children(node);
        self.out.close(&format!("]({target})"));
    }

    fn image(&mut self, node: NodeId) {
        let alt = text::one_line(self.tree.attribute(node, "alt").unwrap_or_default(), 500);
        if alt.is_empty() {
            return;
        }
        let source = self.tree.attribute(node, "src").and_then(|src| self.target(src));
        match source.filter(|_| !self.style.plain) {
            Some(source) => self.out.raw(&format!("![{alt}]({source})")),
            None => self.out.text(&format!("[image: {alt}]")),
        }
    }

    /// The whole address, where it leads to the web and is not only a place of the same page.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > LINK_BYTES_MAX {
            return None;
        }
        let url = self.style.base.join(href).ok()?;
        matches!(url.scheme(), "http" | "https")
            .then(|| url.as_str().replace('(', "%28").replace(')', "%29").replace(['<', '>'], ""))
    }
}

fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
