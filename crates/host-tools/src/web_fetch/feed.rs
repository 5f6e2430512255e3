//! RSS and Atom as a list of entries.

use super::markdown::{self, Style};
use crate::web::markup::Language;
use crate::web::tree::{NodeId, Tree};
use host_vocab::text;
use std::fmt::Write as _;
use url::Url;

/// The most entries that are shown.
const ENTRIES_MAX: usize = 100;
/// The most text of an entry, in characters.
const ENTRY_CHARS_MAX: usize = 1500;
/// The most text of a field, in bytes, before it is shortened.
const FIELD_BYTES_MAX: usize = 64 * 1024;

/// The entries of a feed; `None` = it is none.
pub(super) fn render(xml: &str, base: &Url) -> Option<String> {
    let tree = Tree::parse(xml, Language::Xml);
    let root = tree.children(0).find(|&it| matches!(local(tree.name(it)), "rss" | "feed" | "RDF"))?;
    let channel = child(&tree, root, "channel").unwrap_or(root);
    let mut out = String::new();
    let title = field(&tree, channel, &["title"]).unwrap_or_else(|| "Feed".to_owned());
    let _infallible = writeln!(out, "# {title}");
    if let Some(about) = field(&tree, channel, &["subtitle", "description"]) {
        let _infallible = writeln!(out, "\n{about}");
    }
    // RSS 1.0 has its items beside the channel.
    let parents = if channel == root { vec![root] } else { vec![channel, root] };
    let is_entry = |&it: &NodeId| matches!(local(tree.name(it)), "item" | "entry");
    let entries: Vec<NodeId> =
        parents.into_iter().flat_map(|it| tree.children(it).filter(is_entry).collect::<Vec<_>>()).collect();
    for &entry in entries.iter().take(ENTRIES_MAX) {
        write_entry(&tree, entry, base, &mut out);
    }
    if entries.is_empty() {
        out.push_str("\n(no entries)\n");
    } else if entries.len() > ENTRIES_MAX {
        let _infallible = writeln!(out, "\n[{} more entries are left out]", entries.len() - ENTRIES_MAX);
    }
    Some(out)
}

fn write_entry(tree: &Tree, entry: NodeId, base: &Url, out: &mut String) {
    let title = field(tree, entry, &["title"]).unwrap_or_else(|| "(untitled)".to_owned());
    let _infallible = writeln!(out, "\n## {title}\n");
    let when = field(tree, entry, &["published", "pubDate", "updated", "date"]);
    let who = field(tree, entry, &["author", "creator"]);
    for line in [link(tree, entry, base), when, who].into_iter().flatten() {
        let _infallible = writeln!(out, "- {line}");
    }
    let body = ["summary", "description", "content", "encoded"].into_iter().find_map(|name| {
        let node = child(tree, entry, name)?;
        let written = prose(&tree.all_text(node, FIELD_BYTES_MAX), base);
        (!written.is_empty()).then_some(written)
    });
    if let Some(body) = body {
        let shown: String = body.chars().take(ENTRY_CHARS_MAX).collect();
        let more = if shown.len() < body.len() { " […]" } else { "" };
        let _infallible = writeln!(out, "\n{shown}{more}");
    }
}

/// The text of a field, which is HTML more often than not.
fn prose(html: &str, base: &Url) -> String {
    if !html.contains(['<', '&']) {
        return html.trim().to_owned();
    }
    let tree = Tree::parse(html, Language::Html);
    let skip = super::main_content::shown_alone(&tree);
    markdown::write(&tree, 0, &skip, Style { base, plain: false })
}

fn link(tree: &Tree, entry: NodeId, base: &Url) -> Option<String> {
    let links = tree.children(entry).filter(|&it| local(tree.name(it)) == "link");
    let mut found: Option<String> = None;
    for node in links {
        let text = tree.all_text(node, 2000);
        let target = tree.attribute(node, "href").map_or(text.trim(), str::trim).to_owned();
        let alternate = tree.attribute(node, "rel").is_none_or(|it| it == "alternate");
        if !target.is_empty() && (found.is_none() || alternate) {
            found = Some(target);
        }
    }
    let url = base.join(&found?).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

fn field(tree: &Tree, node: NodeId, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let text = tree.all_text(child(tree, node, name)?, FIELD_BYTES_MAX);
        let text = text::one_line(&crate::web::markup::resolved(&text), 300);
        (!text.is_empty()).then_some(text)
    })
}

fn child(tree: &Tree, node: NodeId, name: &str) -> Option<NodeId> {
    tree.children(node).find(|&it| local(tree.name(it)) == name)
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}
