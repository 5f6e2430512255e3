//! Generated history for benchmarks and tests: the same numbers always give the same events.

use host_event::{Fact, NewEvent, Scope};
use host_redact::Redactor;
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::{Block, CallId, ConversationId, RunId};
use serde_json::json;

const WORDS: [&str; 32] = [
    "invoice",
    "flight",
    "garden",
    "report",
    "backup",
    "deploy",
    "meeting",
    "budget",
    "newsletter",
    "summary",
    "ticket",
    "release",
    "database",
    "password-reset",
    "calendar",
    "translate",
    "summarise",
    "Zürich",
    "naïve",
    "评审",
    "预算",
    "会議",
    "예약",
    "ข้าว",
    "kernel",
    "socket",
    "thread",
    "parser",
    "lexer",
    "cache",
    "shard",
    "quota",
];
const TOOLS: [&str; 6] = ["Read", "Bash", "Grep", "Edit", "WebFetch", "ListDir"];

/// The beginning of the generated time, in Unix milliseconds.
pub const EPOCH_MS: i64 = 1_780_000_000_000;

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.next(WORDS.len() as u64) as usize]).collect();
        words.join(" ")
    }
}

/// The events of the `n`th run with so many calls, in `conversations` conversations by turns. Every 1,000th run
/// says `needle-<n>` and every 1,000th call gives `pin-<n>-<call>`.
pub fn run(n: u64, calls: u64, conversations: u64) -> Vec<NewEvent> {
    let mut numbers = Numbers(n);
    let conversation = ConversationId::parse(format!("web:sample-{}", n % conversations.max(1))).ok();
    let run = RunId::parse(format!("run-sample-{n:08}")).ok();
    let scope = Scope { conversation, run, call: None };
    let mut at = EPOCH_MS + i64::try_from(n).unwrap_or(0) * 60_000;
    let redactor = Redactor::default();
    let mut events = Vec::new();
    let mut push = |fact: &Fact, scope: Scope, at: i64| events.push(NewEvent::of(fact, scope, at, &redactor));
    let needle = if n.is_multiple_of(1000) { format!(" needle-{n}") } else { String::new() };
    let started = Fact::RunStarted {
        incarnation: "sample".into(),
        source: ["web", "telegram", "cron"][numbers.next(3) as usize].into(),
        source_detail: None,
        user_input: format!("{}{needle}", numbers.words(8)),
        attachments: vec![],
        model: "sample:model".into(),
        effort: Some("medium".into()),
        isolated: n % 10 == 9,
        offered: vec![],
        withheld: vec![],
    };
    push(&started, scope.clone(), at);
    for call in 0..calls {
        let id = CallId::parse(format!("call-{n}-{call}")).unwrap_or_else(|_| CallId::fresh());
        let tool = TOOLS[numbers.next(TOOLS.len() as u64) as usize];
        at += 100;
        let begun = Fact::CallStarted {
            tool: tool.into(),
            source: "builtin".into(),
            arguments: json!({"path": format!("src/{}.rs", numbers.words(1)), "pattern": numbers.words(2)}),
            arguments_digest: "0".repeat(64),
            rule: "allow-all".into(),
        };
        push(&begun, scope.call(&id), at);
        let failed = numbers.next(20) == 0;
        let pin =
            if (n * calls + call).is_multiple_of(1000) { format!(" pin-{n}-{call}") } else { String::new() };
        at += 100;
        let settled = Fact::CallSettled {
            tool: tool.into(),
            settled: if failed { "failed" } else { "done" }.into(),
            code: if failed { "not_found" } else { "ok" }.into(),
            content: vec![Block::text(format!("{}{pin}", numbers.words(24)))],
            structured: None,
            outcome: None,
            duration_ms: numbers.next(4000),
            original_bytes: 160,
            truncated: false,
            kept: vec![],
        };
        push(&settled, scope.call(&id), at);
    }
    let answered = Fact::ModelAnswered {
        step: 0,
        model: "sample:model".into(),
        text: numbers.words(20),
        calls: vec![],
        finish: "stop".into(),
        usage: Usage::default(),
    };
    push(&answered, scope.clone(), at + 50);
    let ending = match numbers.next(20) {
        0 => Ending::Failed { kind: FailureKind::Timeout, error: "the provider did not answer".into() },
        1 => Ending::Cancelled,
        _ => Ending::Succeeded,
    };
    let usage = Usage {
        input_tokens: 1000 + numbers.next(9000),
        output_tokens: numbers.next(900),
        ..Usage::default()
    };
    let done = Fact::RunSettled {
        ending,
        text: numbers.words(20),
        usage,
        duration_ms: 500 + numbers.next(60_000),
        failover_history: vec![],
    };
    push(&done, scope, at + 100);
    events
}
