use super::*;
use host_ports::BoxFuture;
use host_ports::model::ToolResult;
use host_vocab::Block;
use std::time::Instant;

struct Still;

impl Clock for Still {
    fn now_ms(&self) -> i64 {
        0
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

fn parse(text: &str) -> Result<Scripted, ScriptError> {
    Scripted::parse("demo.jsonl", text, Arc::new(Still))
}

async fn play(model: &Scripted, results: &[(&str, &str, bool)]) -> Vec<Result<ModelEvent, ModelError>> {
    let results = results
        .iter()
        .map(|(name, text, is_error)| ToolResult {
            call_id: "c".to_owned(),
            name: (*name).to_owned(),
            content: vec![Block::text(*text)],
            is_error: *is_error,
        })
        .collect();
    let request = ModelRequest {
        system: String::new(),
        messages: vec![Message::ToolResults { results }],
        tools: Arc::new([]),
        effort: None,
        output_tokens_max: None,
        cache_key: None,
    };
    model.stream(request).collect().await
}

// ENG-5
#[tokio::test]
async fn a_script_plays_text_calls_and_failures() {
    let model = parse(concat!(
        "\u{feff}# a demo\n",
        r#"{"chunks": ["He", "llo"], "toolCalls": [{"name": "Read", "arguments": {"file_path": "a"}}, {"name": "X", "arguments": "{broken"}]}"#,
        "\n\n",
        r#"{"expect": [{"tool": "Read", "contains": "blue", "isError": false}], "error": {"kind": "overloaded", "message": "busy", "retryAfterMs": 1500}}"#,
        "\n",
        r#"{"text": "done", "usage": {"inputTokens": 3, "outputTokens": 4}, "delayMs": 5}"#,
    ))
    .unwrap();
    let events = play(&model, &[]).await;
    assert_eq!(events[0], Ok(ModelEvent::Text("He".to_owned())));
    let calls: Vec<(&str, &str)> = events
        .iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::Part(AssistantPart::Call(call))) => {
                Some((call.name.as_str(), call.arguments.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("Read", "{\"file_path\":\"a\"}"), ("X", "{broken")]);
    let failed = play(&model, &[("Read", "the sky is blue", false)]).await;
    let error = failed[0].as_ref().unwrap_err();
    assert_eq!((error.kind, error.retry_after), (FailureKind::Overloaded, Some(Duration::from_millis(1500))));
    let last = play(&model, &[]).await;
    assert!(matches!(last.last(), Some(Ok(ModelEvent::Finished { usage, .. })) if usage.output_tokens == 4));
    let over = play(&model, &[]).await;
    let said = &over[0].as_ref().unwrap_err().message;
    assert_eq!(said, "demo.jsonl: the script has 3 turns and was asked for turn 4; add a line");
}

// ENG-5
#[tokio::test]
async fn an_expectation_that_is_not_met_names_line_and_difference() {
    let model = parse(concat!(
        "{\"text\": \"a\"}\n",
        "{\"expect\": {\"tool\": \"Read\", \"equals\": \"7\"}, \"text\": \"b\"}\n",
        "{\"expect\": \"x\", \"text\": \"c\"}"
    ))
    .unwrap();
    play(&model, &[]).await;
    let error = play(&model, &[("Read", "8", true)]).await.remove(0).unwrap_err();
    assert_eq!(error.kind, FailureKind::RuntimeError);
    assert_eq!(
        error.message,
        "demo.jsonl:2: expect: a result of Read equal to \"7\" was wanted; Read (error): \"8\""
    );
    let error = play(&model, &[]).await.remove(0).unwrap_err();
    assert_eq!(
        error.message,
        "demo.jsonl:3: expect: a result containing \"x\" was wanted; there are no results"
    );
}

// ENG-5
#[test]
fn a_bad_line_is_named() {
    let table = [
        (
            "{\"text\": \"a\"}\n{\"txet\": \"b\"}",
            "demo.jsonl:2: column 7: unknown field `txet`, expected one of `text`",
        ),
        ("{\"text\": 1}", "demo.jsonl:1: column 10: invalid type: integer `1`, expected a string"),
        ("not json", "demo.jsonl:1: column 2: expected ident"),
        ("{}", "demo.jsonl:1: a turn needs `text`, `chunks`, `toolCalls` or `error`"),
        ("\n", "demo.jsonl:1: the script has no turn; a line looks like {\"text\": \"Hello\"}"),
        ("{\"text\": \"a\", \"chunks\": [\"b\"]}", "demo.jsonl:1: `chunks` put together are not `text`"),
        ("{\"text\": \"a\", \"expect\": 5}", "demo.jsonl:1: expect: a text, an object or a list"),
        ("{\"error\": {\"kind\": \"bored\"}}", "demo.jsonl:1: column 26: unknown variant `bored`"),
    ];
    for (text, message) in table {
        let error = parse(text).err().unwrap().to_string();
        assert!(error.starts_with(message), "{error}\n{message}");
    }
}
