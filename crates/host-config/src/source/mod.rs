//! JSON with comments, where every value knows its place.
//!
//! Accepted beyond plain JSON: `//` and `/* */` comments, a comma after the last item, and a byte order
//! mark. Everything else is an error that names line, column and the way out (CFG-3).

mod hint;
pub mod path;
mod reader;

pub use reader::{DEPTH_MAX, SOURCE_BYTES_MAX, SyntaxError, read};

use serde_json::{Map, Number};

/// A place in a text: line and column from 1, the column counted in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pos {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Pos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One value and where it begins.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub pos: Pos,
    /// What it is.
    pub value: Value,
}

/// A value as written.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written; always finite.
    Number(Box<str>),
    /// A text, unescaped.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// An object; a key that comes twice is here twice and reported in [`Document::duplicates`].
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Clone, PartialEq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub key_pos: Pos,
    /// Its value.
    pub node: Node,
}

/// A key that was written twice in one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The JSON path of the key.
    pub path: String,
    /// Where it stood first.
    pub first: Pos,
    /// Where it came again.
    pub again: Pos,
}

/// A whole text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its value.
    pub root: Node,
    /// Keys that were written twice.
    pub duplicates: Vec<Duplicate>,
}

// A config may hold secrets, so the debug form says what kind of value is where and no more.
impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({} at {})", self.kind(), self.pos)
    }
}

impl Node {
    /// A value that has no place of its own in a text (a plain variable).
    pub fn plain(value: Value) -> Self {
        Node { pos: Pos { line: 0, column: 0 }, value }
    }

    /// The kind of value in words: `an object`, `a text` …
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, if it is one (`1e3` and `2.0` are; at most 2^53 where written with a fraction).
    pub fn integer(&self) -> Option<i64> {
        let Value::Number(raw) = &self.value else { return None };
        if let Ok(n) = raw.parse::<i64>() {
            return Some(n);
        }
        let n: f64 = raw.parse().ok()?;
        let exact = n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0;
        exact.then_some(n as i64)
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match &self.value {
            Value::Number(raw) => raw.parse().ok(),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value under a key, if it is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members()?.iter().find(|m| m.key == key).map(|m| &m.node)
    }

    /// The value at a path such as `rules[1].tool` below this one.
    pub fn at(&self, below: &str) -> Option<&Node> {
        path::segments(below).into_iter().try_fold(self, |node, segment| match segment {
            path::Segment::Key(key) => node.get(&key),
            path::Segment::Item(index) => node.items()?.get(index),
        })
    }

    /// The value as plain JSON; of a key that came twice the last stands.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => serde_json::Value::Bool(*b),
            Value::Number(raw) => number_json(raw),
            Value::Text(text) => serde_json::Value::String(text.clone()),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Object(members) => {
                let map: Map<_, _> = members.iter().map(|m| (m.key.clone(), m.node.to_json())).collect();
                serde_json::Value::Object(map)
            }
        }
    }
}

fn number_json(raw: &str) -> serde_json::Value {
    if let Ok(n) = raw.parse::<i64>() {
        return n.into();
    }
    // The reader lets only finite numbers in, so this is never null.
    raw.parse::<f64>().ok().and_then(Number::from_f64).map_or(serde_json::Value::Null, Into::into)
}
