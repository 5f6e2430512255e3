//! Old names that are understood as policy input for ever, and never registered, emitted, recommended or
//! shown to a model (POL-10). This table is the deprecation tracker.

use crate::catalogue::{KnownTool, known_tool};
use std::fmt::Write as _;

/// One old name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyAlias {
    /// The old spelling.
    pub old: &'static str,
    /// The canonical name that it means.
    pub canonical: &'static str,
    /// What a reader of the list should know; empty for nothing.
    pub note: &'static str,
}

const fn alias(old: &'static str, canonical: &'static str) -> LegacyAlias {
    LegacyAlias { old, canonical, note: "" }
}

const fn noted(old: &'static str, canonical: &'static str, note: &'static str) -> LegacyAlias {
    LegacyAlias { old, canonical, note }
}

const WHOLE_FILE_TOOL: &str = "means the whole tool, so denying it denies documents and photos alike";

/// All old names. `memory_journal` is not one of them: `MemoryJournal` never had another name (POL-11).
pub const LEGACY_ALIASES: &[LegacyAlias] = &[
    alias("run_history", "RunHistory"),
    alias("session_history", "SessionHistory"),
    alias("read_skill", "ReadSkill"),
    alias("memory_recall", "MemoryRecall"),
    alias("publish_reply_file", "PublishReplyFile"),
    alias("slack_send_message", "SlackSendMessage"),
    alias("telegram_send_message", "TelegramSendMessage"),
    noted("telegram_send_document", "TelegramSendFile", WHOLE_FILE_TOOL),
    noted("telegram_send_photo", "TelegramSendFile", WHOLE_FILE_TOOL),
    alias("telegram_send_file", "TelegramSendFile"),
    alias("ask_collaborator", "AskCollaborator"),
];

/// The row of an old name, without case.
pub fn legacy_alias(name: &str) -> Option<&'static LegacyAlias> {
    LEGACY_ALIASES.iter().find(|row| row.old.eq_ignore_ascii_case(name))
}

/// The known tool of a name as written in a policy: canonical or old, without case.
pub fn resolve_tool_name(name: &str) -> Option<&'static KnownTool> {
    known_tool(name).or_else(|| known_tool(legacy_alias(name)?.canonical))
}

/// The docs page of the table, as Markdown. Its snapshot stands beside the test below.
pub fn deprecated_names_page() -> String {
    let mut page = String::from(
        "# Old tool names\n\n\
         These spellings are understood in `tools.allowedTools`, `tools.disallowedTools`, their environment\n\
         variables and approval rules, and nowhere else. Write the name of the second column: it is the only\n\
         one that is registered and shown. An old name that is not in this table is an error.\n\n\
         | old name | name | note |\n|---|---|---|\n",
    );
    for row in LEGACY_ALIASES {
        // Writing to a String does not fail.
        let _ = writeln!(page, "| `{}` | `{}` | {} |", row.old, row.canonical, row.note);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    // POL-10
    #[test]
    fn every_old_name_means_one_known_tool_and_is_no_name_itself() {
        for row in LEGACY_ALIASES {
            assert!(known_tool(row.canonical).is_some(), "{}", row.old);
            assert!(known_tool(row.old).is_none(), "{} would be ambiguous", row.old);
            assert_eq!(resolve_tool_name(&row.old.to_uppercase()).unwrap().name, row.canonical);
        }
        assert!(resolve_tool_name("memory_journal").is_none()); // POL-11
    }

    // POL-10
    #[test]
    fn docs_page() {
        insta::assert_snapshot!(deprecated_names_page());
    }
}
