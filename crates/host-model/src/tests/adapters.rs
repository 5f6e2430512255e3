//! Each wire format: the exact request, and an answer that is cut at every byte.

use super::*;
use crate::bedrock::event_stream::encode;
use crate::{AwsCredentials, Prices};

/// Plays one body in pieces of every kind of size and demands the same events each time.
async fn same_however_cut(settings: ProviderSettings, plays: impl Fn() -> Play) -> String {
    let length = plays().body.len();
    let mut told_first = String::new();
    for piece in [length, 1, 2, 3, 7, 64] {
        let fake = Fake::start([plays().pieces(piece)]).await;
        let settings = ProviderSettings { base_url: Some(fake.url.clone()), ..settings.clone() };
        let said = told(&play(&model(settings), ask("hi")).await);
        if told_first.is_empty() {
            told_first = said;
        } else {
            assert_eq!(told_first, said, "pieces of {piece}");
        }
    }
    told_first
}

/// The body cut in two at every byte.
async fn same_at_every_byte(settings: ProviderSettings, body: &str) {
    let fake = Fake::start((1..body.len()).map(|at| {
        let mut play = Play::sse(body);
        play.piece = at;
        play
    }))
    .await;
    let model = model(ProviderSettings { base_url: Some(fake.url.clone()), ..settings });
    let mut first: Option<String> = None;
    for _ in 1..body.len() {
        let said = told(&play(&model, ask("hi")).await);
        assert_eq!(first.get_or_insert_with(|| said.clone()), &said);
    }
}

// ENG-2
#[tokio::test]
async fn anthropic_request() {
    let fake = Fake::start([Play::json(500, &json!({})), Play::json(500, &json!({}))]).await;
    let raw = json!({"type": "thinking", "thinking": "hm", "signature": "SIG=="});
    let old = settings(ProviderKind::Anthropic, "anthropic", "claude-sonnet-4-20250514", &fake.url);
    play(&model(old), full("anthropic", raw.clone(), None)).await;
    let new = settings(ProviderKind::Anthropic, "anthropic", "claude-opus-4-6", &format!("{}/v1/", fake.url));
    play(&model(new), ModelRequest { effort: Some(Effort::Ultra), ..ask("hi") }).await;
    insta::assert_snapshot!(fake.shown());
}

const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20,\"output_tokens\":1}}}\n\n\
event: ping\ndata: {\"type\": \"ping\"}\n\n: keep-alive\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Ü\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"SIG\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"XYZ\"}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello 😀\"}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"Read\",\"input\":{}}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"path\\\": \"}}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"tool_use\",\"id\":\"tu_2\",\"name\":\"Now\",\"input\":{}}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"a\\\"}\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n\
event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":42}}\n\n\
event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

// ENG-2 T3-07
#[tokio::test]
async fn anthropic_answer() {
    let settings = ProviderSettings {
        prices: Some(Prices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) }),
        ..settings(ProviderKind::Anthropic, "anthropic", "claude-sonnet-4", "http://x")
    };
    insta::assert_snapshot!(same_however_cut(settings.clone(), || Play::sse(ANTHROPIC)).await);
    same_at_every_byte(settings, ANTHROPIC).await;
}

// ENG-2 T4-01
#[tokio::test]
async fn chat_request() {
    let plays = || Play::json(500, &json!({}));
    let fake = Fake::start([plays(), plays()]).await;
    let raw = json!({"reasoning_content": "hm"});
    let openai = settings(ProviderKind::OpenaiChat, "openai", "gpt-5", &fake.url);
    play(&model(openai), full("openai", json!({}), None)).await;
    let mut other = settings(
        ProviderKind::OpenaiCompatible,
        "deepseek",
        "deepseek-chat",
        &format!("{}/api/v1", fake.url),
    );
    other.headers.push(("x-team".to_owned(), Secret::new("blue")));
    play(
        &model(other),
        full("deepseek", raw, Some(json!({"extra_content": {"google": {"thought_signature": "T"}}}))),
    )
    .await;
    insta::assert_snapshot!(fake.shown());
}

const CHAT: &str = "\u{feff}: ping\r\n\r\ndata:\r\n\r\ndata: {\"choices\":[]}\r\n\r\nevent: ping\r\ndata: {}\r\n\r\nid: 5\r\n\r\nretry: 10\r\n\r\n\
data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"Let\"},\"finish_reason\":null}],\"usage\":null}\r\n\r\n\
data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\" me\"}}]}\r\n\r\n\
: ping\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hällo\"}}]}\r\n\r\n\
data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another choice\"}}]}\r\n\r\n\
data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"Read\",\"arguments\":\"\"}}]}}]}\r\n\r\n\
data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":3,\"id\":\"c2\",\"function\":{\"name\":\"Now\",\"arguments\":\"{}\"}},{\"index\":1,\"function\":{\"arguments\":\"{\\\"path\\\":\"}}]}}]}\r\n\r\n\
data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"\\\"a\\\"}\"}}]}}]}\r\n\r\n\
data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n\
data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":60}}}\r\n\r\n\
data: [DONE]\r\n\r\n";

// ENG-2 T3-07
#[tokio::test]
async fn chat_answer() {
    let settings = settings(ProviderKind::OpenaiCompatible, "deepseek", "m", "http://x");
    insta::assert_snapshot!(same_however_cut(settings.clone(), || Play::sse(CHAT)).await);
    same_at_every_byte(settings, CHAT).await;
}

// ENG-2
#[tokio::test]
async fn a_chat_server_that_knows_no_streaming() {
    let whole = json!({"choices": [{"message": {"role": "assistant", "content": "All at once"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let fake = Fake::start([Play::json(200, &whole)]).await;
    let said =
        told(&play(&model(settings(ProviderKind::OpenaiCompatible, "x", "m", &fake.url)), ask("hi")).await);
    assert!(said.starts_with("text: All at once\npart:") && said.contains("finished: Stop"), "{said}");
}

// ENG-2
#[tokio::test]
async fn responses_request() {
    let plays = || Play::json(500, &json!({}));
    let fake = Fake::start([plays(), plays()]).await;
    let raw = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"});
    let thinks = settings(ProviderKind::OpenaiResponses, "openai", "gpt-5", &fake.url);
    play(&model(thinks), full("openai", raw, None)).await;
    let plain = settings(ProviderKind::OpenaiResponses, "openai", "gpt-4.1", &fake.url);
    play(&model(plain), ask("hi")).await;
    insta::assert_snapshot!(fake.shown());
}

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n\
data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}}\n\n\
data: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"summary_index\":0,\"delta\":\"Thinking\"}\n\n\
data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Thinking\"}],\"encrypted_content\":\"ENC\"}}\n\n\
data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"Hi \"}\n\n\
data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"ä\"}\n\n\
data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi ä\"}]}}\n\n\
data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"Read\",\"arguments\":\"\"}}\n\n\
data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{\\\"pa\"}\n\n\
data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"Read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\",\"status\":\"completed\"}}\n\n\
data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":50,\"input_tokens_details\":{\"cached_tokens\":10},\"output_tokens\":9}}}\n\n";

// ENG-2
#[tokio::test]
async fn responses_answer() {
    let settings = settings(ProviderKind::OpenaiResponses, "openai", "gpt-5", "http://x");
    insta::assert_snapshot!(same_however_cut(settings.clone(), || Play::sse(RESPONSES)).await);
    same_at_every_byte(settings, RESPONSES).await;
}

// ENG-2
#[tokio::test]
async fn gemini_request() {
    let plays = || Play::json(500, &json!({}));
    let fake = Fake::start([plays(), plays()]).await;
    let raw = json!({"parts": [{"text": "hm", "thought": true}]});
    let call = json!({"provider": "gemini", "thoughtSignature": "TS", "id": "g1"});
    let old = settings(ProviderKind::Gemini, "gemini", "gemini-2.5-flash", &format!("{}/v1beta", fake.url));
    play(&model(old), full("gemini", raw, Some(call))).await;
    let new = settings(ProviderKind::Gemini, "gemini", "gemini-3-pro-preview", &fake.url);
    play(&model(new), full("gemini", json!({"parts": []}), None)).await;
    insta::assert_snapshot!(fake.shown());
}

const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hm\",\"thought\":true}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":5}}\r\n\r\n\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hé\"}]}}]}\r\n\r\n\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"llo\"},{\"functionCall\":{\"name\":\"Read\",\"args\":{\"path\":\"a\"}, \"id\":\"g1\"},\"thoughtSignature\":\"TS\"},{\"functionCall\":{\"name\":\"Now\",\"id\":\"g2\"}}]}}]}\r\n\r\n\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"END\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":50,\"cachedContentTokenCount\":20,\"candidatesTokenCount\":6,\"thoughtsTokenCount\":4}}\r\n\r\n";

// ENG-2
#[tokio::test]
async fn gemini_answer() {
    let settings = settings(ProviderKind::Gemini, "gemini", "gemini-3-pro", "http://x");
    insta::assert_snapshot!(same_however_cut(settings.clone(), || Play::sse(GEMINI)).await);
    same_at_every_byte(settings, GEMINI).await;
}

// ENG-2
#[tokio::test]
async fn bedrock_request() {
    let plays = || Play::json(500, &json!({}));
    let fake = Fake::start([plays(), plays()]).await;
    let raw = json!({"reasoningText": {"text": "hm", "signature": "S"}});
    let name = "eu.anthropic.claude-sonnet-4-20250514-v1:0";
    let signed = ProviderSettings {
        api_key: None,
        aws: Some(AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("very-secret"),
            session_token: None,
            region: "eu-west-1".to_owned(),
        }),
        ..settings(ProviderKind::Bedrock, "bedrock", name, &fake.url)
    };
    play(&model(signed), full("bedrock", raw, None)).await;
    let (head, body) = fake.requests().remove(0);
    // The port is another each time, and with it the signature.
    let head = head.split(", Signature=").next().unwrap().to_owned();
    insta::assert_snapshot!(format!("{head}\n{}", serde_json::to_string_pretty(&body).unwrap()));
    let bearer = settings(ProviderKind::Bedrock, "bedrock", "amazon.nova-lite-v1:0", &fake.url);
    play(&model(bearer), ask("hi")).await;
    assert!(
        fake.requests()[1]
            .0
            .contains("/model/amazon.nova-lite-v1%3A0/converse-stream\nauthorization: Bearer KEY-123456")
    );
}

fn bedrock_stream() -> Vec<u8> {
    let event = |name: &str, body: Value| {
        encode(&[(":message-type", "event"), (":event-type", name)], &body.to_string())
    };
    [
        event("messageStart", json!({"role": "assistant"})),
        event("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm"}}})),
        event("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "S"}}})),
        event("contentBlockStop", json!({"contentBlockIndex": 0})),
        event("contentBlockDelta", json!({"contentBlockIndex": 1, "delta": {"text": "Hé"}})),
        event("contentBlockStart", json!({"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "Read"}}})),
        event("contentBlockDelta", json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{\"path\":"}}})),
        event("contentBlockDelta", json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": "\"a\"}"}}})),
        event("contentBlockStop", json!({"contentBlockIndex": 2})),
        event("messageStop", json!({"stopReason": "tool_use"})),
        event("metadata", json!({"usage": {"inputTokens": 5, "outputTokens": 6, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 8}})),
    ]
    .concat()
}

// ENG-2
#[tokio::test]
async fn bedrock_answer() {
    let settings = settings(ProviderKind::Bedrock, "bedrock", "m", "http://x");
    let plays = || Play::of(200, "application/vnd.amazon.eventstream", &bedrock_stream());
    insta::assert_snapshot!(same_however_cut(settings.clone(), plays).await);
    let slow = encode(
        &[(":message-type", "exception"), (":exception-type", "throttlingException")],
        "{\"message\":\"slow down\"}",
    );
    let fake = Fake::start([Play::of(200, "application/vnd.amazon.eventstream", &slow)]).await;
    let said = told(
        &play(&model(ProviderSettings { base_url: Some(fake.url.clone()), ..settings }), ask("hi")).await,
    );
    assert!(
        said.contains("error: rate_limited the provider reports an error in its answer: slow down"),
        "{said}"
    );
}
