//! Finds the part of a page that people come for. First by what the page says of itself (`main`, `article`),
//! then by where its prose is; where neither leads to much, all of the page less its navigation, and at last
//! all of it.

use crate::web::tree::{NodeId, Tree, is_block};

/// The least text that counts as content, in characters.
const CONTENT_CHARS_MIN: usize = 140;
/// Below this a page that loads scripts counts as one that is drawn by them.
const SPARSE_CHARS: usize = 200;
/// The least text of a paragraph that counts for what it stands in.
const PARAGRAPH_CHARS_MIN: usize = 25;

/// Where the content is.
pub(super) struct Found {
    /// The element.
    pub(super) node: NodeId,
    /// What is left out below it, by node.
    pub(super) skip: Vec<bool>,
    /// How it was found: `main`, `scored`, `body` or `everything`.
    pub(super) stage: &'static str,
    /// Its text, in characters without white space.
    pub(super) chars: usize,
}

/// Finds it.
pub(super) fn find(tree: &Tree) -> Found {
    let body = tree.first("body").unwrap_or(0);
    let strict = Measure::of(tree, strict_skip(tree, body));
    let loose = || {
        let measure = Measure::of(tree, skip_where(tree, |node| is_never_shown(tree, node)));
        let chars = measure.text[body];
        Found { node: body, skip: measure.skip, stage: "everything", chars }
    };
    let whole = strict.text[body];
    if whole < CONTENT_CHARS_MIN {
        let all = loose();
        if all.chars > whole * 2 {
            return all;
        }
    }
    let enough = |node: NodeId, percent: usize| {
        strict.text[node] >= CONTENT_CHARS_MIN && strict.text[node] * 100 >= whole * percent
    };
    let found = if let Some(node) = declared(tree, &strict).filter(|&it| enough(it, 15)) {
        (node, "main")
    } else if let Some(node) = scored(tree, &strict, body).filter(|&it| enough(it, 30)) {
        (node, "scored")
    } else {
        (body, "body")
    };
    let chars = strict.text[found.0];
    Found { node: found.0, skip: strict.skip, stage: found.1, chars }
}

/// Whether a page looks as if its scripts draw it.
pub(super) fn looks_like_app(tree: &Tree, chars: usize) -> bool {
    let mount = |node: NodeId| {
        tree.attribute(node, "id").is_some_and(|id| {
            matches!(id, "root" | "app" | "__next" | "__nuxt" | "svelte" | "main-app" | "app-root")
        })
    };
    let scripts = tree.named("script").any(|it| tree.attribute(it, "src").is_some());
    let empty_mount = (0..tree.len()).any(|node| mount(node) || tree.name(node) == "app-root");
    chars < SPARSE_CHARS && scripts && (empty_mount || tree.first("noscript").is_some())
}

/// What is below each node, without what is left out.
struct Measure {
    skip: Vec<bool>,
    text: Vec<usize>,
    links: Vec<usize>,
    commas: Vec<usize>,
    blocks: Vec<bool>,
}

impl Measure {
    fn of(tree: &Tree, skip: Vec<bool>) -> Self {
        let len = tree.len();
        let mut it = Measure {
            skip,
            text: vec![0; len],
            links: vec![0; len],
            commas: vec![0; len],
            blocks: vec![false; len],
        };
        for node in (1..len).rev() {
            if it.skip[node] {
                continue;
            }
            if let Some(text) = tree.text(node) {
                it.text[node] = text.chars().filter(|c| !c.is_whitespace()).count();
                it.commas[node] = text.chars().filter(|c| matches!(c, ',' | '，' | '、' | '،')).count();
            }
            if tree.name(node) == "a" {
                it.links[node] = it.text[node];
            }
            let parent = tree.parent(node);
            it.text[parent] += it.text[node];
            it.links[parent] += it.links[node];
            it.commas[parent] += it.commas[node];
            it.blocks[parent] |= it.blocks[node] || is_block(tree.name(node));
        }
        it
    }

    /// How much of a node's text is links, from 0 to 1.
    fn link_density(&self, node: NodeId) -> f64 {
        if self.text[node] == 0 { 0.0 } else { self.links[node] as f64 / self.text[node] as f64 }
    }
}

/// Marks what a rule names, and all below it.
fn skip_where(tree: &Tree, rule: impl Fn(NodeId) -> bool) -> Vec<bool> {
    let mut skip = vec![false; tree.len()];
    for node in 1..tree.len() {
        skip[node] = skip[tree.parent(node)] || (tree.text(node).is_none() && rule(node));
    }
    skip
}

fn strict_skip(tree: &Tree, body: NodeId) -> Vec<bool> {
    let in_content = {
        let mut inside = vec![false; tree.len()];
        for node in 1..tree.len() {
            inside[node] =
                inside[tree.parent(node)] || matches!(tree.name(node), "main" | "article" | "blockquote");
        }
        inside
    };
    let plain = skip_where(tree, |node| {
        is_never_shown(tree, node) || is_beside_the_content(tree, node, in_content[node])
    });
    let sizes = Measure::of(tree, plain.clone());
    let whole = sizes.text[body];
    // A name alone proves nothing of what holds a good part of the page.
    skip_where(tree, |node| {
        plain[node] || (sizes.text[node] * 100 < whole * 40 && is_named_as_beside(tree, node))
    })
}

/// What no reader sees.
fn is_never_shown(tree: &Tree, node: NodeId) -> bool {
    let by_name = matches!(
        tree.name(node),
        "script"
            | "style"
            | "template"
            | "iframe"
            | "object"
            | "embed"
            | "canvas"
            | "audio"
            | "video"
            | "map"
            | "svg"
            | "head"
            | "link"
            | "meta"
            | "title"
            | "input"
            | "select"
            | "textarea"
            | "datalist"
            | "noframes"
            | "noembed"
            | "annotation"
    );
    by_name || tree.attribute(node, "hidden").is_some() || is_styled_away(tree, node)
}

/// Whether a style hides it: the usual place of text that is meant for machines alone.
fn is_styled_away(tree: &Tree, node: NodeId) -> bool {
    let Some(style) = tree.attribute(node, "style") else { return false };
    let style: String =
        style.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
    style.split(';').any(|rule| {
        let rule = rule.trim_end_matches("!important");
        match rule.split_once(':') {
            Some(("display", "none")) | Some(("visibility", "hidden" | "collapse")) => true,
            Some(("opacity" | "font-size", value)) => {
                value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').parse() == Ok(0.0)
            }
            _ => false,
        }
    })
}

fn is_beside_the_content(tree: &Tree, node: NodeId, in_content: bool) -> bool {
    let role = tree.attribute(node, "role").unwrap_or_default();
    match tree.name(node) {
        "nav" | "aside" | "footer" | "dialog" | "button" | "noscript" | "search" => true,
        "header" => !in_content,
        "a" if matches!(tree.attribute(node, "class"), Some("headerlink" | "anchor" | "hash-link")) => true,
        _ => {
            tree.attribute(node, "aria-hidden") == Some("true")
                || matches!(
                    role,
                    "navigation"
                        | "contentinfo"
                        | "complementary"
                        | "search"
                        | "dialog"
                        | "alertdialog"
                        | "menu"
                        | "menubar"
                        | "toolbar"
                )
                || (role == "banner" && !in_content)
        }
    }
}

const BESIDE: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "banner",
    "breadcrumb",
    "breadcrumbs",
    "comments",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "footer",
    "masthead",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "outbrain",
    "pager",
    "pagination",
    "popup",
    "promo",
    "recommended",
    "related",
    "share",
    "sharing",
    "sidebar",
    "skip",
    "social",
    "sponsor",
    "sponsored",
    "subscribe",
    "taboola",
    "toc",
    "toolbar",
    "editsection",
    "noprint",
];

/// Whether its class or id calls it something beside the content.
fn is_named_as_beside(tree: &Tree, node: NodeId) -> bool {
    if !matches!(
        tree.name(node),
        "div" | "section" | "ul" | "ol" | "span" | "p" | "table" | "header" | "form"
    ) {
        return false;
    }
    ["class", "id"].into_iter().filter_map(|it| tree.attribute(node, it)).any(|names| {
        let names = names.to_ascii_lowercase();
        let words = names.split(|c: char| !c.is_ascii_alphanumeric());
        words.into_iter().any(|word| BESIDE.contains(&word))
    })
}

/// What the page itself calls its content.
fn declared(tree: &Tree, measure: &Measure) -> Option<NodeId> {
    let largest = |nodes: Vec<NodeId>| nodes.into_iter().max_by_key(|&node| measure.text[node]);
    let live = |node: &NodeId| !measure.skip[*node];
    let all = 1..tree.len();
    let mains: Vec<NodeId> = all
        .filter(|&it| tree.name(it) == "main" || tree.attribute(it, "role") == Some("main"))
        .filter(live)
        .collect();
    let articles: Vec<NodeId> = tree.named("article").filter(live).collect();
    let main = largest(mains);
    // One article that is most of its page is closer than the frame around it.
    let one =
        largest(articles).filter(|&it| measure.text[it] * 100 >= measure.text[main.unwrap_or(0)].max(1) * 60);
    one.or(main)
}

/// Where the prose is: each paragraph counts for what it stands in, and half for what that stands in.
fn scored(tree: &Tree, measure: &Measure, body: NodeId) -> Option<NodeId> {
    let mut scores = vec![0.0_f64; tree.len()];
    for node in 1..tree.len() {
        let name = tree.name(node);
        let prose = matches!(name, "p" | "pre" | "blockquote" | "td" | "dd")
            || (matches!(name, "div" | "section" | "li") && !measure.blocks[node]);
        if !prose || measure.skip[node] || measure.text[node] < PARAGRAPH_CHARS_MIN {
            continue;
        }
        let score = 1.0 + measure.commas[node] as f64 + (measure.text[node] as f64 / 100.0).min(3.0);
        let parent = tree.parent(node);
        scores[parent] += score;
        scores[tree.parent(parent)] += score / 2.0;
    }
    let weighed = |node: NodeId| scores[node] * (1.0 - measure.link_density(node));
    let mut best = (1..tree.len())
        .filter(|&node| scores[node] > 0.0 && !measure.skip[node])
        .max_by(|&a, &b| weighed(a).total_cmp(&weighed(b)))?;
    // Prose that is spread over several boxes has them all in one.
    while best != body && best != 0 && measure.text[best] * 2 < measure.text[body] {
        let parent = tree.parent(best);
        if measure.link_density(parent) > 0.5 {
            break;
        }
        best = parent;
    }
    Some(best)
}

/// What a fragment that stands alone leaves out: what no reader sees.
pub(super) fn shown_alone(tree: &Tree) -> Vec<bool> {
    skip_where(tree, |node| is_never_shown(tree, node))
}
