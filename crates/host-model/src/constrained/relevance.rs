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
    ("grep", &["search", "grep", "occurrences"], &["find", "contain", "contains", "where"]),
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
            score += 4;
        }
    }
    let described: HashSet<String> = words(&tool.description).filter(|word| word.len() >= 5).collect();
    score + described.iter().filter(|word| said.contains(*word)).take(3).count() as u32
}

/// The tools to offer, best first, and those that are left out. Equal ones keep their order. With
/// `relevant_only` a tool must be at least half as near as the best one: small models take what they see.
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
    let best = scored.first().map_or(0, |(score, _)| *score);
    let near = |score: u32| !relevant_only || (score > 0 && score * 2 >= best);
    let fit = scored.iter().take(tools_max).take_while(|(score, _)| near(*score)).count();
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn offered(text: &str) -> Vec<String> {
        let tools: Vec<ToolSpec> =
            ["Read", "Write", "Edit", "Glob", "Grep", "ListDir", "Exec", "mcp__time__get_current_time"]
                .iter()
                .map(|name| ToolSpec {
                    name: (*name).to_owned(),
                    description: String::new(),
                    input_schema: Arc::new(json!({})),
                })
                .collect();
        let (chosen, left) = choose(&tools, text, &HashSet::new(), 2, true);
        assert_eq!(chosen.len() + left.len(), tools.len());
        chosen.into_iter().map(|tool| tool.name.clone()).collect()
    }

    // ENG-2
    #[test]
    fn the_words_of_a_message_choose_the_tools() {
        assert_eq!(offered("Read the file notes.txt and tell me the code word in it"), ["Read"]);
        assert_eq!(offered("What is the code word in notes.txt?"), ["Read"]);
        assert_eq!(offered("Please open notes.txt and give me the code word.")[0], "Read");
        assert_eq!(offered("List the files in the folder docs")[0], "ListDir");
        assert_eq!(offered("Run echo good day"), ["Exec"]);
        assert_eq!(offered("Write the text hello to the file out.txt")[0], "Write");
        assert_eq!(offered("Search for the word error in the files")[0], "Grep");
        assert_eq!(offered("What is the current time?"), ["mcp__time__get_current_time"]);
        assert!(offered("Hello, how are you?").is_empty());
    }
}
