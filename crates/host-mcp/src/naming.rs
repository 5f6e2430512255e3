//! Local names of a server's tools (MCP-9): from a map, never by splitting. Those of a plugin are its own (LIB-2).

use host_vocab::{ServerName, ToolName, text};
use std::collections::BTreeMap;

/// Why a tool has no local name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// The local name is over 64 characters, or the remote one is empty.
    #[error(
        "the local name {local} has {length} characters; at most 64 are possible, and names are never cut: give the server a shorter name in the config or the tool a shorter one"
    )]
    TooLong {
        /// The name that it would have.
        local: String,
        /// Its length.
        length: usize,
    },
    /// The server gave it no name.
    #[error("the server gave the tool an empty name")]
    Empty,
    /// A plugin's manifest doesn't name it.
    #[error("\"tools\" in its plugin.json does not name it; add it there to offer it")]
    Undeclared,
    /// Several tools would have the name.
    #[error("the server's tools {} would all be named {local}; rename all but one on the server", remotes.join(" and "))]
    Collision {
        /// The name that they would share.
        local: String,
        /// What the server calls them, quoted.
        remotes: Vec<String>,
    },
}

/// Gives every remote name its local one, or the reason why it has none. The answer has the order of the
/// question. A name that stands twice in the list collides with itself.
pub fn local_names(server: &ServerName, remotes: &[&str]) -> Vec<Result<ToolName, NamingError>> {
    unique(remotes, |remote| local_name(server, remote))
}

/// The same for a plugin, whose manifest says which tools it has: they have no other names (LIB-2).
pub(crate) fn own_names(declared: &[ToolName], remotes: &[&str]) -> Vec<Result<ToolName, NamingError>> {
    unique(remotes, |remote| {
        declared.iter().find(|name| name.as_str() == remote).cloned().ok_or(NamingError::Undeclared)
    })
}

fn unique(
    remotes: &[&str],
    name: impl Fn(&str) -> Result<ToolName, NamingError>,
) -> Vec<Result<ToolName, NamingError>> {
    let mut takers: BTreeMap<ToolName, Vec<String>> = BTreeMap::new();
    let names: Vec<_> = remotes.iter().map(|remote| name(remote)).collect();
    for (name, remote) in names.iter().zip(remotes) {
        if let Ok(name) = name {
            takers.entry(name.clone()).or_default().push(format!("{:?}", text::one_line(remote, 100)));
        }
    }
    names
        .into_iter()
        .map(|name| {
            let name = name?;
            match takers.get(&name) {
                Some(remotes) if remotes.len() > 1 => {
                    Err(NamingError::Collision { local: name.to_string(), remotes: remotes.clone() })
                }
                _ => Ok(name),
            }
        })
        .collect()
}

fn local_name(server: &ServerName, remote: &str) -> Result<ToolName, NamingError> {
    if remote.is_empty() {
        return Err(NamingError::Empty);
    }
    ToolName::for_mcp(server, remote).map_err(|_| {
        let local = shown_name(server, remote);
        NamingError::TooLong { length: local.chars().count(), local: text::one_line(&local, 200) }
    })
}

/// The name under which a tool without a local name is listed: in full, for people.
pub fn shown_name(server: &ServerName, remote: &str) -> String {
    let tool: String = remote
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
        .collect();
    format!("mcp__{server}__{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    // MCP-9, T4-07
    #[test]
    fn long_names_are_never_cut() {
        let board = server("minute-book-of-the-board");
        let names = local_names(
            &board,
            &["archiveLedgerEntryWithSignaturesAndReviewers", "destroyLedgerEntryWithSignaturesAndReviewers"],
        );
        for name in names {
            let Err(NamingError::TooLong { local, length }) = name else { panic!("{name:?}") };
            assert_eq!(length, 75);
            assert!(local.ends_with("Reviewers"));
        }
        let head = "mcp__s__".len();
        let (fits, over) = ("x".repeat(64 - head), "y".repeat(65 - head));
        let names = local_names(&server("s"), &[&fits, &over]);
        assert_eq!(names[0].as_ref().unwrap().as_str().len(), 64);
        assert!(matches!(&names[1], Err(NamingError::TooLong { length: 65, .. })));
    }

    // MCP-9
    #[test]
    fn a_collision_names_both_and_spares_the_rest() {
        let names = local_names(&server("s"), &["a.b", "a/b", "c"]);
        let text = names[0].as_ref().unwrap_err().to_string();
        assert!(
            text.contains("\"a.b\"") && text.contains("\"a/b\"") && text.contains("mcp__s__a_b"),
            "{text}"
        );
        assert!(names[1].is_err());
        assert_eq!(names[2].as_ref().unwrap().as_str(), "mcp__s__c");
        assert!(local_names(&server("s"), &["same", "same"]).iter().all(Result::is_err));
        assert_eq!(local_names(&server("s"), &[""]), vec![Err(NamingError::Empty)]);
    }

    // LIB-2
    #[test]
    fn a_plugin_has_the_names_of_its_manifest_and_no_others() {
        let declared = [ToolName::parse("Roll").unwrap(), ToolName::parse("Twice").unwrap()];
        let names = own_names(&declared, &["Roll", "roll", "Twice", "Twice", "Peek"]);
        assert_eq!(names[0].as_ref().unwrap().as_str(), "Roll");
        assert_eq!(names[1], Err(NamingError::Undeclared));
        assert!(matches!(&names[2], Err(NamingError::Collision { .. })));
        assert_eq!(names[4], Err(NamingError::Undeclared));
    }

    proptest! {
        // MCP-9
        #[test]
        fn no_two_tools_ever_share_a_name(remotes in proptest::collection::vec("[a-c./ é_-]{0,4}", 0..12)) {
            let remotes: Vec<&str> = remotes.iter().map(String::as_str).collect();
            let given: Vec<_> =
                local_names(&server("s"), &remotes).into_iter().filter_map(Result::ok).collect();
            let mut unique = given.clone();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len(), given.len());
        }
    }
}
