//! The outline of a large text: its sections with the lines where they begin (FIL-2, FIL-3).

use super::code_outline;
use host_vocab::text;
use std::collections::HashMap;
use std::fmt::Write as _;

/// The most sections that are shown.
const SECTIONS_MAX: usize = 400;

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// A name for it that comes from the text, unique in the file.
    pub(super) id: String,
    /// Its heading or definition.
    pub(super) label: String,
    /// Its first line, from 1.
    pub(super) line: usize,
    /// How deep it lies, from 1.
    pub(super) depth: usize,
}

/// The sections of a text by the kind that its name tells; none = it has no outline.
pub(super) fn sections(name: &str, content: &str) -> Vec<Section> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    let mut sections = match ending.as_str() {
        "md" | "markdown" | "mdx" => markdown(content),
        other => code_outline::sections(other, content),
    };
    make_unique(&mut sections);
    sections
}

/// The outline as the model sees it.
pub(super) fn render(shown: &str, content: &str, sections: &[Section]) -> String {
    let lines = content.lines().count();
    let tokens = content.chars().count() / 3;
    let mut out = format!(
        "{shown}: {lines} lines, about {tokens} tokens. This is its outline (line, section, id). Read a part with \
         start_line and limit, or all of it with raw.\n"
    );
    for section in sections.iter().take(SECTIONS_MAX) {
        let indent = "  ".repeat(section.depth.saturating_sub(1).min(6));
        let _ = writeln!(
            out,
            "{}\t{indent}{}\t#{}",
            section.line,
            text::one_line(&section.label, 160),
            section.id
        );
    }
    if sections.len() > SECTIONS_MAX {
        let _ = writeln!(out, "[{} more sections are not shown]", sections.len() - SECTIONS_MAX);
    }
    out
}

/// Headings outside of code fences and front matter: `#` ones; underlined ones where there is no `#` one.
fn markdown(content: &str) -> Vec<Section> {
    let lines: Vec<&str> = content.lines().collect();
    let start = content[..crate::shape::front_matter_len(content.as_bytes())].lines().count();
    let mut atx = Vec::new();
    let mut setext = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    for (index, line) in lines.iter().enumerate().skip(start) {
        if let Some(mark) = fence_mark(line) {
            fence = match fence {
                None => Some(mark),
                Some((c, len)) if mark.0 == c && mark.1 >= len => None,
                open => open,
            };
            continue;
        }
        if fence.is_some() || line.starts_with("    ") || line.starts_with('\t') {
            continue;
        }
        if let Some((depth, label)) = atx_heading(line) {
            atx.push(section(label, index + 1, depth));
        } else if let Some(depth) = underline(line)
            && index > start
            && is_heading_text(lines[index - 1])
        {
            setext.push(section(lines[index - 1], index, depth));
        }
    }
    if atx.is_empty() { setext } else { atx }
}

fn section(label: &str, line: usize, depth: usize) -> Section {
    let label = plain_links(label.trim());
    Section { id: slug(&label), label, line, depth }
}

fn fence_mark(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let c = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = text.chars().take_while(|other| *other == c).count();
    (len >= 3 && line.len() - text.len() <= 3).then_some((c, len))
}

fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches(' ');
    let depth = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[depth..];
    if !(1..=6).contains(&depth) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let label = rest.trim();
    let closed = label.trim_end_matches('#');
    let label = if closed.is_empty() || closed.ends_with(' ') { closed.trim_end() } else { label };
    (!label.is_empty()).then_some((depth, label))
}

fn underline(line: &str) -> Option<usize> {
    let text = line.trim();
    let all = |c: u8| !text.is_empty() && text.bytes().all(|byte| byte == c);
    if all(b'=') {
        Some(1)
    } else if all(b'-') && text.len() >= 2 {
        Some(2)
    } else {
        None
    }
}

fn is_heading_text(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with(['|', '>', '-', '*', '+']) && underline(line).is_none()
}

/// `[label](where)` and `[label][ref]` as their label.
fn plain_links(text: &str) -> String {
    static LINK: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
        regex::Regex::new(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
            .expect("the pattern is a literal; its test compiles it")
    });
    LINK.replace_all(text, "$1").into_owned()
}

fn slug(label: &str) -> String {
    let mut out = String::new();
    for c in label.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let slug = out.trim_end_matches('-');
    if slug.is_empty() { "section".to_owned() } else { text::prefix(slug, 80).to_owned() }
}

fn make_unique(sections: &mut [Section]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for section in sections {
        let count = seen.entry(section.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            section.id = format!("{}-{count}", section.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        sections("a.md", text).into_iter().map(|s| format!("{}:{}:{}", s.line, s.depth, s.id)).collect()
    }

    // FIL-3
    #[test]
    fn headings_of_markdown() {
        let text = "---\na: b\n---\n# One [two](http://x/y_(z))\n```\n# no\n```\n    # no\nTitle\n---\n## A #\n## A\n#no\n";
        assert_eq!(ids(text), ["4:1:one-two", "11:2:a", "12:2:a-2"]);
    }

    // FIL-3
    #[test]
    fn underlined_headings_count_where_there_are_no_others() {
        let text = "Title\n=====\n\ntext\n\nSub\n---\n\n| a |\n|---|\n\n---\n- x\n---\n";
        assert_eq!(ids(text), ["1:1:title", "6:2:sub"]);
    }
}
