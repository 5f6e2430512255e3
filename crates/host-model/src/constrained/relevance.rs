//! Which tools a person's words are about.

use host_ports::model::ToolSpec;
use std::collections::HashSet;

/// Words that hint at a tool beside those of its own name.
const HINTS: &[(&str, &[&str], &[&str])] = &[
    (
        "read",
        &["read", "open", "show", "look", "view"],
        &["tell", "content", "contents", "written", "says", "line"],
    ),
    ("listdir", &["list", "ls"], &["folder", "directory", "files"]),
    ("exec", &["run", "execute", "exec", "launch"], &["command", "program"]),
    ("bash", &["shell", "bash"], &["run", "command", "script"]),
    ("write", &["write", "create", "save"], &["put", "new"]),
    ("edit", &["edit", "replace", "change", "rename"], &["instead", "fix"]),
    ("grep", &["search", "grep", "occurrences"], &["find", "contain", "contains", "word", "where"]),
    ("glob", &["glob", "pattern"], &["find", "files", "end", "ending", "named", "match"]),
    ("webfetch", &["fetch", "download", "url", "http", "https"], &["page", "website"]),
    ("websearch", &["internet", "online", "news"], &["search", "web"]),
];

/// Words that say nothing.
const EMPTY: &[&str] = &[
    "the", "and", "for", "with", "from", "this", "that", "are", "you", "what", "which", "its", "into", "out",
    "use", "tool", "have", "has", "not", "all", "any", "can", "file", "text", "one", "when", "where", "will",
    "then", "your", "give", "gives", "please", "tell",
];

/// A tool's name without case and separators.
pub(super) fn plain_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// How near a tool is to a text: 0 = it has nothing in common with it.
pub(super) fn score(tool: &ToolSpec, text: &str) -> u32 {
    let said: HashSet<String> = words(text).collect();
    let name = plain_name(&tool.name);
    let mut score = 0;
    if text.contains(&tool.name) {
        score += 6;
    }
    score += 3 * words_of_name(&tool.name).filter(|word| said.contains(word)).count() as u32;
    for (of, strong, weak) in HINTS.iter().filter(|(of, ..)| *of == name) {
        score += 4 * strong.iter().filter(|word| said.contains(**word)).count() as u32;
        score += weak.iter().filter(|word| said.contains(**word)).count() as u32;
        if *of == "read" && names_a_file(text) {
            score += 2;
        }
    }
    let described: HashSet<String> = words(&tool.description).filter(|word| word.len() >= 5).collect();
    score + described.iter().filter(|word| said.contains(*word)).take(3).count() as u32
}

/// The tools to offer, best first, and those that are left out. Equal ones keep their order.
pub(super) fn choose<'a>(
    tools: &'a [ToolSpec],
    text: &str,
    in_use: &HashSet<&str>,
    tools_max: usize,
    relevant_only: bool,
) -> (Vec<&'a ToolSpec>, Vec<&'a ToolSpec>) {
    if tools.len() <= tools_max && !relevant_only {
        return (tools.iter().collect(), Vec::new());
    }
    let mut scored: Vec<(u32, &ToolSpec)> = tools
        .iter()
        .map(|tool| (score(tool, text) + if in_use.contains(tool.name.as_str()) { 2 } else { 0 }, tool))
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let fit = scored.iter().take(tools_max).take_while(|(score, _)| *score > 0 || !relevant_only).count();
    let left = scored.split_off(fit);
    (scored.into_iter().map(|(_, tool)| tool).collect(), left.into_iter().map(|(_, tool)| tool).collect())
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| word.len() >= 2 && !EMPTY.contains(&word.as_str()))
}

/// `ListDir`, `list-dir` and `mcp__time__get_time` in words.
fn words_of_name(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(c);
    }
    let list: HashSet<String> = words(&spaced).filter(|word| word != "mcp").collect();
    list.into_iter()
}

/// Whether something like `notes.txt` stands in a text.
fn names_a_file(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.rsplit_once('.').is_some_and(|(stem, end)| {
            !stem.is_empty()
                && (1..=5).contains(&end.len())
                && end.chars().all(char::is_alphanumeric)
                && end.chars().any(char::is_alphabetic)
        })
    })
}
