//! Prompts that do not fit: whether a message says so, and which window it names.

/// Words before the size of a window, in the messages that are in use.
const BEFORE: &[&str] = &[
    "maximum context length is",
    "maximum context length of",
    "maximum number of tokens allowed (",
    "maximum number of tokens allowed is",
    "maximum input length is",
    "maximum input length of",
    "maximum prompt length is",
    "maximum allowed number of input tokens is",
    "available context size (",
    "context size (",
    "context size of",
    "context length is",
    "context length of",
    "context length (",
    "context_length of",
    "context window of",
    "context window is",
    "context window (",
    "context limit of",
    "tokens > ",
    "exceed context limit:",
    "exceeds the limit of",
    "exceeds limit of",
    "input limit of",
    "limit is",
];

/// Whether a message (in lower case) says that the prompt is too long.
pub(super) fn is_context_message(lower: &str) -> bool {
    const WHOLE: &[&str] = &[
        "maximum context length",
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "input too long",
        "exceeds the maximum number of tokens",
        "exceeds the available context size",
        "exceed context limit",
        "exceeds the context window",
        "exceeds the context length",
        "exceed the context window",
        "context length exceeded",
        "context window exceeded",
        "context_length_exceeded",
        "maximum prompt length",
        "maximum input length",
        "maximum allowed number of input tokens",
        "reduce the length of the messages",
        "reduce the length of the prompt",
        "larger than the context",
        "too large for the context",
        "exceeds the model's context",
        "exceeds the model's maximum",
        "too many input tokens",
        "longer than the model's context length",
        "too many total text bytes",
    ];
    WHOLE.iter().any(|words| lower.contains(words))
}

/// The size that a message names, in tokens.
pub(super) fn named(message: &str) -> Option<u64> {
    let lower = message.to_lowercase();
    BEFORE.iter().find_map(|words| {
        let from = lower.find(words)? + words.len();
        let mut rest = lower[from..].trim_start();
        // Anthropic writes a sum: `exceed context limit: 190000 + 20000 > 200000`.
        if *words == "exceed context limit:" {
            rest = rest.split_once('>')?.1.trim_start();
        }
        number(rest)
    })
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || matches!(c, ',' | '_'))
        .filter(char::is_ascii_digit)
        .take(12)
        .collect();
    digits.parse().ok().filter(|size| (256..=100_000_000).contains(size))
}
