//! Changing one member of a JSON text with comments, and nothing else of it.
//!
//! Comments, order, indentation and line ends stay. The new text is read again before it is given back, so that
//! an edit can never leave a file that the reader refuses, or one whose other members differ.

use super::{Document, SyntaxError, read};
use serde_json::{Map, Value};

/// Why a text could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is no JSON with comments as it stands.
    #[error("{0}")]
    Syntax(SyntaxError),
    /// A key on the way, or the whole, is no object.
    #[error("{0} is no object")]
    NotAnObject(String),
    /// A key comes twice, so that which one is meant can't be known.
    #[error("{0} stands there twice; keep one of the two")]
    Twice(String),
    /// The member is there already.
    #[error("{0} is there already")]
    IsThere(String),
    /// The member is not there.
    #[error("{0} is not there")]
    Missing(String),
    /// The change would have changed something else; the text is left as it is.
    #[error("the text is too unusual to be changed without losing something; change it by hand")]
    TooUnusual,
}

/// Adds a member to the object at `path`; objects that are missing on the way are made. A new member comes last.
///
/// # Errors
/// See [`EditError`].
pub fn insert(text: &str, path: &[&str], key: &str, value: &Value) -> Result<String, EditError> {
    let before = document(text, path, key)?;
    let Value::Object(mut wanted) = before.root.to_json() else {
        return Err(EditError::NotAnObject("the whole".to_owned()));
    };
    let mut object = &mut wanted;
    for step in path {
        let next = object.entry(*step).or_insert_with(|| Value::Object(Map::new()));
        object = next.as_object_mut().ok_or_else(|| EditError::NotAnObject((*step).to_owned()))?;
    }
    if object.contains_key(key) {
        return Err(EditError::IsThere(key.to_owned()));
    }
    object.insert(key.to_owned(), value.clone());
    let mut scan = Scan::new(text);
    let mut at = scan.root();
    let mut depth = 0;
    for step in path {
        match scan.members(at).into_iter().find(|member| member.key == *step) {
            Some(member) => at = member.value,
            None => break,
        }
        depth += 1;
    }
    let (key, value) = match path.get(depth) {
        Some(missing) => {
            let inner = path[depth + 1..]
                .iter()
                .rev()
                .fold(Value::Object(Map::from_iter([(key.to_owned(), value.clone())])), |inner, step| {
                    Value::Object(Map::from_iter([((*step).to_owned(), inner)]))
                });
            (*missing, inner)
        }
        None => (key, value.clone()),
    };
    same(scan.with_member(at, key, &value), &Value::Object(wanted))
}

/// Takes a member out of the object at `path`. Comments around it stay.
///
/// # Errors
/// See [`EditError`].
pub fn remove(text: &str, path: &[&str], key: &str) -> Result<String, EditError> {
    let before = document(text, path, key)?;
    let mut wanted = before.root.to_json();
    let mut object = wanted.as_object_mut();
    for step in path {
        object = object.and_then(|it| it.get_mut(*step)).and_then(Value::as_object_mut);
    }
    let missing = || EditError::Missing(key.to_owned());
    object.and_then(|it| it.shift_remove(key)).ok_or_else(missing)?;
    let mut scan = Scan::new(text);
    let mut at = scan.root();
    for step in path {
        at = scan.members(at).into_iter().find(|it| it.key == *step).ok_or_else(missing)?.value;
    }
    same(scan.without_member(at, key).ok_or_else(missing)?, &wanted)
}

/// The text as a document, where no key on the way comes twice.
fn document(text: &str, path: &[&str], key: &str) -> Result<Document, EditError> {
    let document = read(text.as_bytes()).map_err(EditError::Syntax)?;
    let mut own = String::new();
    let on_the_way: Vec<String> = path
        .iter()
        .chain([&key])
        .map(|step| {
            own = super::path::key(&own, step);
            own.clone()
        })
        .collect();
    match document.duplicates.iter().find(|twice| on_the_way.contains(&twice.path)) {
        Some(twice) => Err(EditError::Twice(twice.path.clone())),
        None => Ok(document),
    }
}

fn same(text: String, wanted: &Value) -> Result<String, EditError> {
    let now = read(text.as_bytes()).map_err(|_| EditError::TooUnusual)?.root.to_json();
    // As texts, so that the order counts as well.
    let (now, wanted) = (now.to_string(), wanted.to_string());
    if now == wanted { Ok(text) } else { Err(EditError::TooUnusual) }
}

/// A member as bytes of the text.
struct Span {
    key: String,
    /// Where the key begins.
    start: usize,
    /// Where the value begins and ends.
    value: usize,
    end: usize,
    /// The end of the comma after it.
    comma: Option<usize>,
}

/// A walk over a text that is known to be well formed.
struct Scan<'t> {
    text: &'t str,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Scan { text }
    }

    fn root(&mut self) -> usize {
        let bom = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        self.space(bom)
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The end of white space and comments.
    fn space(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            if rest.starts_with("//") {
                at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else if rest.starts_with(|c: char| c.is_ascii_whitespace()) {
                at += 1;
            } else {
                return at;
            }
        }
    }

    fn string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while !matches!(self.byte(at), b'"' | 0) {
            at += if self.byte(at) == b'\\' { 2 } else { 1 };
        }
        at + 1
    }

    /// The end of the value that begins here.
    fn value(&self, start: usize) -> usize {
        match self.byte(start) {
            b'"' => self.string(start),
            b'{' | b'[' => {
                let (mut at, mut depth) = (start + 1, 1);
                while depth > 0 && at < self.text.len() {
                    at = self.space(at);
                    match self.byte(at) {
                        b'"' => {
                            at = self.string(at);
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    at += self.text[at..].chars().next().map_or(1, char::len_utf8);
                }
                at
            }
            _ => {
                let rest = &self.text[start..];
                let ends = |c: char| matches!(c, ',' | '}' | ']' | '/') || c.is_ascii_whitespace();
                start + rest.find(ends).unwrap_or(rest.len())
            }
        }
    }

    /// The members of the object that begins here; none where it is no object.
    fn members(&self, open: usize) -> Vec<Span> {
        let mut out = Vec::new();
        if self.byte(open) != b'{' {
            return out;
        }
        let mut at = self.space(open + 1);
        while self.byte(at) == b'"' {
            let start = at;
            let key_end = self.string(at);
            let key = serde_json::from_str(&self.text[start..key_end]).unwrap_or_default();
            let value = self.space(self.space(key_end) + 1);
            let end = self.value(value);
            at = self.space(end);
            let comma = (self.byte(at) == b',').then_some(at + 1);
            at = self.space(comma.unwrap_or(at));
            out.push(Span { key, start, value, end, comma });
        }
        out
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// What stands before a place on its line, where that is white space alone.
    fn indent_of(&self, at: usize) -> Option<&'t str> {
        let line = self.text[..at].rfind('\n').map_or(0, |it| it + 1);
        let before = &self.text[line..at];
        before.chars().all(|c| c == ' ' || c == '\t').then_some(before)
    }

    /// The indentation of the line that holds a place.
    fn line_indent(&self, at: usize) -> &'t str {
        let line = self.text[..at].rfind('\n').map_or(0, |it| it + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// One step of indentation, as the text has it.
    fn unit(&self) -> String {
        let step = self.text.lines().find_map(|line| {
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            (!indent.is_empty() && line.len() > indent.len()).then_some(indent)
        });
        match step {
            Some(tabs) if tabs.starts_with('\t') => "\t".to_owned(),
            Some(spaces) if spaces.len() <= 8 => spaces.to_owned(),
            _ => "  ".to_owned(),
        }
    }

    fn with_member(&self, open: usize, key: &str, value: &Value) -> String {
        let members = self.members(open);
        let close = self.value(open) - 1;
        let newline = self.newline();
        let parent = self.line_indent(open);
        let own_line = members.first().and_then(|first| self.indent_of(first.start));
        let indent = own_line.map_or_else(|| format!("{parent}{}", self.unit()), str::to_owned);
        let body = pretty(value, &self.unit()).replace('\n', &format!("{newline}{indent}"));
        let member = format!("{}: {body}", Value::from(key));
        let Some(last) = members.last() else {
            // What stands in an empty object is white space and comments: they come first.
            let inside = self.text[open + 1..close].trim_end();
            let after = open + 1 + inside.len();
            return format!(
                "{}{newline}{indent}{member}{newline}{parent}{}",
                &self.text[..after],
                &self.text[close..]
            );
        };
        if own_line.is_none() {
            // Members on one line stay on it.
            let after = last.comma.unwrap_or(last.end);
            let comma = if last.comma.is_some() { " " } else { ", " };
            return format!("{}{comma}{member}{}", &self.text[..after], &self.text[after..]);
        }
        let (head, comma) = match last.comma {
            Some(comma) => (self.text[..comma].to_owned(), ","),
            None => (format!("{},{}", &self.text[..last.end], ""), ""),
        };
        let from = last.comma.unwrap_or(last.end);
        let after = self.end_of_line(from, close);
        let closes_here = !self.text[after..close].contains('\n');
        let tail = if closes_here { format!("{newline}{parent}") } else { String::new() };
        let rest = if closes_here { &self.text[close..] } else { &self.text[after..] };
        format!("{head}{}{newline}{indent}{member}{comma}{tail}{rest}", self.text[from..after].trim_end())
    }

    /// The end of what still belongs to the line of a member: comments behind it.
    fn end_of_line(&self, from: usize, close: usize) -> usize {
        let mut at = from;
        loop {
            let rest = &self.text[at..close];
            let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let rest = &rest[spaces..];
            if rest.starts_with("//") {
                let line = rest.find('\n').unwrap_or(rest.len());
                return at + spaces + rest[..line].trim_end_matches('\r').len();
            }
            match rest.starts_with("/*").then(|| rest.find("*/")).flatten() {
                Some(end) => at += spaces + end + 2,
                None => return at,
            }
        }
    }

    fn without_member(&self, open: usize, key: &str) -> Option<String> {
        let members = self.members(open);
        let index = members.iter().position(|member| member.key == key)?;
        let member = &members[index];
        let (mut start, mut end) = (member.start, member.comma.unwrap_or(member.end));
        let mut text = String::new();
        // Without a comma it was the last one; then the one before is the last, and needs none either.
        let before = index.checked_sub(1).map(|it| &members[it]).filter(|_| member.comma.is_none());
        match before.and_then(|before| before.comma) {
            Some(comma) => {
                text.push_str(&self.text[..comma - 1]);
                text.push_str(&self.text[comma..start]);
            }
            None => text.push_str(&self.text[..start]),
        }
        let line_end = self.text[end..].find('\n').map_or(self.text.len(), |it| end + it);
        if let (Some(indent), true) = (self.indent_of(start), self.text[end..line_end].trim().is_empty()) {
            // The whole line goes.
            text.truncate(text.len() - indent.len());
            end = line_end;
            start -= indent.len();
            if text.ends_with('\n') && start > 0 {
                text.pop();
                if text.ends_with('\r') {
                    text.pop();
                    end = end.saturating_sub(usize::from(self.text[..end].ends_with('\r')));
                }
            }
        } else if self.indent_of(start).is_none() {
            let spaces = text.len() - text.trim_end_matches([' ', '\t']).len();
            if self.text[end..].trim_start().starts_with(['}', ',']) || self.byte(end) == b' ' {
                text.truncate(text.len() - spaces);
            }
        }
        text.push_str(&self.text[end..]);
        Some(text)
    }
}

/// A value over several lines, with this step of indentation.
fn pretty(value: &Value, unit: &str) -> String {
    use serde::Serialize as _;
    let mut out = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, format));
    match written {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn add(text: &str) -> String {
        insert(text, &["mcpServers"], "new", &json!({"command": "x"})).unwrap()
    }

    // MCP-17
    #[test]
    fn a_member_is_added_in_the_style_of_the_text() {
        assert_eq!(
            add(
                "// top\n{\n  // servers\n  \"mcpServers\": {\n    \"a\": { \"url\": \"u\" } // the first\n    // the end\n  }\n}\n"
            ),
            "// top\n{\n  // servers\n  \"mcpServers\": {\n    \"a\": { \"url\": \"u\" }, // the first\n    \"new\": {\n      \"command\": \"x\"\n    }\n    // the end\n  }\n}\n"
        );
        assert_eq!(
            add("{\n\t\"mcpServers\": {\n\t\t\"a\": {},\n\t},\n}"),
            "{\n\t\"mcpServers\": {\n\t\t\"a\": {},\n\t\t\"new\": {\n\t\t\t\"command\": \"x\"\n\t\t},\n\t},\n}"
        );
        assert_eq!(
            add("{}"),
            "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}"
        );
        assert_eq!(
            add("{\"mcpServers\": {\"a\": {}}}"),
            "{\"mcpServers\": {\"a\": {}, \"new\": {\n    \"command\": \"x\"\n  }}}"
        );
        assert_eq!(
            add("{\r\n  \"mcpServers\": {} /* none */\r\n}\r\n"),
            "{\r\n  \"mcpServers\": {\r\n    \"new\": {\r\n      \"command\": \"x\"\r\n    }\r\n  } /* none */\r\n}\r\n"
        );
    }

    // MCP-17
    #[test]
    fn a_member_goes_and_the_comments_stay() {
        let text = "{\n  // servers\n  \"mcpServers\": {\n    \"a\": {}, // first\n    \"b\": {\n      \"url\": \"//x\"\n    }\n    // end\n  }\n}\n";
        assert_eq!(
            remove(text, &["mcpServers"], "b").unwrap(),
            "{\n  // servers\n  \"mcpServers\": {\n    \"a\": {} // first\n    // end\n  }\n}\n"
        );
        let without = remove(text, &["mcpServers"], "a").unwrap();
        assert!(without.contains("// first") && without.contains("\"b\": {"), "{without}");
        assert_eq!(remove("{\"a\": 1, \"b\": 2}", &[], "b").unwrap(), "{\"a\": 1}");
        assert_eq!(remove("{\"a\": 1, \"b\": 2}", &[], "a").unwrap(), "{ \"b\": 2}");
        assert_eq!(remove("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", &[], "b").unwrap(), "{\r\n  \"a\": 1\r\n}");
    }

    #[test]
    fn what_cannot_be_changed_is_said() {
        let value = json!(1);
        assert_eq!(insert("{\"a\": 1}", &[], "a", &value), Err(EditError::IsThere("a".into())));
        assert_eq!(insert("{\"a\": 1}", &["a"], "b", &value), Err(EditError::NotAnObject("a".into())));
        assert_eq!(insert("[1]", &[], "b", &value), Err(EditError::NotAnObject("the whole".into())));
        assert_eq!(remove("{\"a\": 1}", &[], "b"), Err(EditError::Missing("b".into())));
        assert_eq!(remove("{\"a\": 1, \"a\": 2}", &[], "a"), Err(EditError::Twice("a".into())));
        assert!(matches!(insert("{", &[], "b", &value), Err(EditError::Syntax(_))));
    }

    proptest! {
        // MCP-17: whatever the style, an edit changes its own member alone, and taking it back gives the same value.
        #[test]
        fn an_edit_changes_its_own_member_alone(
            seps in proptest::collection::vec("( |\n|\t|// c\n|/\\* \\} \\*/|\r\n){0,3}", 12),
            keys in proptest::collection::hash_set("[a-z\"\\\\é]{1,4}", 0..4),
            trailing in any::<bool>(),
        ) {
            let s = |i: usize| seps[i % seps.len()].as_str();
            let mut text = format!("{}{{{}\"m\"{}:{}{{{}", s(0), s(1), s(2), s(3), s(4));
            let count = keys.len();
            for (i, key) in keys.iter().enumerate() {
                let comma = if i + 1 < count || trailing { "," } else { "" };
                text += &format!("{}:{}[\"}}//\", {i}]{}{comma}{}", Value::from(key.as_str()), s(i + 5), s(i + 6), s(i + 7));
            }
            text += &format!("}}{}}}{}", s(10), s(11));
            prop_assume!(read(text.as_bytes()).is_ok());
            let before = read(text.as_bytes()).unwrap().root.to_json();
            let added = insert(&text, &["m"], "NEW", &json!({"x": [1, {"y": "z"}]})).unwrap();
            let comments = |text: &str| (text.matches("// c").count(), text.matches("/* } */").count());
            prop_assert_eq!(comments(&added), comments(&text));
            let back = remove(&added, &["m"], "NEW").unwrap();
            prop_assert_eq!(read(back.as_bytes()).unwrap().root.to_json(), before);
            prop_assert_eq!(comments(&back), comments(&text));
            for key in &keys {
                let less = remove(&text, &["m"], key).unwrap();
                prop_assert!(read(less.as_bytes()).unwrap().root.at("m").unwrap().get(key).is_none());
            }
        }
    }
}
