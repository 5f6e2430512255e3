//! Scripts of inputs, snapshots of commands. No clock, no async.

mod laws;

use super::*;
use crate::compaction::CompactionConfig;
use crate::config::EngineConfig;
use crate::context::UserMessage;
use crate::retry::Route;
use host_ports::model::ToolSpec;
use host_ports::model::{ToolCall, ToolResult};
use host_surface::How;
use serde_json::json;
use std::fmt::Write as _;

pub(super) fn route(reference: &str) -> Route {
    Route {
        reference: reference.into(),
        provider: reference.split(':').next().unwrap_or_default().into(),
        context_window: 200_000,
        images: true,
        operator: false,
        effort: None,
        attempts_max: 2,
    }
}

pub(super) fn spec(routes: &[&str]) -> RunSpec {
    let user = |text: &str| Message::User { content: vec![Block::text(text)] };
    RunSpec {
        system: "sys".into(),
        tools: Arc::new([ToolSpec {
            name: "Read".into(),
            description: "reads".into(),
            input_schema: Arc::new(json!({"type": "object"})),
        }]),
        together: ["Read", "Grep"].map(String::from).into(),
        chain: routes.iter().map(|reference| route(reference)).collect(),
        config: EngineConfig::default(),
        history: Vec::new(),
        user: UserMessage { prompted: user("question + background"), stored: user("question") },
        cache_key: None,
        empty_is_silence: false,
    }
}

pub(super) fn said(text: &str) -> Input {
    Input::Streamed(ModelEvent::Text(text.into()))
}

pub(super) fn part(part: AssistantPart) -> Input {
    Input::Streamed(ModelEvent::Part(part))
}

pub(super) fn call(id: &str, name: &str) -> Input {
    let call =
        ToolCall { id: id.into(), name: name.into(), arguments: format!("{{\"n\":\"{id}\"}}"), raw: None };
    part(AssistantPart::Call(call))
}

pub(super) fn done(reason: FinishReason) -> Input {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Input::Streamed(ModelEvent::Finished { reason, usage })
}

pub(super) fn settled(index: usize, how: How) -> Input {
    Input::CallSettled {
        index,
        settled: SettledCall {
            how,
            code: "c".into(),
            content: vec![Block::text(format!("result {index}"))],
            duration_ms: 1,
            preview: "p".into(),
            recorded: true,
            rule: None,
            result_bytes: 0,
        },
    }
}

fn fails(kind: FailureKind) -> Input {
    Input::StreamFailed(ModelError::new(kind, "provider words"))
}

fn message_line(message: &Message) -> String {
    match message {
        Message::User { content } => {
            format!("U:{}", host_vocab::text::one_line(&host_vocab::blocks_text(content), 60))
        }
        Message::Assistant { parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    AssistantPart::Text { text } => format!("{text:?}"),
                    AssistantPart::Reasoning { provider, .. } => format!("<{provider} thinks>"),
                    AssistantPart::Call(call) => format!("{}={}", call.id, call.name),
                })
                .collect();
            format!("A:{}", parts.join(" "))
        }
        Message::ToolResults { results } => {
            let results: Vec<String> = results
                .iter()
                .map(|r| {
                    let text = host_vocab::text::one_line(&host_vocab::blocks_text(&r.content), 50);
                    format!("{}{}:{text}", r.call_id, if r.is_error { "!" } else { "" })
                })
                .collect();
            format!("R:{}", results.join(" "))
        }
    }
}

fn messages_line(messages: &[Message]) -> String {
    messages.iter().map(message_line).collect::<Vec<_>>().join(" | ")
}

fn fact_line(fact: &Fact) -> String {
    match fact {
        Fact::ModelAsked { step, attempt, model } => format!("asked step={step} attempt={attempt} {model}"),
        Fact::ModelAnswered { step, text, calls, finish, .. } => {
            format!("answered step={step} {text:?} calls={} {finish}", calls.len())
        }
        Fact::ModelFailed { failure_kind, partial_text, then, .. } => {
            format!("failed {failure_kind} partial={partial_text:?} then {then}")
        }
        Fact::Warning { code, message } => format!("warning {code}: {message}"),
        Fact::ContextCompacted { when, tokens_before, tokens_after } => {
            format!("compacted {when}: shrank={}", tokens_after < tokens_before)
        }
        other => format!("{} ?", other.kind()),
    }
}

fn command_line(command: &Command) -> String {
    match command {
        Command::Record { fact, must } => {
            format!("record{} {}", if *must { "!" } else { "" }, fact_line(fact))
        }
        Command::Tell(event) => {
            let mut value = serde_json::to_value(event).unwrap();
            let kind = value["type"].take();
            value.as_object_mut().unwrap().retain(|_, v| !v.is_null());
            format!("tell {} {value}", kind.as_str().unwrap())
        }
        Command::Ask(order) => {
            let purpose = match &order.purpose {
                Purpose::Summary { .. } => "Summary".to_owned(),
                other => format!("{other:?}"),
            };
            let tools = order.request.tools.len();
            format!(
                "ask {purpose} route={} tools={tools} [{}]",
                order.route,
                messages_line(&order.request.messages)
            )
        }
        Command::Wait(duration) => format!("wait {duration:?}"),
        Command::Call(orders) => {
            let names: Vec<String> =
                orders.iter().map(|o| format!("{}:{}({})", o.index, o.name, o.id)).collect();
            format!("call {}", names.join(" + "))
        }
        Command::Stop => "stop".into(),
        Command::Finish(f) => {
            let mut line = format!("finish {:?} partial={} text={:?}", f.ending, f.partial, f.text);
            for notice in &f.notices {
                let _infallible = write!(line, "\n    notice {notice}");
            }
            for row in &f.failover_history {
                let _infallible = write!(line, "\n    attempted {row}");
            }
            let _infallible = write!(line, "\n    history [{}]", messages_line(&f.history));
            let _infallible = write!(line, "\n    turn [{}]", messages_line(&f.turn));
            line
        }
    }
}

pub(super) fn play(spec: RunSpec, inputs: Vec<Input>) -> String {
    let mut machine = Machine::new(spec);
    let mut out = String::new();
    for input in std::iter::once(Input::Begin).chain(inputs) {
        for command in machine.handle(input) {
            if let Command::Finish(finished) = &command {
                assert_paired(&finished.history);
                assert_paired(&finished.turn);
            }
            let _infallible = writeln!(out, "{}", command_line(&command));
        }
    }
    out
}

// ENG-1
#[test]
fn a_plain_answer() {
    let script = vec![
        said("Hel"),
        said("lo"),
        part(AssistantPart::Text { text: "Hello".into() }),
        done(FinishReason::Stop),
    ];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
}

// ENG-1
#[test]
fn read_only_calls_run_side_by_side_and_the_others_alone_in_order() {
    let script = vec![
        said("Let me look."),
        call("c1", "Read"),
        call("c2", "Grep"),
        call("c3", "Write"),
        call("c4", "Read"),
        done(FinishReason::ToolCalls),
        settled(1, How::Done),
        settled(0, How::Done),
        settled(2, How::Failed),
        settled(3, How::Done),
        part(AssistantPart::Text { text: "Done.".into() }),
        done(FinishReason::Stop),
    ];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
}

#[test]
fn ids_and_names_that_would_spoil_the_prompt_are_replaced_but_the_gate_sees_the_name() {
    let script = vec![
        call("", "Read"),
        call("x", "no such tool!"),
        call("x", "Read"),
        done(FinishReason::Stop),
        settled(0, How::Done),
        settled(1, How::Refused),
        settled(2, How::Done),
        said("ok"),
        done(FinishReason::Stop),
    ];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
}

#[test]
fn too_many_calls_of_one_answer_are_refused() {
    let mut spec = spec(&["a:m"]);
    spec.config.limits.calls_per_answer_max = 2;
    spec.config.limits.calls_together_max = 1;
    let script = vec![
        call("1", "Read"),
        call("2", "Read"),
        call("3", "Read"),
        done(FinishReason::ToolCalls),
        settled(0, How::Done),
        settled(1, How::Done),
        said("ok"),
        done(FinishReason::Stop),
    ];
    insta::assert_snapshot!(play(spec, script));
}

// REP-7
#[test]
fn an_empty_answer_gets_one_more_request_without_tools() {
    let thought =
        AssistantPart::Reasoning { provider: "a".into(), text: "hm".into(), raw: json!({"t": "hm"}) };
    let script =
        vec![part(thought), said(" \n"), done(FinishReason::Stop), said("Here."), done(FinishReason::Stop)];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
    let twice =
        play(spec(&["a:m"]), vec![done(FinishReason::Stop), call("c", "Read"), done(FinishReason::Stop)]);
    assert!(twice.contains("EmptyResponse") && !twice.contains("\ncall "), "{twice}");
    let mut quiet = spec(&["a:m"]);
    quiet.empty_is_silence = true;
    assert!(play(quiet, vec![done(FinishReason::Stop)]).contains("finish Succeeded"));
}

#[test]
fn an_answer_that_hit_the_limit_runs_no_call() {
    let script = vec![said("Half of"), call("c", "Write"), done(FinishReason::Length)];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
    let refused = play(spec(&["a:m", "b:m"]), vec![said("I can't."), done(FinishReason::Refusal)]);
    assert!(refused.contains("ContentFilter") && !refused.contains("route=1"), "{refused}");
}

#[test]
fn a_run_has_only_so_many_steps() {
    let mut spec = spec(&["a:m"]);
    spec.config.limits.steps_max = 2;
    let step = || [said("more"), call("c", "Read"), done(FinishReason::ToolCalls), settled(0, How::Done)];
    let text = play(spec, step().into_iter().chain(step()).collect());
    assert!(text.contains("MaxTurns") && text.matches("ask Answer").count() == 2, "{text}");
}

// ENG-1: a model that repeats itself is told, and then asked for its answer without tools.
#[test]
fn the_same_call_with_the_same_result_is_braked() {
    let step = |n: usize, took: u64, arguments: &str| {
        let raw =
            ToolCall { id: format!("c{n}"), name: "Read".into(), arguments: arguments.into(), raw: None };
        let settled = SettledCall {
            how: How::Done,
            code: "ok".into(),
            content: vec![Block::text("same")],
            duration_ms: took,
            preview: String::new(),
            recorded: true,
            rule: None,
            result_bytes: 0,
        };
        [
            part(AssistantPart::Call(raw)),
            done(FinishReason::ToolCalls),
            Input::CallSettled { index: 0, settled },
        ]
    };
    let end = || [said("I give up."), done(FinishReason::Stop)];
    let same: Vec<Input> = (0..8).flat_map(|n| step(n, 1, "{}")).chain(end()).collect();
    let text = play(spec(&["a:m"]), same);
    assert!(text.contains("finish Succeeded") && text.contains("ask Finalise"), "{text}");
    assert!(text.contains("tools are off"), "{text}");
    // Other arguments, or a call that waits for something, are no loop.
    let other = (0..9).flat_map(|n| step(n, 1, &format!("{{\"n\": {n}}}"))).chain(end()).collect();
    let waits = (0..9).flat_map(|n| step(n, 2_500, "{}")).chain(end()).collect();
    for script in [other, waits] {
        assert!(!play(spec(&["a:m"]), script).contains("Finalise"));
    }
}

// T12-07
#[test]
fn a_stream_without_an_end_is_no_success() {
    // (a) before any byte: tried again, then named.
    let text = play(spec(&["a:m"]), vec![Input::StreamEnded, Input::Waited, Input::StreamEnded]);
    insta::assert_snapshot!("cut_before_any_byte", text);
    // (b) in the middle of the text: partial, never tried again.
    let text = play(spec(&["a:m", "b:m"]), vec![said("Half"), Input::StreamEnded]);
    insta::assert_snapshot!("cut_in_the_text", text);
    // (c) in the middle of arguments, (f) after a whole call: the call never runs.
    for inputs in [
        vec![Input::Streamed(ModelEvent::CallStarted { name: "Write".into() }), Input::StreamEnded],
        vec![call("c", "Write"), Input::StreamEnded],
        vec![call("c", "Write"), fails(FailureKind::StreamTerminated)],
        // (e) an error object inside the stream
        vec![call("c", "Write"), fails(FailureKind::ServerError)],
    ] {
        let again = inputs.clone();
        let inputs = inputs.into_iter().chain([Input::Waited]).chain(again).collect();
        let text = play(spec(&["a:m"]), inputs);
        assert!(
            text.contains("finish Failed") && !text.contains("\ncall ") && !text.contains("A:"),
            "{text}"
        );
    }
    // (d) after the finish, before the end mark: a success.
    let text = play(spec(&["a:m"]), vec![said("Whole"), done(FinishReason::Stop), Input::StreamEnded]);
    assert!(text.contains("finish Succeeded partial=false text=\"Whole\""), "{text}");
}

// ENG-3
#[test]
fn another_route_answers_and_people_are_told() {
    let script = vec![
        fails(FailureKind::Overloaded),
        Input::Waited,
        fails(FailureKind::Overloaded),
        said("From b."),
        done(FinishReason::Stop),
    ];
    insta::assert_snapshot!(play(spec(&["a:m", "b:m"]), script));
    let silent = vec![fails(FailureKind::ProviderAuth), said("NOTHING_TO_REPORT"), done(FinishReason::Stop)];
    assert!(!play(spec(&["a:m", "b:m"]), silent).contains("notice"));
}

// ENG-3
#[test]
fn a_chain_at_its_end_says_what_was_tried() {
    let mut with_picture = spec(&["a:m", "b:m", "c:m"]);
    with_picture.chain[1].images = false;
    let picture = Block::Image { media: host_vocab::Media::from_bytes(&[1], "image/png") };
    with_picture.user.prompted = Message::User { content: vec![picture] };
    let script = vec![fails(FailureKind::ProviderAuth), fails(FailureKind::ModelNotFound)];
    insta::assert_snapshot!(play(with_picture, script));
    let alone = play(spec(&["a:m"]), vec![fails(FailureKind::ProviderAuth)]);
    assert!(alone.contains("kind: ProviderAuth"), "{alone}");
}

// ENG-3
#[test]
fn nothing_is_asked_again_once_a_tool_ran() {
    let script = vec![
        call("c", "Write"),
        done(FinishReason::ToolCalls),
        settled(0, How::Unknown),
        fails(FailureKind::Overloaded),
    ];
    insta::assert_snapshot!(play(spec(&["a:m", "b:m"]), script));
    let refused = vec![
        call("c", "Nope"),
        done(FinishReason::ToolCalls),
        settled(0, How::Refused),
        fails(FailureKind::Overloaded),
        Input::Waited,
        said("fine"),
        done(FinishReason::Stop),
    ];
    assert!(play(spec(&["a:m"]), refused).contains("finish Succeeded"));
}

#[test]
fn reasoning_goes_back_to_its_provider_alone() {
    let mut with_past = spec(&["a:m", "b:m"]);
    let thought = |provider: &str| AssistantPart::Reasoning {
        provider: provider.into(),
        text: String::new(),
        raw: json!({"s": 1}),
    };
    with_past.history = vec![
        Message::User { content: vec![Block::text("before")] },
        Message::Assistant {
            parts: vec![thought("a"), thought("b"), AssistantPart::Text { text: "t".into() }],
        },
    ];
    let text = play(with_past, vec![fails(FailureKind::ProviderAuth), said("x"), done(FinishReason::Stop)]);
    let asks: Vec<&str> = text.lines().filter(|line| line.starts_with("ask")).collect();
    assert!(asks[0].contains("<a thinks> \"t\"") && !asks[1].contains("thinks"), "{text}");
}

// ENG-1
#[test]
fn a_cancelled_run_leaves_no_call_without_a_result() {
    let script = vec![
        said("Working."),
        call("c1", "Read"),
        call("c2", "Grep"),
        call("c3", "Write"),
        done(FinishReason::ToolCalls),
        settled(0, How::Done),
        Input::Cancel,
        settled(1, How::Failed),
        settled(2, How::Done),
    ];
    insta::assert_snapshot!(play(spec(&["a:m"]), script));
    let lost = vec![
        call("c1", "Write"),
        call("c2", "Write"),
        done(FinishReason::Stop),
        Input::Cancel,
        Input::CallsLost,
    ];
    insta::assert_snapshot!("cancelled_and_lost", play(spec(&["a:m"]), lost));
}

#[test]
fn cancelled_while_it_asks_or_waits() {
    let text = play(spec(&["a:m"]), vec![said("Hal"), Input::Cancel, said("f"), Input::Cancel]);
    assert!(
        text.ends_with("turn [U:question | A:\"Hal\"]\n")
            && text.contains("stop\nfinish Cancelled partial=true")
    );
    let text = play(spec(&["a:m"]), vec![fails(FailureKind::Timeout), Input::Cancel, Input::Waited]);
    assert!(
        text.contains("stop\nfinish Cancelled partial=false") && text.matches("ask").count() == 2,
        "{text}"
    );
}

// ENG-7
#[test]
fn what_must_be_on_record_and_is_not_ends_the_run() {
    let text = play(spec(&["a:m"]), vec![Input::NotRecorded("the disk is full".into())]);
    assert!(text.contains("RecordFailed") && text.contains("the disk is full"));
    let asked = text.find("record! asked").unwrap();
    assert!(asked < text.find("ask Answer").unwrap());
}

#[test]
fn an_endless_answer_is_cut() {
    let mut spec = spec(&["a:m"]);
    spec.config.limits.answer_bytes_max = 10;
    let text = play(spec, vec![said("12345"), said("678901"), said("x")]);
    assert!(
        text.contains("stop\n") && text.contains("OutputLimit") && text.contains("12345678901"),
        "{text}"
    );
}

fn long_past(turns: usize, bytes: usize) -> Vec<Message> {
    (0..turns)
        .flat_map(|n| {
            let call =
                ToolCall { id: format!("h{n}"), name: "Read".into(), arguments: "{}".into(), raw: None };
            [
                Message::User { content: vec![Block::text(format!("old question {n}"))] },
                Message::Assistant { parts: vec![AssistantPart::Call(call)] },
                Message::ToolResults {
                    results: vec![ToolResult {
                        call_id: format!("h{n}"),
                        name: "Read".into(),
                        content: vec![Block::text("x".repeat(bytes))],
                        is_error: false,
                    }],
                },
                Message::Assistant { parts: vec![AssistantPart::Text { text: format!("old answer {n}") }] },
            ]
        })
        .collect()
}

// ENG-4
#[test]
fn a_prompt_that_is_too_long_is_shortened_before_it_is_sent() {
    let mut spec = spec(&["a:m"]);
    spec.chain[0].context_window = 20_000;
    spec.history = long_past(8, 8_000);
    let script =
        vec![said("They read eight files."), done(FinishReason::Stop), said("ok"), done(FinishReason::Stop)];
    insta::assert_snapshot!(play(spec, script));
}

// ENG-4
#[test]
fn instructions_count_towards_the_trigger_unless_the_config_leaves_them_out() {
    let mut spec = spec(&["a:m"]);
    spec.chain[0].context_window = 20_000;
    spec.system = "s".repeat(48_000);
    spec.history = long_past(2, 8_000);
    let plain = vec![said("ok"), done(FinishReason::Stop)];
    let shortened =
        vec![said("They read two files."), done(FinishReason::Stop), said("ok"), done(FinishReason::Stop)];
    spec.config.compaction.keep_recent_tokens = Some(100);
    assert!(play(spec.clone(), shortened).contains("Summary"));
    spec.config.compaction.fixed_overhead = false;
    assert!(!play(spec, plain).contains("Summary"));
}

// ENG-4
#[test]
fn an_overflow_is_answered_once_by_a_summary() {
    let mut spec = spec(&["a:m"]);
    spec.history = long_past(8, 20_000);
    let script = vec![
        fails(FailureKind::ContextLimit),
        said("They read eight files."),
        done(FinishReason::Stop),
        fails(FailureKind::ContextLimit),
    ];
    insta::assert_snapshot!(play(spec, script));
}

// ENG-4
#[test]
fn a_summary_that_fails_or_saves_nothing_is_not_tried_again() {
    let mut small = spec(&["a:m"]);
    small.chain[0].context_window = 20_000;
    small.history = long_past(8, 8_000);
    let ends = [
        vec![fails(FailureKind::ServerError)],
        vec![Input::StreamEnded],
        vec![done(FinishReason::Stop)],
        vec![said(&"y".repeat(80_000)), done(FinishReason::Stop)],
        vec![said("no"), done(FinishReason::Refusal)],
    ];
    for end in ends {
        // Before the request: it is sent as it is. After its overflow: the last resort, which asks nobody.
        let script = end
            .into_iter()
            .chain([fails(FailureKind::ContextLimit), said("ok"), done(FinishReason::Stop)])
            .collect();
        let text = play(small.clone(), script);
        assert_eq!(text.matches("ask Summary").count(), 1, "{text}");
        assert!(text.contains("warning compaction_failed") && text.contains("finish Succeeded"), "{text}");
        assert!(text.contains("was cut from the prompt"), "{text}");
    }
    let mut off = small.clone();
    off.config.compaction = CompactionConfig { enabled: false, ..CompactionConfig::default() };
    let text = play(off, vec![fails(FailureKind::ContextLimit)]);
    assert!(text.contains("kind: ContextLimit") && !text.contains("Summary"), "{text}");
    small.chain[0].operator = true;
    assert!(!play(small, vec![said("ok"), done(FinishReason::Stop)]).contains("Summary"));
}

// ENG-4
#[test]
fn one_huge_turn_goes_on_after_its_first_steps_were_summarised() {
    let mut spec = spec(&["a:m"]);
    spec.chain[0].context_window = 10_000;
    let step = |n: usize| {
        let settled = SettledCall {
            how: How::Done,
            code: "ok".into(),
            content: vec![Block::text("z".repeat(8_000))],
            duration_ms: 1,
            preview: String::new(),
            recorded: true,
            rule: None,
            result_bytes: 0,
        };
        [
            call(&format!("c{n}"), "Read"),
            done(FinishReason::ToolCalls),
            Input::CallSettled { index: 0, settled },
        ]
    };
    let script = (0..4)
        .flat_map(step)
        .chain([
            said("Four files were read."),
            done(FinishReason::Stop),
            said("ok"),
            done(FinishReason::Stop),
        ])
        .collect();
    let text = play(spec, script);
    assert!(text.contains("ask Summary") && text.contains("finish Succeeded"), "{text}");
    assert!(
        text.contains("history [U:<conversation-summary") && text.contains("turn [U:question | A:c3=Read"),
        "{text}"
    );
}
