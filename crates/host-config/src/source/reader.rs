//! The reader itself: one pass over the characters, bounded in depth and size.

use super::hint;
use super::path;
use super::{Document, Duplicate, Member, Node, Pos, Value};
use std::collections::HashMap;

/// The deepest nesting that is read.
pub const DEPTH_MAX: usize = 64;
/// The largest text that is read, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many duplicate keys are kept for report.
const DUPLICATES_MAX: usize = 100;

/// Why a text is no JSON with comments, and where it stops being one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Where.
    pub pos: Pos,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Reads a whole text.
///
/// # Errors
/// The first place where the text stops being JSON with comments, is not UTF-8, is nested deeper than
/// [`DEPTH_MAX`] or longer than [`SOURCE_BYTES_MAX`].
pub fn read(bytes: &[u8]) -> Result<Document, SyntaxError> {
    let start = Pos { line: 1, column: 1 };
    let fail = |message: String, hint: &str| SyntaxError { pos: start, message, hint: Some(hint.into()) };
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(fail(
            format!("the file has {} bytes; at most {SOURCE_BYTES_MAX} are read", bytes.len()),
            "a config holds settings; keep data in files of its own",
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(fail("the file is UTF-16, not UTF-8".into(), "save it again as UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    let mut reader = Reader { text, at: 0, pos: start, open: Vec::new(), duplicates: Vec::new() };
    reader.document()
}

fn not_utf8(bytes: &[u8], valid: usize) -> SyntaxError {
    let before = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.matches('\n').count() as u32 + 1;
    let column = before[line_start..].chars().count() as u32 + 1;
    SyntaxError {
        pos: Pos { line, column },
        message: format!("byte 0x{:02x} is not UTF-8 text", bytes[valid]),
        hint: Some("save the file again as UTF-8".into()),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    pos: Pos,
    /// The brackets that are open, with their places.
    open: Vec<(char, Pos)>,
    duplicates: Vec<Duplicate>,
}

type Read<T> = Result<T, SyntaxError>;

impl<'t> Reader<'t> {
    fn document(&mut self) -> Read<Document> {
        self.space()?;
        if self.peek().is_none() {
            let error = self.error("the file is empty".into());
            return Err(SyntaxError { hint: Some("write at least `{}`".into()), ..error });
        }
        let root = self.value("")?;
        self.space()?;
        if let Some(c) = self.peek() {
            let message = format!("{} after the end of the value", hint::name(c));
            return Err(self.error_with(message, hint::after_end(c)));
        }
        Ok(Document { root, duplicates: std::mem::take(&mut self.duplicates) })
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, column: 1 };
        } else {
            self.pos.column += 1;
        }
        Some(c)
    }

    fn error(&self, message: String) -> SyntaxError {
        SyntaxError { pos: self.pos, message, hint: None }
    }

    fn error_with(&self, message: String, hint: Option<String>) -> SyntaxError {
        SyntaxError { pos: self.pos, message, hint }
    }

    /// The text ended while something was open.
    fn ended(&self, wanted: &str) -> SyntaxError {
        match self.open.last() {
            Some((bracket, pos)) => {
                let what = if *bracket == '{' { "object" } else { "list" };
                let close = if *bracket == '{' { '}' } else { ']' };
                self.error_with(
                    format!("the file ends where {wanted} should be"),
                    Some(format!("the {what} that opens at line {pos} is not closed: add `{close}`")),
                )
            }
            None => self.error(format!("the file ends where {wanted} should be")),
        }
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Read<()> {
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.bump();
            }
            if self.rest().starts_with("//") {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.bump();
                }
            } else if self.rest().starts_with("/*") {
                self.block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn block_comment(&mut self) -> Read<()> {
        let start = self.pos;
        self.bump();
        self.bump();
        while !self.rest().starts_with("*/") {
            if self.bump().is_none() {
                return Err(SyntaxError {
                    pos: start,
                    message: "a comment that never ends".into(),
                    hint: Some("close it with `*/`".into()),
                });
            }
        }
        self.bump();
        self.bump();
        Ok(())
    }

    fn value(&mut self, path: &str) -> Read<Node> {
        let pos = self.pos;
        let value = match self.peek() {
            None => return Err(self.ended("a value")),
            Some('{') => self.object(path)?,
            Some('[') => self.list(path)?,
            Some('"') => Value::Text(self.string()?),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number()?,
            Some(c) => self.word(c)?,
        };
        Ok(Node { pos, value })
    }

    fn word(&mut self, first: char) -> Read<Value> {
        let word: &str = hint::leading_word(self.rest());
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => {
                let message = match word {
                    "" => format!("{} where a value should be", hint::name(first)),
                    _ => format!("`{}` is no JSON value", host_vocab::text::one_line(word, 40)),
                };
                return Err(self.error_with(message, hint::for_value(first, word)));
            }
        };
        for _ in word.chars() {
            self.bump();
        }
        Ok(value)
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.pos;
        let raw: &str = {
            let rest = self.rest();
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')));
            &rest[..end.unwrap_or(rest.len())]
        };
        let shown = host_vocab::text::one_line(raw, 40);
        let fail = |message: String, hint: Option<String>| Err(SyntaxError { pos: start, message, hint });
        if !is_json_number(raw) {
            return fail(format!("`{shown}` is no JSON number"), hint::for_number(raw));
        }
        if !raw.parse::<f64>().is_ok_and(f64::is_finite) {
            return fail(format!("the number {shown} is too large"), None);
        }
        for _ in raw.chars() {
            self.bump();
        }
        Ok(Value::Number(raw.into()))
    }

    fn string(&mut self) -> Read<String> {
        let start = self.pos;
        self.bump();
        let mut out = String::new();
        loop {
            let here = self.pos;
            match self.bump() {
                None | Some('\n') => {
                    return Err(SyntaxError {
                        pos: start,
                        message: "a text that isn't closed on its line".into(),
                        hint: Some("close it with `\"`; a line break within a text is written `\\n`".into()),
                    });
                }
                Some('"') => return Ok(out),
                Some('\\') => out.push(self.escape(here)?),
                Some(c) if (c as u32) < 0x20 && c != '\t' && c != '\r' => {
                    return Err(SyntaxError {
                        pos: here,
                        message: format!("a control character (U+{:04X}) within a text", c as u32),
                        hint: Some(format!("write it as \\u{:04x}", c as u32)),
                    });
                }
                Some(c) => out.push(c),
            }
        }
    }

    fn escape(&mut self, start: Pos) -> Read<char> {
        let bad = |message: String, hint: &str| SyntaxError { pos: start, message, hint: Some(hint.into()) };
        Ok(match self.bump() {
            Some('"') => '"',
            Some('\\') => '\\',
            Some('/') => '/',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let pair = "a character beyond U+FFFF is written as two escapes, \\ud83d\\ude00";
                let high = self.hex(start)?;
                let code = match high {
                    0xd800..0xdc00 => {
                        if !self.rest().starts_with("\\u") {
                            return Err(bad("half of a surrogate pair".into(), pair));
                        }
                        self.bump();
                        self.bump();
                        let low = self.hex(start)?;
                        if !(0xdc00..0xe000).contains(&low) {
                            return Err(bad("half of a surrogate pair".into(), pair));
                        }
                        0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                    }
                    other => other,
                };
                char::from_u32(code).ok_or_else(|| bad("half of a surrogate pair".into(), pair))?
            }
            Some(c) => {
                let message = format!("`\\{}` is no escape", hint::shown(c));
                return Err(bad(message, "a backslash itself is written `\\\\`"));
            }
            None => return Err(bad("a text that ends in a backslash".into(), "close it with `\"`")),
        })
    }

    fn hex(&mut self, start: Pos) -> Read<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|c| c.to_digit(16)).ok_or_else(|| SyntaxError {
                pos: start,
                message: "`\\u` needs four hexadecimal digits".into(),
                hint: Some("a backslash itself is written `\\\\`".into()),
            })?;
            self.bump();
            code = code * 16 + digit;
        }
        Ok(code)
    }

    fn enter(&mut self, bracket: char) -> Read<()> {
        if self.open.len() == DEPTH_MAX {
            return Err(self.error(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        self.open.push((bracket, self.pos));
        self.bump();
        self.space()
    }

    fn leave(&mut self) {
        self.bump();
        self.open.pop();
    }

    fn list(&mut self, path: &str) -> Read<Value> {
        self.enter('[')?;
        let mut items = Vec::new();
        loop {
            if self.peek() == Some(']') {
                self.leave();
                return Ok(Value::List(items));
            }
            let below = path::item(path, items.len());
            items.push(self.value(&below)?);
            self.separator(']')?;
        }
    }

    fn object(&mut self, path: &str) -> Read<Value> {
        self.enter('{')?;
        let mut members: Vec<Member> = Vec::new();
        let mut seen: HashMap<String, Pos> = HashMap::new();
        loop {
            let key_pos = self.pos;
            let key = match self.peek() {
                Some('}') => {
                    self.leave();
                    return Ok(Value::Object(members));
                }
                Some('"') => self.string()?,
                Some(c) => {
                    let message = format!("{} where a key in double quotes should be", hint::name(c));
                    return Err(self.error_with(message, hint::for_key(c, self.rest())));
                }
                None => return Err(self.ended("a key or `}`")),
            };
            self.space()?;
            match self.peek() {
                Some(':') => self.bump(),
                Some(c) => {
                    let message = format!("{} where `:` should be, after a key", hint::name(c));
                    return Err(self.error_with(message, hint::for_colon(c)));
                }
                None => return Err(self.ended("`:`")),
            };
            self.space()?;
            let below = path::key(path, &key);
            let node = self.value(&below)?;
            match seen.get(&key) {
                Some(first) if self.duplicates.len() < DUPLICATES_MAX => {
                    self.duplicates.push(Duplicate { path: below, first: *first, again: key_pos });
                }
                Some(_) => {}
                None => {
                    seen.insert(key.clone(), key_pos);
                }
            }
            members.push(Member { key, key_pos, node });
            self.separator('}')?;
        }
    }

    /// A comma, or nothing before the closing bracket.
    fn separator(&mut self, close: char) -> Read<()> {
        self.space()?;
        match self.peek() {
            Some(',') => {
                self.bump();
                self.space()?;
                if self.peek() == Some(',') {
                    let hint = Some("take one of the two commas away".to_owned());
                    return Err(self.error_with("a comma after a comma".into(), hint));
                }
                Ok(())
            }
            Some(c) if c == close => Ok(()),
            Some(c) => {
                let message = format!("{} where `,` or `{close}` should be", hint::name(c));
                Err(self.error_with(message, hint::for_separator(c, close, self.rest())))
            }
            None => Err(self.ended(&format!("`,` or `{close}`"))),
        }
    }
}

/// The number grammar of RFC 8259 §6.
fn is_json_number(raw: &str) -> bool {
    fn digits(text: &str) -> &str {
        text.trim_start_matches(|c: char| c.is_ascii_digit())
    }
    let rest = raw.strip_prefix('-').unwrap_or(raw);
    let after = digits(rest);
    let whole = &rest[..rest.len() - after.len()];
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return false;
    }
    let after = match after.strip_prefix('.') {
        Some(fraction) => {
            let rest = digits(fraction);
            if rest.len() == fraction.len() {
                return false;
            }
            rest
        }
        None => after,
    };
    match after.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent).is_empty()
        }
        None => after.is_empty(),
    }
}
