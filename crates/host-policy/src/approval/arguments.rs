//! What a rule looks at in the arguments of a call.

use serde_json::Value;

/// Names that one argument may go by. A rule that denies or asks looks at all of a row.
const SAME_ARGUMENT: &[&[&str]] = &[
    &["file_path", "path", "filePath", "file"],
    &["command", "cmd", "script"],
    &["url", "uri"],
    &["pattern", "glob"],
    &["workdir", "cwd"],
];

/// Every name that the argument `key` may go by; empty where it has just this one.
pub(super) fn same_argument(key: &str) -> &'static [&'static str] {
    SAME_ARGUMENT.iter().find(|row| row.contains(&key)).copied().unwrap_or_default()
}

/// The program and its arguments of an Exec call. `None` where they can't be told for sure.
pub(super) fn exec_argv(arguments: &Value) -> Option<Vec<String>> {
    let map = arguments.as_object()?;
    let strings = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let programs: Vec<&Value> =
        ["executable", "program", "command", "cmd", "argv"].iter().filter_map(|key| map.get(*key)).collect();
    let [program] = programs.as_slice() else { return None };
    let mut argv = match program {
        Value::String(program) => vec![program.clone()],
        Value::Array(_) => strings(program)?,
        _ => return None,
    };
    match map.get("args") {
        None | Some(Value::Null) => {}
        Some(args) => argv.extend(strings(args)?),
    }
    (!argv.is_empty()).then_some(argv)
}

/// The command string of a Bash call.
pub(super) fn command_of(arguments: &Value) -> Option<&str> {
    arguments.as_object()?.get("command")?.as_str()
}

/// Whether a command holds something that can start a second program or redirect.
pub(super) fn has_control(command: &str) -> bool {
    command.contains([';', '&', '|', '\n', '\r', '`', '<', '>', '(', ')'])
        || command.contains("${")
        || command.contains("$[")
}

/// The pieces between control operators, with their white space made one space each. Text rules are no
/// boundary; this only saves the honest case of a denied program that isn't first.
pub(super) fn command_pieces(command: &str) -> Vec<String> {
    let cut = [';', '&', '|', '\n', '\r', '`', '(', ')', '{', '}'];
    let words = command.split(cut).map(|piece| piece.split_whitespace().collect::<Vec<_>>());
    let both = words.flat_map(|words| [words.join(" "), simple_command(&words)]);
    both.filter(|piece| !piece.is_empty()).collect()
}

/// The words from the program on: without the shell's own words and assignments before it, and with the
/// program's bare name.
fn simple_command(words: &[&str]) -> String {
    const BEFORE: [&str; 9] = ["then", "do", "else", "elif", "if", "while", "until", "!", "time"];
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let goes_before =
        |word: &&&str| BEFORE.contains(*word) || word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let skipped = words.iter().take_while(goes_before).count();
    let Some((program, rest)) = words[skipped..].split_first() else { return String::new() };
    let bare = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(program);
    std::iter::once(bare).chain(rest.iter().copied()).collect::<Vec<_>>().join(" ")
}

/// What a named argument holds.
pub(super) enum Found {
    /// It isn't there.
    Nothing,
    /// It is there, in a shape that no pattern can be laid on.
    Unclear,
    /// Its texts: one, or the items of a list.
    Texts(Vec<String>),
}

/// The texts of an argument. With `wide` the other names of the same argument count too.
pub(super) fn values_of(arguments: &Value, key: &str, wide: bool) -> Found {
    let Some(map) = arguments.as_object() else { return Found::Unclear };
    let single = [key];
    let row = if wide { same_argument(key) } else { &[] };
    let mut texts = Vec::new();
    for name in if row.is_empty() { &single[..] } else { row } {
        let Some(value) = map.get(*name) else { continue };
        let items = match value {
            Value::Array(items) => items.as_slice(),
            Value::Null => continue,
            one => std::slice::from_ref(one),
        };
        for item in items {
            match item {
                Value::String(text) => texts.push(text.clone()),
                Value::Number(number) => texts.push(number.to_string()),
                Value::Bool(yes) => texts.push(yes.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => return Found::Unclear,
            }
        }
    }
    if texts.is_empty() { Found::Nothing } else { Found::Texts(texts) }
}
