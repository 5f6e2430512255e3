//! JSON with comments, where every value knows its place.
//!
//! Accepted beyond plain JSON: `//` and `/* */` comments, a comma after the last item, and a byte order
//! mark. Everything else is an error that names line, column and the way out (CFG-3).

pub mod edit;
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
            // A whole number stays one however it was written (`5.0`, `5e3`).
            Value::Number(raw) => self.integer().map_or_else(|| number_json(raw), Into::into),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positions(node: &Node, out: &mut Vec<Pos>) {
        out.push(node.pos);
        node.items().unwrap_or_default().iter().for_each(|item| positions(item, out));
        for member in node.members().unwrap_or_default() {
            out.push(member.key_pos);
            positions(&member.node, out);
        }
    }

    fn is_within(pos: Pos, text: &str) -> bool {
        let lines: Vec<&str> = text.split('\n').collect();
        let line = lines.get(pos.line as usize - 1);
        line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&(pos.column as usize)))
    }

    fn check(bytes: &[u8]) {
        let found = read(bytes);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        match found {
            Ok(document) => {
                let mut all = Vec::new();
                positions(&document.root, &mut all);
                assert!(all.iter().all(|pos| is_within(*pos, &text)), "{text:?}");
            }
            Err(error) => {
                assert!(is_within(error.pos, &text), "{:?} in {text:?}", error.pos);
                assert!(!error.message.contains('\n') && !error.message.is_empty());
                assert!(error.message.chars().all(|c| !c.is_control()));
            }
        }
    }

    proptest! {
        // CFG-3: the reader never panics, and every place is within the text.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            check(&bytes);
        }

        #[test]
        fn nearly_json(text in "[\\[\\]{}:,\"'/*\\\\ \n\ta-fu0-9.eE+-]{0,80}") {
            check(text.as_bytes());
        }

        #[test]
        fn broken_json(cut in 0usize..200, insert in "\\PC{0,3}") {
            let text = "{ // c\n \"a\": [1, -2.5e3, {\"b\": \"x\\u00e9\\n\"}, true, null],\r\n /* d */ \"é\": {\"k\": \"v\",},}";
            let cut = text.floor_char_boundary(cut.min(text.len()));
            check(&text.as_bytes()[..cut]);
            check(format!("{}{insert}{}", &text[..cut], &text[cut..]).as_bytes());
        }

        // What any writer of JSON makes is read back as it was.
        #[test]
        fn json_is_json(values in proptest::collection::vec((".{0,8}", any::<i64>(), -1e9f64..1e9), 0..5)) {
            let json: serde_json::Value =
                values.iter().map(|(s, i, f)| serde_json::json!({"s": s, "i": i, "f": f, "l": [s, null, true]})).collect();
            for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap()] {
                prop_assert_eq!(read(text.as_bytes()).unwrap().root.to_json(), json.clone());
            }
        }
    }

    #[test]
    fn places_are_counted_in_characters() {
        let document = read("{\n  \"é€\": [\"\u{1f600}\", 7] }".as_bytes()).unwrap();
        let at = |path: &str| document.root.at(path).unwrap().pos.to_string();
        assert_eq!(at("[\"é€\"][1]"), "2:15");
        assert_eq!(document.root.at("[\"é€\"][1]").unwrap().integer(), Some(7));
    }

    #[test]
    fn numbers() {
        let number = |text: &str| read(text.as_bytes()).map(|d| d.root.integer());
        assert_eq!(number("1e3"), Ok(Some(1000)));
        assert_eq!(number("2.0"), Ok(Some(2)));
        assert_eq!(number("2.5"), Ok(None));
        assert_eq!(number("9223372036854775807"), Ok(Some(i64::MAX)));
        assert_eq!(number("99999999999999999999"), Ok(None));
        for bad in ["01", "1.", "+1", "1e", "--1", "1a", "0x1", "1_0", "-"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(read(deep(DEPTH_MAX).as_bytes()).is_ok());
        assert!(read(deep(DEPTH_MAX + 1).as_bytes()).is_err());
        assert!(read("[".repeat(1_000_000).as_bytes()).is_err());
    }
}
