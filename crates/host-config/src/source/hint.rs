//! What people write instead of JSON, and what to tell them.

/// A character in words.
pub(super) fn name(c: char) -> String {
    match c {
        '\'' => "a single quote".into(),
        '`' => "a backtick".into(),
        '"' => "a double quote".into(),
        c if c.is_control() || host_vocab::text::is_bidi_control(c) => {
            format!("the character U+{:04X}", c as u32)
        }
        c => format!("`{c}`"),
    }
}

/// A character that can be printed.
pub(super) fn shown(c: char) -> String {
    if c.is_control() || host_vocab::text::is_bidi_control(c) {
        format!("U+{:04X}", c as u32)
    } else {
        c.to_string()
    }
}

/// The letters, digits and underscores at the start of a text.
pub(super) fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
    &text[..end]
}

fn is_curly_quote(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}')
}

fn common(c: char, rest: &str) -> Option<&'static str> {
    match c {
        '\'' | '`' => Some("texts and keys take double quotes"),
        '#' => Some("comments are written `// …` or `/* … */`"),
        c if is_curly_quote(c) => Some("that is a typographic quote; use the plain `\"`"),
        '<' | '=' | '>' if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|m| rest.starts_with(m)) => {
            Some("this is a merge conflict marker; settle the conflict first")
        }
        _ => None,
    }
}

pub(super) fn for_value(c: char, word: &str) -> Option<String> {
    let hint = match word {
        "True" | "TRUE" | "yes" | "on" | "Yes" | "On" => "write `true`",
        "False" | "FALSE" | "no" | "off" | "No" | "Off" => "write `false`",
        "None" | "nil" | "NULL" | "Null" | "undefined" => "leave the key out, or write `null`",
        "NaN" | "Infinity" => "JSON has no such number",
        "" => match c {
            ',' => "a value is missing before this comma",
            '}' | ']' => "a value is missing before this bracket",
            '+' => "numbers are written without `+`",
            '.' => "write `0.5`, not `.5`",
            _ => return common(c, "").map(str::to_owned),
        },
        _ => "put texts in double quotes",
    };
    Some(hint.into())
}

pub(super) fn for_key(c: char, rest: &str) -> Option<String> {
    if let Some(hint) = common(c, rest) {
        return Some(hint.into());
    }
    let word = leading_word(rest);
    if !word.is_empty() {
        return Some(format!("write \"{}\"", host_vocab::text::one_line(word, 40)));
    }
    match c {
        ',' => Some("take this comma away".into()),
        ']' => Some("an object is closed with `}`".into()),
        '{' | '[' => Some("every value in an object has a key: \"name\": …".into()),
        _ => None,
    }
}

pub(super) fn for_colon(c: char) -> Option<String> {
    match c {
        '=' => Some("write `:` instead of `=`".into()),
        ',' | '}' => Some("this key has no value: \"key\": value".into()),
        _ => Some("a key and its value are written \"key\": value".into()),
    }
}

pub(super) fn for_separator(c: char, close: char, rest: &str) -> Option<String> {
    if let Some(hint) = common(c, rest) {
        return Some(hint.into());
    }
    match c {
        ';' => Some("write `,` instead of `;`".into()),
        ':' if close == ']' => Some("a list has no keys; an object is written { \"key\": value }".into()),
        '}' | ']' => Some(format!("the bracket that is open here is closed with `{close}`")),
        _ => Some("a comma is missing before this".into()),
    }
}

pub(super) fn for_number(raw: &str) -> Option<String> {
    let digits = raw.trim_start_matches('-');
    if digits.contains('_') {
        return Some("write the digits without `_`".into());
    }
    if digits.starts_with("0x") || digits.starts_with("0X") {
        return Some("write the number in decimal".into());
    }
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return Some("take the leading zero away".into());
    }
    if digits.ends_with('.') {
        return Some("write a digit after the point".into());
    }
    Some("put texts in double quotes".into())
}

pub(super) fn after_end(c: char) -> Option<String> {
    match c {
        '}' | ']' => Some("one closing bracket too many".into()),
        ',' => Some("take this comma away".into()),
        _ => Some("a file holds one value; put everything in one `{ … }`".into()),
    }
}
