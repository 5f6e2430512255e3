//! A tree of markup with bounds: so many nodes, so deep. Children come after their parents in the list, so
//! whoever sums things up walks it backwards and needs no recursion.

use crate::web::markup::{Language, Piece, Pieces, Tag};

/// The most nodes of a tree; what follows is left out.
const NODES_MAX: usize = 400_000;
/// The deepest nesting; what is deeper hangs on the last level.
const DEPTH_MAX: usize = 160;

/// The place of a node in its tree.
pub(crate) type NodeId = usize;

/// A tree. The first node is its root, an element without a name.
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Whether something was left out.
    pub(crate) cut: bool,
}

struct Node {
    parent: NodeId,
    content: Content,
    first: Option<NodeId>,
    last: Option<NodeId>,
    next: Option<NodeId>,
}

enum Content {
    Element(Tag),
    Text(String),
}

impl Tree {
    /// Reads markup.
    pub(crate) fn parse(text: &str, language: Language) -> Tree {
        let mut builder = Builder::new(language);
        for piece in Pieces::new(text, language) {
            if builder.tree.nodes.len() >= NODES_MAX {
                builder.tree.cut = true;
                break;
            }
            match piece {
                Piece::Text(text) => builder.text(&text),
                Piece::Open(tag) => builder.open(tag),
                Piece::Close(name) => builder.close(&name),
            }
        }
        builder.tree
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node that holds this one; the root holds itself.
    pub(crate) fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node].parent
    }

    /// The text, where it is one.
    pub(crate) fn text(&self, node: NodeId) -> Option<&str> {
        match &self.nodes[node].content {
            Content::Text(text) => Some(text),
            Content::Element(_) => None,
        }
    }

    /// The element's name; empty for text and the root.
    pub(crate) fn name(&self, node: NodeId) -> &str {
        match &self.nodes[node].content {
            Content::Text(_) => "",
            Content::Element(tag) => &tag.name,
        }
    }

    /// An attribute.
    pub(crate) fn attribute(&self, node: NodeId, name: &str) -> Option<&str> {
        match &self.nodes[node].content {
            Content::Text(_) => None,
            Content::Element(tag) => {
                tag.attributes.iter().find(|(have, _)| *have == name).map(|(_, value)| value.as_str())
            }
        }
    }

    /// Whether one of its classes is this one.
    pub(crate) fn has_class(&self, node: NodeId, class: &str) -> bool {
        self.attribute(node, "class").is_some_and(|all| all.split_ascii_whitespace().any(|it| it == class))
    }

    /// Its children in order.
    pub(crate) fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.nodes[node].first, |&it| self.nodes[it].next)
    }

    /// All elements with this name, in order.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = NodeId> + 'a {
        (0..self.nodes.len()).filter(move |&node| self.name(node) == name)
    }

    /// The first element with this name.
    pub(crate) fn first(&self, name: &str) -> Option<NodeId> {
        self.named(name).next()
    }

    /// All text below a node, as it stands, up to a bound in bytes.
    pub(crate) fn all_text(&self, node: NodeId, bytes_max: usize) -> String {
        let mut out = String::new();
        self.collect(node, bytes_max, &mut out);
        out
    }

    fn collect(&self, node: NodeId, bytes_max: usize, out: &mut String) {
        if out.len() >= bytes_max {
            return;
        }
        match &self.nodes[node].content {
            Content::Text(text) => out.push_str(host_vocab::text::prefix(text, bytes_max - out.len())),
            Content::Element(tag) if matches!(tag.name.as_str(), "script" | "style") => {}
            Content::Element(tag) => {
                if tag.name == "br" {
                    out.push('\n');
                }
                for child in self.children(node) {
                    self.collect(child, bytes_max, out);
                }
            }
        }
    }
}

struct Builder {
    tree: Tree,
    language: Language,
    open: Vec<NodeId>,
    /// Elements that were opened below the deepest level.
    deeper: usize,
    /// How many of the open elements are drawings or formulas, where `/>` closes.
    foreign: usize,
}

impl Builder {
    fn new(language: Language) -> Self {
        let root = Node {
            parent: 0,
            content: Content::Element(Tag::default()),
            first: None,
            last: None,
            next: None,
        };
        let tree = Tree { nodes: vec![root], cut: false };
        Builder { tree, language, open: vec![0], deeper: 0, foreign: 0 }
    }

    fn append(&mut self, content: Content) -> NodeId {
        let parent = self.open.last().copied().unwrap_or(0);
        let id = self.tree.nodes.len();
        self.tree.nodes.push(Node { parent, content, first: None, last: None, next: None });
        match self.tree.nodes[parent].last.replace(id) {
            Some(before) => self.tree.nodes[before].next = Some(id),
            None => self.tree.nodes[parent].first = Some(id),
        }
        id
    }

    /// Text joins the text before it.
    fn text(&mut self, text: &str) {
        let parent = self.open.last().copied().unwrap_or(0);
        if let Some(last) = self.tree.nodes[parent].last
            && let Content::Text(before) = &mut self.tree.nodes[last].content
        {
            before.push_str(text);
        } else {
            self.append(Content::Text(text.to_owned()));
        }
    }

    fn open(&mut self, tag: Tag) {
        let name = tag.name.clone();
        let html = self.language == Language::Html;
        if html && self.deeper == 0 {
            self.close_implied(&name);
        }
        let starts_foreign = html && matches!(name.as_str(), "svg" | "math");
        let closes = tag.closed && (!html || starts_foreign || self.foreign > 0);
        let childless = closes || (html && is_void(&name));
        let id = self.append(Content::Element(tag));
        if childless {
            return;
        }
        if self.open.len() >= DEPTH_MAX {
            self.deeper += 1;
            return;
        }
        self.open.push(id);
        self.foreign += usize::from(starts_foreign);
    }

    fn close(&mut self, name: &str) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let html = self.language == Language::Html;
        let mut found = None;
        for (at, &id) in self.open.iter().enumerate().skip(1).rev() {
            let here = self.tree.name(id);
            if here == name {
                found = Some(at);
                break;
            }
            // What stands in a cell can't close what is around its table.
            if html && matches!(here, "td" | "th" | "table" | "caption") && !is_table_part(name) {
                break;
            }
        }
        match found {
            Some(at) => self.close_down_to(at),
            None if html && name == "br" => {
                self.append(Content::Element(Tag { name: "br".to_owned(), ..Tag::default() }));
            }
            None => {}
        }
    }

    fn close_down_to(&mut self, len: usize) {
        for id in self.open.drain(len..) {
            self.foreign -= usize::from(matches!(self.tree.name(id), "svg" | "math"));
        }
    }

    /// Ends what a start tag ends without a word.
    fn close_implied(&mut self, name: &str) {
        let (ends, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "tr" => (&["tr", "td", "th", "caption"], &["table"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "thead" | "tbody" | "tfoot" => {
                (&["thead", "tbody", "tfoot", "tr", "td", "th", "caption"], &["table"])
            }
            "option" => (&["option"], &["select", "datalist", "optgroup"]),
            name if is_block(name) => (&["p"], &[]),
            _ => return,
        };
        let mut outermost = None;
        for (at, &id) in self.open.iter().enumerate().skip(1).rev() {
            let here = self.tree.name(id);
            if ends.contains(&here) {
                outermost = Some(at);
            } else if within.contains(&here) || (ends == ["p"] && !is_inline(here)) {
                break;
            }
        }
        if let Some(at) = outermost {
            self.close_down_to(at);
        }
    }
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

fn is_table_part(name: &str) -> bool {
    matches!(name, "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" | "caption")
}

/// Whether an element makes a block of its own.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "center"
            | "details"
            | "dd"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "thead"
            | "tfoot"
            | "tr"
            | "td"
            | "th"
            | "ul"
            | "caption"
    )
}

fn is_inline(name: &str) -> bool {
    !is_block(name) && !matches!(name, "button" | "object" | "template" | "svg" | "math" | "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    fn outline(tree: &Tree, node: NodeId, depth: usize, out: &mut String) {
        let label = tree.text(node).map_or_else(|| format!("<{}>", tree.name(node)), |it| format!("{it:?}"));
        let _infallible = writeln!(out, "{:depth$}{label}", "");
        tree.children(node).for_each(|child| outline(tree, child, depth + 1, out));
    }

    fn shown(text: &str) -> String {
        let tree = Tree::parse(text, Language::Html);
        let mut out = String::new();
        outline(&tree, 0, 0, &mut out);
        out
    }

    // TOO-4
    #[test]
    fn broken_markup_gets_a_sensible_shape() {
        insta::assert_snapshot!(shown(
            "<ul><li>a<li>b<ul><li>c</ul><li>d</ul><p>one<div>two</p><b><i>x</b>y</i><table><tr><td>1</div><td>2\
             <tr><th>3</table><br></br><svg><path/><g>t</g></svg>end<dl><dt>t<dd>d<dt>u</dl>"
        ));
    }

    // TOO-4: the depth and the nodes are bounded, and the time with them.
    #[test]
    fn a_hostile_page_is_neither_deep_nor_slow() {
        let begun = Instant::now();
        for unit in
            ["<div>", "<b id=1>", "<p>", "<table>", "<a x=1 ", "<!--", "</p>", "<li><b>", "&am", "<script>"]
        {
            let page = unit.repeat(1_000_000 / unit.len());
            let tree = Tree::parse(&page, Language::Html);
            assert!(tree.len() <= NODES_MAX, "{unit}");
        }
        let deep = Tree::parse(&"<div>x".repeat(100_000), Language::Html);
        let depth = (0..deep.len())
            .map(|it| std::iter::successors(Some(it), |&at| (at != 0).then(|| deep.parent(at))).count());
        assert!(depth.max().unwrap() <= DEPTH_MAX + 2);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }

    proptest! {
        #[test]
        fn every_node_comes_after_its_parent(
            text in "(<p>|</p>|<table>|<td>|</td>|</table>|<li>|<ul>|</ul>|<b>|</b>|<svg/>|<svg>|</svg>|x){0,40}"
        ) {
            let tree = Tree::parse(&text, Language::Html);
            for node in 1..tree.len() {
                prop_assert!(tree.parent(node) < node);
            }
            let mut seen = 0;
            let mut queue = vec![0];
            while let Some(node) = queue.pop() {
                seen += 1;
                queue.extend(tree.children(node));
            }
            prop_assert_eq!(seen, tree.len());
        }
    }
}
