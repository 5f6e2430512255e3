//! What guided `init` says before it accepts allow-all (POL-17).

/// What `init` knows of the agent that it is about to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InitFacts {
    /// Whether a sandbox that was proven to work will hold the commands.
    pub sandbox_enforced: bool,
    /// Where the agent may write, for the file sentence; empty for the workspace.
    pub writable_roots: Vec<String>,
    /// Names of the channels whose send tools come with it, such as `Slack`.
    pub send_channels: Vec<String>,
    /// Names of declared external MCP servers.
    pub mcp_servers: Vec<String>,
    /// Whether durable memory can be written.
    pub memory_writes: bool,
}

/// The words for the choice "Allow all tools".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitReview {
    /// What it opens, one line each. None of them says that it is safe.
    pub opens: Vec<String>,
    /// The first question.
    pub question: String,
    /// The second question, which must be answered with yes too, where no enforceable sandbox is there.
    pub second_question: Option<String>,
}

/// What allow-all opens, in words.
pub fn allow_all_review(facts: &InitFacts) -> InitReview {
    let held = if facts.sandbox_enforced {
        "inside the sandbox, which limits what it reaches"
    } else {
        "as your user, with no sandbox around it"
    };
    let roots = match facts.writable_roots.as_slice() {
        [] => "the workspace".to_owned(),
        roots => roots.join(", "),
    };
    let mut opens = vec![
        format!("code execution: commands, shell lines and JavaScript (Exec, Bash, NodeRepl) run {held}"),
        format!("files: reading, writing and changing them under {roots} (Read, Write, Edit)"),
        "web: fetching pages and searching (WebFetch, WebSearch); what it reads there may try to steer it"
            .into(),
    ];
    for channel in &facts.send_channels {
        opens.push(format!("sending: messages through {channel} to the places that its settings allow"));
    }
    if facts.send_channels.is_empty() {
        opens.push("sending: nothing now; every channel that you enable later brings its send tools".into());
    }
    if facts.memory_writes {
        opens.push("memory: storing facts for later conversations (Remember)".into());
    }
    for server in &facts.mcp_servers {
        opens.push(format!("external tools: everything that the MCP server {server} offers"));
    }
    InitReview {
        opens,
        question: "Allow all tools? You can deny single tools later with tools.disallowedTools.".into(),
        second_question: (!facts.sandbox_enforced).then(|| {
            "No sandbox can be enforced here, so commands would run with all rights of your user. \
             Allow all tools all the same?"
                .into()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(facts: &InitFacts) -> String {
        let review = allow_all_review(facts);
        format!("{}\n? {}\n? {:?}", review.opens.join("\n"), review.question, review.second_question)
    }

    // POL-17
    #[test]
    fn names_what_it_opens_and_asks_twice_without_a_sandbox() {
        let full = InitFacts {
            sandbox_enforced: true,
            writable_roots: vec!["/work".into(), "/data".into()],
            send_channels: vec!["Slack".into(), "Telegram".into()],
            mcp_servers: vec!["db".into()],
            memory_writes: true,
        };
        let bare = InitFacts::default();
        assert!(allow_all_review(&full).second_question.is_none());
        assert!(allow_all_review(&bare).second_question.is_some());
        let both = format!("{}\n---\n{}", page(&full), page(&bare));
        for word in ["safe", "risk-free", "harmless", "no risk"] {
            assert!(!both.to_lowercase().contains(word), "{word}");
        }
        insta::assert_snapshot!(both);
    }
}
