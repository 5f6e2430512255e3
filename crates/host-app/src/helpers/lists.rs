//! Which of its parent's tools a helper may have (TOO-6, POL-15).

use host_policy::{
    KnownNames, ListPlace, McpToolPolicy, PlacedList, PolicyInput, Subject, ToolPolicy, ToolPolicyError,
    create_tool_policy,
};
use host_run::LentTool;
use host_vocab::Effect;
use std::collections::BTreeSet;

/// Tools of ours that no helper has, whatever the lists say, besides all that sends, asks or adds to the reply.
const NEVER: &[&str] = &["Agent", "AskUser", "AskCollaborator", "ProposeRestart"];
/// Tools of ours that only read, as far as a list of names can tell before any surface is sealed.
const READS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "ListDir",
    "WebFetch",
    "WebSearch",
    "ReadSkill",
    "RunHistory",
    "SessionHistory",
    "MemoryRecall",
    "MemoryJournal",
];

/// What the lists of one kind of helper admit.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    allowed: Option<Vec<String>>,
    denied: Vec<String>,
    /// Both lists; servers' tools are gated too.
    whole: ToolPolicy,
    /// The same without a `*` in the allow list: a server's tool has to be named.
    named: ToolPolicy,
}

/// What a helper gets, and what it asked for and doesn't get.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) names: BTreeSet<String>,
    pub(crate) dropped: Vec<(String, String)>,
}

impl Lists {
    /// Of a helper's settings; `setting` is where they stand.
    ///
    /// # Errors
    /// Every entry that means nothing.
    pub(crate) fn of(
        allowed: Option<&[String]>,
        denied: Option<&[String]>,
        setting: &str,
        known: &KnownNames,
    ) -> Result<Self, ToolPolicyError> {
        let policy = |allowed: Option<Vec<String>>| {
            let list = |entries, key: &str| PlacedList {
                entries,
                place: ListPlace::Setting(format!("{setting}.{key}")),
            };
            create_tool_policy(PolicyInput::for_config(
                list(allowed, "allowedTools"),
                list(denied.map(<[String]>::to_vec), "disallowedTools"),
                McpToolPolicy::Gated,
                known.clone(),
            ))
        };
        let whole = policy(allowed.map(<[String]>::to_vec))?;
        let bare = allowed.map(|list| list.iter().filter(|it| *it != "*").cloned().collect());
        Ok(Lists {
            allowed: allowed.map(<[String]>::to_vec),
            denied: denied.map(<[String]>::to_vec).unwrap_or_default(),
            whole,
            named: policy(bare)?,
        })
    }

    /// Whether the names can't let a helper do more than read.
    pub(crate) fn read_only(&self) -> bool {
        self.allowed.iter().flatten().all(|name| READS.iter().any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Whether a helper may have a tool of its parent.
    ///
    /// # Errors
    /// Why not, in words for a model.
    fn admits(&self, tool: &LentTool) -> Result<(), String> {
        let name = tool.name.as_str();
        let never = |effect: &Effect| matches!(effect, Effect::Sends | Effect::Asks | Effect::Presents);
        if NEVER.contains(&name) || tool.effects.iter().any(never) {
            return Err("no helper may have it".to_owned());
        }
        let reads = tool.effects.iter().all(|effect| effect.reads_only()) && !tool.effects.is_empty();
        let has = |list: &[String], name: &str| list.iter().any(|it| it.eq_ignore_ascii_case(name));
        let Some(list) = &self.allowed else {
            return if reads && tool.server.is_none() && self.leaves(tool) {
                Ok(())
            } else {
                Err("helpers only read, unless the config says otherwise".to_owned())
            };
        };
        // The lists don't gate a tool with a switch of its own, so here it is looked at by name.
        let own_switch = !tool.listed && tool.server.is_none();
        let listed =
            if own_switch { has(list, name) || (reads && has(list, "*")) } else { self.leaves(tool) };
        if listed { Ok(()) } else { Err("it is not among this helper's tools".to_owned()) }
    }

    fn leaves(&self, tool: &LentTool) -> bool {
        let denied = self.denied.iter().any(|it| it.eq_ignore_ascii_case(tool.name.as_str()));
        !denied
            && match &tool.server {
                Some(server) => self.named.judge(Subject::External { server, local: &tool.name }).allowed,
                None => self.whole.judge(Subject::Gated(&tool.name)).allowed,
            }
    }

    /// Chooses of the parent's tools. `wanted` is what the task asks for; without it a helper that the model
    /// describes has those that only read, and a named one all that it may have.
    pub(crate) fn choose(&self, tools: &[LentTool], wanted: Option<&[String]>, inline: bool) -> Chosen {
        let mut chosen = Chosen { names: BTreeSet::new(), dropped: Vec::new() };
        let all = wanted.is_some_and(|list| list.iter().any(|it| it == "*"));
        for tool in tools {
            let name = tool.name.as_str();
            let asked = wanted.is_some_and(|list| list.iter().any(|it| it.eq_ignore_ascii_case(name)));
            let taken = match wanted {
                None => !inline || tool.effects.iter().all(|effect| effect.reads_only()),
                Some(_) => asked || all,
            };
            match self.admits(tool) {
                Ok(()) if taken => {
                    chosen.names.insert(name.to_owned());
                }
                Err(why) if asked => chosen.dropped.push((name.to_owned(), why)),
                _ => {}
            }
        }
        let named = self.allowed.iter().flatten().filter(|_| wanted.is_none() && !inline);
        for name in wanted.unwrap_or_default().iter().chain(named) {
            let known = tools.iter().any(|tool| tool.name.as_str().eq_ignore_ascii_case(name));
            if !known && !name.contains('*') {
                chosen.dropped.push((name.clone(), "the run that asks doesn't have it either".to_owned()));
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::{ServerName, ToolName};
    use proptest::prelude::*;

    fn tool(name: &str, effects: &[Effect]) -> LentTool {
        let server = name.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        let own_switch = matches!(name, "MemoryRecall" | "AskCollaborator");
        LentTool {
            name: ToolName::parse(name).unwrap(),
            effects: effects.to_vec(),
            server: server.map(|it| ServerName::parse(it).unwrap()),
            listed: server.is_none() && !own_switch,
        }
    }

    fn parents() -> Vec<LentTool> {
        vec![
            tool("Agent", &[Effect::ReadsWorkspace]),
            tool("AskCollaborator", &[Effect::Foreign]),
            tool("AskUser", &[Effect::Asks]),
            tool("Bash", &[Effect::Executes]),
            tool("MemoryRecall", &[Effect::ReadsMemory]),
            tool("PublishReplyFile", &[Effect::Presents]),
            tool("Read", &[Effect::ReadsWorkspace]),
            tool("SlackSendMessage", &[Effect::Sends]),
            tool("Write", &[Effect::WritesWorkspace]),
            tool("mcp__db__query", &[Effect::Foreign]),
        ]
    }

    fn known() -> KnownNames {
        KnownNames { servers: vec![ServerName::parse("db").unwrap()], ..KnownNames::default() }
    }

    fn lists(allowed: Option<&[&str]>, denied: &[&str]) -> Lists {
        let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let allowed = allowed.map(owned);
        Lists::of(allowed.as_deref(), Some(&owned(denied)), "subagents.inline", &known()).unwrap()
    }

    fn chosen(lists: &Lists, wanted: Option<&[&str]>, inline: bool) -> (Vec<String>, Vec<String>) {
        let wanted: Option<Vec<String>> = wanted.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
        let it = lists.choose(&parents(), wanted.as_deref(), inline);
        (it.names.into_iter().collect(), it.dropped.into_iter().map(|(name, _)| name).collect())
    }

    /// Allowed, denied, wanted, whether the model describes it; the names that it gets, and those that are dropped.
    type Case<'a> =
        (Option<&'a [&'a str]>, &'a [&'a str], Option<&'a [&'a str]>, bool, &'a [&'a str], &'a [&'a str]);

    // TOO-6: read-only unless widened, never `Agent`, `AskUser` or send tools.
    #[test]
    fn a_helper_has_what_its_lists_and_the_task_leave() {
        let none: &[&str] = &[];
        let cases: &[Case<'_>] = &[
            // nothing said: what only reads
            (None, none, None, true, &["MemoryRecall", "Read"], none),
            (None, &["memoryrecall"], None, true, &["Read"], none),
            // the model asks for more than it may hand on
            (None, none, Some(&["read", "Write", "Nope"]), true, &["Read"], &["Write", "Nope"]),
            (None, none, Some(&["*"]), true, &["MemoryRecall", "Read"], none),
            // widened by the config, but a task without a list still gets what reads
            (Some(&["Read", "Write"]), none, None, true, &["Read"], none),
            (Some(&["Read", "Write"]), none, Some(&["Write", "Bash"]), true, &["Write"], &["Bash"]),
            // a named helper has all its own
            (Some(&["Read", "Write"]), none, None, false, &["Read", "Write"], none),
            (Some(&["Write", "Grep"]), none, None, false, &["Write"], &["Grep"]),
            // `*` is everything of ours that a helper may have; servers have to be named
            (Some(&["*"]), &["Bash"], None, false, &["MemoryRecall", "Read", "Write"], none),
            (
                Some(&["*", "mcp__db__*"]),
                &["Bash", "Write"],
                None,
                false,
                &["MemoryRecall", "Read", "mcp__db__query"],
                none,
            ),
            (Some(&["mcp__db__query"]), none, None, false, &["mcp__db__query"], none),
            (Some(&[]), none, None, false, none, none),
            // never, even by name
            (
                Some(&["Agent", "AskUser", "SlackSendMessage", "PublishReplyFile", "AskCollaborator"]),
                none,
                Some(&["Agent", "AskUser", "SlackSendMessage"]),
                true,
                none,
                &["Agent", "AskUser", "SlackSendMessage"],
            ),
        ];
        for (allowed, denied, wanted, inline, names, dropped) in cases {
            let got = chosen(&lists(*allowed, denied), *wanted, *inline);
            let want: (Vec<String>, Vec<String>) = (
                names.iter().map(|it| (*it).to_owned()).collect(),
                dropped.iter().map(|it| (*it).to_owned()).collect(),
            );
            assert_eq!(got, want, "{allowed:?} {denied:?} {wanted:?} {inline}");
        }
    }

    // POL-12
    #[test]
    fn an_entry_that_means_nothing_is_an_error_at_its_place() {
        let bad = ["Raed".to_owned()];
        let error = Lists::of(Some(&bad), None, "subagents.definitions[0]", &known()).unwrap_err();
        assert_eq!(error.problems[0].place, "subagents.definitions[0].allowedTools[0]");
    }

    #[test]
    fn what_only_reads_is_known_beforehand() {
        assert!(lists(None, &[]).read_only() && lists(Some(&["Read", "grep"]), &[]).read_only());
        for more in [&["*"][..], &["Read", "Bash"], &["mcp__db__*"]] {
            assert!(!lists(Some(more), &[]).read_only(), "{more:?}");
        }
    }

    const NAMES: &[&str] = &[
        "*",
        "Read",
        "Write",
        "Bash",
        "Agent",
        "AskUser",
        "MemoryRecall",
        "SlackSendMessage",
        "mcp__db__*",
        "mcp__db__query",
    ];

    proptest! {
        // POL-15: whatever is written and wanted, a helper has a part of what its parent has, and never what sends.
        #[test]
        fn a_helper_never_has_more(
            allowed in proptest::option::of(proptest::sample::subsequence(NAMES, 0..NAMES.len())),
            wanted in proptest::option::of(proptest::sample::subsequence(NAMES, 0..NAMES.len())),
            keep in proptest::sample::subsequence((0..10).collect::<Vec<usize>>(), 0..10),
            inline: bool,
        ) {
            let all = parents();
            let parent: Vec<LentTool> = keep.iter().map(|&at| all[at].clone()).collect();
            let lists = lists(allowed.as_deref(), &[]);
            let wanted: Option<Vec<String>> = wanted.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
            let names = lists.choose(&parent, wanted.as_deref(), inline).names;
            for name in names {
                let tool = parent.iter().find(|it| it.name.as_str() == name);
                prop_assert!(tool.is_some(), "{name} is not the parent's");
                prop_assert!(!["Agent", "AskUser", "AskCollaborator", "SlackSendMessage", "PublishReplyFile"].contains(&name.as_str()));
            }
        }
    }
}
