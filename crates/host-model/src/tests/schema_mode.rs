//! Endpoints that carry no tool calls.

use super::*;
use crate::{SchemaMode, ToolCalling};

fn tools() -> Arc<[ToolSpec]> {
    let text = |names: &[&str]| {
        let properties: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string", "pattern": "x"})))
            .collect();
        json!({"type": "object", "properties": properties, "required": [names[0]]})
    };
    Arc::new([
        tool("Read", "Reads a text file. Long explanation follows here.", text(&["file_path", "offset"])),
        tool("Write", "Writes text to a file.", text(&["file_path", "content"])),
        tool("Grep", "Searches text in files.", text(&["pattern", "glob"])),
        tool("Glob", "Finds files by a pattern.", text(&["pattern"])),
        tool("ListDir", "Lists the files of a folder.", text(&["path"])),
        tool(
            "Exec",
            "Runs a program.",
            json!({"type": "object", "properties": {"executable": {"type": "string"}, "args": {"type": "array", "items": {"type": "string"}}, "timeout_ms": {"type": "integer"}}, "required": ["executable"]}),
        ),
    ])
}

fn local(url: &str, mode: ToolCalling) -> ProviderSettings {
    ProviderSettings {
        api_key: None,
        images: None,
        context_window: Some(4_096),
        tool_calling: mode,
        ..settings(ProviderKind::OpenaiCompatible, "llamacpp", "tiny", url)
    }
}

fn said(object: &str, reason: &str) -> Play {
    let mut body = String::new();
    for piece in object.as_bytes().chunks(5) {
        let delta = json!({"choices": [{"delta": {"content": String::from_utf8_lossy(piece)}}]});
        body.push_str(&format!("data: {delta}\n\n"));
    }
    body.push_str(&format!(
        "data: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"delta": {}, "finish_reason": reason}]})
    ));
    Play::sse(&body)
}

// ENG-2
#[tokio::test]
async fn it_is_found_out_once_and_said() {
    let ignores = json!({"choices": [{"message": {"content": "I am ping"}, "finish_reason": "stop"}]});
    let call = r#"{"tool": "Read", "arguments": {"file_path": "notes.txt"}}"#;
    let answer = r#"{"tool": "respond", "arguments": {"text": "The word is \"x\"."}}"#;
    let fake = Fake::start([Play::json(200, &ignores), said(call, "stop"), said(answer, "stop")]).await;
    let model = model(local(&fake.url, ToolCalling::Auto));
    assert_eq!(model.info().tool_calling, "native");
    let mut request =
        ModelRequest { tools: tools(), ..ask("Read the file notes.txt and tell me the code word in it") };
    let events = play(&model, request.clone()).await;
    assert_eq!(model.info().tool_calling, "schema");
    let first = told(&events);
    assert!(
        first.contains("was found to carry no tool calls, so tools go through the schema mode"),
        "{first}"
    );
    assert!(
        first.contains("1 of 6 tools go to this model, by the words of the message; left out: Write, Grep"),
        "{first}"
    );
    let part = events.iter().find_map(|event| match event {
        Ok(ModelEvent::Part(part)) => Some(part.clone()),
        _ => None,
    });
    let Some(AssistantPart::Call(call)) = part.clone() else { panic!("{first}") };
    let call_id = call.id.clone();
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("Read", "{\"file_path\":\"notes.txt\"}"));
    request.messages.push(Message::Assistant { parts: part.into_iter().collect() });
    request.messages.push(Message::ToolResults {
        results: vec![ToolResult {
            call_id,
            name: "Read".to_owned(),
            content: vec![Block::text("1\tThe word is x")],
            is_error: false,
        }],
    });
    let second = told(&play(&model, request).await);
    assert!(
        second.starts_with("text: The word is \"x\".\npart:") && second.contains("finished: Stop"),
        "{second}"
    );
    insta::assert_snapshot!(fake.shown());
}

// ENG-2
#[tokio::test]
async fn a_refusal_of_tools_switches_over_and_other_failures_do_not() {
    let refused = Play::json(400, &json!({"error": {"message": "tiny does not support tools"}}));
    let fake =
        Fake::start([refused, said(r#"{"tool": "respond", "arguments": {"text": "hi"}}"#, "stop")]).await;
    let events = play(
        &model(local(&fake.url, ToolCalling::Auto)),
        ModelRequest { tools: tools(), ..ask("read a.txt") },
    )
    .await;
    assert!(told(&events).starts_with("text: hi\n"), "{}", told(&events));
    let loading =
        Play::json(503, &json!({"error": {"message": "Loading model", "type": "unavailable_error"}}));
    let fake = Fake::start([loading]).await;
    let events = play(
        &model(local(&fake.url, ToolCalling::Auto)),
        ModelRequest { tools: tools(), ..ask("read a.txt") },
    )
    .await;
    assert!(told(&events).contains("error: overloaded"), "{}", told(&events));
}

// ENG-2
#[tokio::test]
async fn a_server_with_native_calls_stays_native() {
    let calls = json!({"choices": [{"message": {"tool_calls": [{"id": "1", "function": {"name": "ping", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]});
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let fake = Fake::start([Play::json(200, &calls), Play::sse(done), Play::sse(done)]).await;
    let model = model(local(&fake.url, ToolCalling::Auto));
    for _ in 0..2 {
        play(&model, ModelRequest { tools: tools(), ..ask("hi") }).await;
    }
    let requests = fake.requests();
    assert_eq!(requests.len(), 3, "one probe");
    assert_eq!(requests[1].1["tools"].as_array().unwrap().len(), 6);
}

// T12-07
#[tokio::test]
async fn a_cut_object_is_no_call() {
    for (object, reason, part) in [
        (r#"{"tool": "Read", "arguments": {"file_pa"#, "length", ""),
        (r#"{"tool": "respond", "arguments": {"text": "Once upon"#, "length", "Once upon"),
        ("Just words", "stop", "Just words"),
    ] {
        let fake = Fake::start([said(object, reason)]).await;
        let events = play(
            &model(local(&fake.url, ToolCalling::Schema)),
            ModelRequest { tools: tools(), ..ask("read a.txt") },
        )
        .await;
        let told = told(&events);
        assert!(told.starts_with(&format!("text: {part}\n")), "{told}");
        assert!(!told.contains("\"part\":\"call\""), "{told}");
    }
    // No finish reason at all: cut off, whatever came.
    let whole = r#"data: {"choices":[{"delta":{"content":"{\"tool\": \"Read\", \"arguments\": {}}"}}]}"#;
    let fake = Fake::start([Play::sse(&format!("{whole}\n\n"))]).await;
    let events = play(
        &model(local(&fake.url, ToolCalling::Schema)),
        ModelRequest { tools: tools(), ..ask("read a.txt") },
    )
    .await;
    assert!(told(&events).contains("error: stream_terminated"), "{}", told(&events));
}

// ENG-2
#[tokio::test]
async fn a_larger_model_gets_all_tools_whole_and_the_system_prompt() {
    let fake = Fake::start([said(r#"{"tool": "respond", "arguments": {"text": "hi"}}"#, "stop")]).await;
    let large = ProviderSettings {
        schema_mode: Some(SchemaMode::for_window(32_768)),
        ..local(&fake.url, ToolCalling::Schema)
    };
    play(&model(large), ModelRequest { tools: tools(), ..ask("hello there") }).await;
    let body = &fake.requests()[0].1;
    let forms = body["response_format"]["json_schema"]["schema"]["anyOf"].as_array().unwrap();
    assert_eq!(forms.len(), 7);
    assert!(forms[0]["properties"]["arguments"]["properties"].get("offset").is_some());
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("Be brief."));
}

/// A real small model, where one is served: `HOST_MODEL_TEST_ENDPOINT=http://127.0.0.1:PORT/v1`.
// ENG-2
#[tokio::test]
async fn a_real_small_model_reads_a_file_and_answers() {
    let Ok(url) = std::env::var("HOST_MODEL_TEST_ENDPOINT") else { return };
    let wordings = [
        "Read the file notes.txt and tell me the code word in it",
        "What is the code word in notes.txt?",
        "Please open notes.txt and give me the code word.",
        "Look into the file notes.txt. Which code word does it hold?",
        "Tell me the code word that is written in notes.txt",
    ];
    let model = model(local(&url, ToolCalling::Auto));
    let mut right = 0;
    for wording in wordings {
        let mut request = ModelRequest { tools: tools(), ..ask(wording) };
        let mut log = String::new();
        for _ in 0..4 {
            let events: Vec<_> = model.stream(request.clone()).collect().await;
            let parts: Vec<AssistantPart> = events
                .iter()
                .filter_map(
                    |event| if let Ok(ModelEvent::Part(part)) = event { Some(part.clone()) } else { None },
                )
                .collect();
            log.push_str(&told(&events));
            let results: Vec<ToolResult> = parts
                .iter()
                .filter_map(|part| if let AssistantPart::Call(call) = part { Some(call) } else { None })
                .map(|call| {
                    let reads = call.name == "Read" && call.arguments.contains("notes.txt");
                    let text = if reads {
                        "     1\tShopping: milk, eggs.\n     2\tThe code word is heron-42."
                    } else {
                        "nothing"
                    };
                    ToolResult {
                        call_id: call.id.clone(),
                        name: call.name.clone(),
                        content: vec![Block::text(text)],
                        is_error: false,
                    }
                })
                .collect();
            request.messages.push(Message::Assistant { parts });
            if results.is_empty() {
                break;
            }
            request.messages.push(Message::ToolResults { results });
        }
        let good = log.contains("starts: Read") && log.contains("text: The code word is heron-42");
        right += usize::from(good);
        println!("{wording}: {good}\n{log}\n");
    }
    assert!(right >= 4, "{right} of 5");
}
