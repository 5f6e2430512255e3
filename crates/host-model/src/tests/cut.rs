//! Streams that end too early (T12-07), and refusals.

use super::*;
use crate::bedrock::event_stream::encode;
use host_turn::FailureKind;

/// For each wire: text, half a call, a whole call without an end, an end without its mark, an error.
struct Shapes {
    kind: ProviderKind,
    media: &'static str,
    text: Vec<u8>,
    half: Vec<u8>,
    whole: Vec<u8>,
    finish: Vec<u8>,
    error: Vec<u8>,
}

fn sse(frames: &[Value]) -> Vec<u8> {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect::<String>().into_bytes()
}

fn shapes() -> Vec<Shapes> {
    let chat = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let fragment = |text: &str| {
        chat(
            json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "Read", "arguments": text}}]}),
        )
    };
    let block = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let tool = block(1, json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}}));
    let args = |text: &str| delta(1, json!({"type": "input_json_delta", "partial_json": text}));
    let item = |arguments: &str| json!({"type": "function_call", "call_id": "c", "name": "Read", "arguments": arguments, "status": "completed"});
    let part = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let aws = |name: &str, body: Value| encode(&[(":event-type", name)], &body.to_string());
    let aws_args = |text: &str| {
        aws("contentBlockDelta", json!({"contentBlockIndex": 1, "delta": {"toolUse": {"input": text}}}))
    };
    let aws_tool = || {
        aws(
            "contentBlockStart",
            json!({"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "Read"}}}),
        )
    };
    vec![
        Shapes {
            kind: ProviderKind::OpenaiCompatible,
            media: "text/event-stream",
            text: sse(&[chat(json!({"content": "Hel"}))]),
            half: sse(&[fragment("{\"path\": \"a")]),
            whole: sse(&[fragment("{\"path\": \"a\"}")]),
            finish: sse(&[json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})]),
            error: sse(&[json!({"error": {"message": "the engine broke", "type": "server_error"}})]),
        },
        Shapes {
            kind: ProviderKind::Anthropic,
            media: "text/event-stream",
            text: sse(&[block(0, json!({"type": "text", "text": ""})), delta(0, json!({"type": "text_delta", "text": "Hel"}))]),
            half: sse(&[tool.clone(), args("{\"path\": \"a")]),
            whole: sse(&[tool, args("{\"path\": \"a\"}"), json!({"type": "content_block_stop", "index": 1})]),
            finish: sse(&[json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}})]),
            error: sse(&[json!({"type": "error", "error": {"type": "api_error", "message": "the engine broke"}})]),
        },
        Shapes {
            kind: ProviderKind::OpenaiResponses,
            media: "text/event-stream",
            text: sse(&[json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"})]),
            half: sse(&[
                json!({"type": "response.output_item.added", "output_index": 1, "item": item("")}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"path"}),
            ]),
            whole: sse(&[json!({"type": "response.output_item.done", "output_index": 1, "item": item("{\"path\": \"a\"}")})]),
            finish: sse(&[json!({"type": "response.completed", "response": {"status": "completed"}})]),
            error: sse(&[json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "the engine broke"}}})]),
        },
        Shapes {
            kind: ProviderKind::Gemini,
            media: "text/event-stream",
            text: sse(&[part(json!({"text": "Hel"}))]),
            half: b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"Read\",\"args\":{\"pa".to_vec(),
            whole: sse(&[part(json!({"functionCall": {"name": "Read", "args": {"path": "a"}}}))]),
            finish: sse(&[json!({"candidates": [{"finishReason": "STOP"}]})]),
            error: sse(&[json!({"error": {"code": 500, "message": "the engine broke", "status": "INTERNAL"}})]),
        },
        Shapes {
            kind: ProviderKind::Bedrock,
            media: "application/vnd.amazon.eventstream",
            text: aws("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"text": "Hel"}})),
            half: [aws_tool(), aws_args("{\"path\": \"a")].concat(),
            whole: [aws_tool(), aws_args("{\"path\": \"a\"}"), aws("contentBlockStop", json!({"contentBlockIndex": 1}))].concat(),
            finish: aws("messageStop", json!({"stopReason": "tool_use"})),
            error: encode(&[(":exception-type", "internalServerException")], "{\"message\":\"the engine broke\"}"),
        },
    ]
}

// T12-07
#[tokio::test]
async fn a_cut_answer_is_never_a_success_and_no_half_call_is_given() {
    for shape in shapes() {
        let cases: [(&str, Vec<u8>, Option<FailureKind>); 8] = [
            ("a", Vec::new(), Some(FailureKind::StreamTerminated)),
            ("b", shape.text.clone(), Some(FailureKind::StreamTerminated)),
            ("c", [shape.text.clone(), shape.half.clone()].concat(), Some(FailureKind::StreamTerminated)),
            ("d", [shape.text.clone(), shape.whole.clone(), shape.finish.clone()].concat(), None),
            ("e", shape.error.clone(), Some(FailureKind::ServerError)),
            (
                "e after text",
                [shape.text.clone(), shape.error.clone()].concat(),
                Some(FailureKind::ServerError),
            ),
            ("f", [shape.text.clone(), shape.whole.clone()].concat(), Some(FailureKind::StreamTerminated)),
            (
                "c cut inside",
                [shape.text.clone(), shape.whole[..shape.whole.len() / 2].to_vec()].concat(),
                Some(FailureKind::StreamTerminated),
            ),
        ];
        for (case, body, kind) in cases {
            for broken in [false, true] {
                let mut answer = Play::of(200, shape.media, &body);
                answer.broken = broken;
                let fake = Fake::start([answer]).await;
                let events = play(&model(settings(shape.kind, "p", "m", &fake.url)), ask("hi")).await;
                let said = format!("{:?} {case} broken={broken}\n{}", shape.kind, told(&events));
                let error = events.iter().find_map(|event| event.as_ref().err());
                assert_eq!(error.map(|error| error.kind), kind, "{said}");
                let parts = events.iter().filter(|event| matches!(event, Ok(ModelEvent::Part(_)))).count();
                assert_eq!(parts > 0, kind.is_none(), "{said}");
                assert_eq!(
                    events.iter().any(|event| matches!(event, Ok(ModelEvent::Finished { .. }))),
                    kind.is_none(),
                    "{said}"
                );
                if kind.is_none() {
                    assert!(said.contains("\\\"path\\\"") && said.contains("ToolCalls"), "{said}");
                }
                assert!(events.last().is_some_and(|last| last.is_err() == kind.is_some()), "{said}");
            }
        }
    }
}

// T12-07
#[tokio::test]
async fn an_answer_that_the_output_limit_cut_keeps_whole_calls_alone() {
    let frames = [
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": "{}"}}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "Read", "arguments": "{\"p"}}]}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
    ];
    let fake = Fake::start([Play::of(200, "text/event-stream", &sse(&frames))]).await;
    let said =
        told(&play(&model(settings(ProviderKind::OpenaiCompatible, "p", "m", &fake.url)), ask("hi")).await);
    assert_eq!(said.matches("part:").count(), 1, "{said}");
    assert!(said.contains("finished: Length"), "{said}");
}

// ENG-2 ENG-3
#[tokio::test]
async fn refusals_have_kind_wait_status_and_id_and_never_the_key() {
    let body = json!({"error": {"message": "Slow down, KEY-123456! sk-proj-abcdefgh\nsecond line", "code": "rate_limit_exceeded"}});
    let answer = Play::json(429, &body).header("retry-after", "3").header("x-request-id", "req_1");
    let fake = Fake::start([answer]).await;
    let events =
        play(&model(settings(ProviderKind::OpenaiChat, "openai", "gpt-4o", &fake.url)), ask("hi")).await;
    let error = events[0].as_ref().unwrap_err();
    assert_eq!(error.kind, FailureKind::RateLimited);
    assert_eq!((error.retry_after, error.status), (Some(Duration::from_secs(3)), Some(429)));
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.message, "HTTP 429: Slow down, [redacted]! [redacted] second line");
    let long = Fake::start([Play::of(500, "text/plain", "x".repeat(100_000).as_bytes())]).await;
    let events = play(&model(settings(ProviderKind::Gemini, "gemini", "m", &long.url)), ask("hi")).await;
    assert!(events[0].as_ref().unwrap_err().message.chars().count() <= 401);
}

// ENG-3
#[tokio::test]
async fn no_server_a_web_page_and_silence() {
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let kind = |events: &[Result<ModelEvent, ModelError>]| events.last().unwrap().as_ref().unwrap_err().kind;
    let events = play(&model(settings(ProviderKind::Anthropic, "anthropic", "m", &closed)), ask("hi")).await;
    assert_eq!(kind(&events), FailureKind::Network);
    let page = Fake::start([Play::of(200, "text/html; charset=utf-8", b"<html></html>")]).await;
    let events =
        play(&model(settings(ProviderKind::Anthropic, "anthropic", "m", &page.url)), ask("hi")).await;
    assert_eq!(kind(&events), FailureKind::ProviderUnavailable);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let silent = ProviderSettings {
        head_timeout: Some(Duration::from_millis(80)),
        ..settings(ProviderKind::Anthropic, "anthropic", "m", &url)
    };
    assert_eq!(kind(&play(&model(silent), ask("hi")).await), FailureKind::Timeout);
}
