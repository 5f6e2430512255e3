//! Conversations as numbers.

use crate::row::without_bucket;
use host_history::ScopeFilter;
use rusqlite::{Connection, OptionalExtension};

/// A conversation's two numbers: its own, and that of the one without a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) conversation: i64,
    pub(super) logical: i64,
}

/// The numbers of a conversation, made where there are none. No conversation is the empty one.
pub(super) fn numbers(index: &Connection, conversation: Option<&str>) -> rusqlite::Result<Numbers> {
    let conversation = conversation.unwrap_or("");
    let own = number(index, conversation)?;
    let bare = without_bucket(conversation);
    let logical = if bare == conversation { own } else { number(index, bare)? };
    Ok(Numbers { conversation: own, logical })
}

fn number(index: &Connection, name: &str) -> rusqlite::Result<i64> {
    if let Some(id) = known(index, name)? {
        return Ok(id);
    }
    index.prepare_cached("INSERT INTO h_scopes(name) VALUES(?1)")?.execute([name])?;
    Ok(index.last_insert_rowid())
}

fn known(index: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    index
        .prepare_cached("SELECT id FROM h_scopes WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// A scope as the queries use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// Nothing is in it.
    Nothing,
    /// One conversation, and the number of the one without a bucket.
    Exact { conversation: i64, logical: i64 },
    /// One without a bucket.
    Logical(i64),
    /// Everything.
    Everything,
}

impl Within {
    /// A scope that no event belongs to is empty, never everything (T9-07).
    pub(super) fn of(index: &Connection, filter: &ScopeFilter) -> rusqlite::Result<Self> {
        Ok(match filter {
            ScopeFilter::Everything => Within::Everything,
            ScopeFilter::Logical(name) => known(index, name)?.map_or(Within::Nothing, Within::Logical),
            ScopeFilter::Exact(id) => {
                match (known(index, id.as_str())?, known(index, without_bucket(id.as_str()))?) {
                    (Some(conversation), Some(logical)) => Within::Exact { conversation, logical },
                    _ => Within::Nothing,
                }
            }
        })
    }

    /// The token that all rows of the scope have; `None` = every row.
    pub(super) fn token(self) -> Option<String> {
        match self {
            Within::Exact { conversation, .. } => Some(super::tokens::exact(conversation)),
            Within::Logical(logical) => Some(super::tokens::logical(logical)),
            Within::Everything | Within::Nothing => None,
        }
    }

    /// What rows must fit, as SQL, with the values of its parameters `:logical` and `:conversation`.
    pub(super) fn clause(self) -> &'static str {
        match self {
            Within::Nothing => "0 AND :logical IS NULL AND :conversation IS NULL",
            Within::Everything => ":logical IS NULL AND :conversation IS NULL",
            Within::Logical(_) => "logical = :logical AND :conversation IS NULL",
            Within::Exact { .. } => "logical = :logical AND conversation = :conversation",
        }
    }

    /// The value of `:logical`.
    pub(super) fn logical(self) -> Option<i64> {
        match self {
            Within::Exact { logical, .. } | Within::Logical(logical) => Some(logical),
            Within::Everything | Within::Nothing => None,
        }
    }

    /// The value of `:conversation`.
    pub(super) fn conversation(self) -> Option<i64> {
        match self {
            Within::Exact { conversation, .. } => Some(conversation),
            _ => None,
        }
    }

    /// Whether a row with these numbers is in it.
    pub(super) fn holds(self, numbers: Numbers) -> bool {
        match self {
            Within::Nothing => false,
            Within::Everything => true,
            Within::Exact { conversation, .. } => numbers.conversation == conversation,
            Within::Logical(logical) => numbers.logical == logical,
        }
    }
}
