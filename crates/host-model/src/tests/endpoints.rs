//! Settings, discovery, and tools that a provider can't be told of.

use super::*;
use crate::{LocalCandidate, Manual, ProviderError, ToolCalling, discover_local};
use host_ports::operator::{OperatorDesk, OperatorMove};

fn fault(settings: ProviderSettings) -> ProviderError {
    build(settings, ports()).err().unwrap()
}

// ENG-2
#[test]
fn settings_that_lack_something_say_what() {
    let said = |settings| fault(settings).to_string();
    assert!(
        said(ProviderSettings::new("nobody", "m"))
            .starts_with("`nobody` is no known provider: give it a type and a baseUrl")
    );
    assert_eq!(
        said(ProviderSettings::new("anthropic", "claude")),
        "`anthropic` needs a key: set ANTHROPIC_API_KEY"
    );
    assert_eq!(
        said(ProviderSettings::new("gemini", "m")),
        "`gemini` needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY"
    );
    assert!(said(ProviderSettings::new("bedrock", "m")).contains("AWS_ACCESS_KEY_ID"));
    let own = |url: &str| ProviderSettings {
        kind: Some(ProviderKind::OpenaiCompatible),
        base_url: (!url.is_empty()).then(|| url.to_owned()),
        ..ProviderSettings::new("own", "m")
    };
    assert_eq!(said(own("")), "the provider `own` needs a baseUrl");
    assert!(said(own("ftp://x")).contains("http:// or https://"));
    assert!(said(own("http://u:p@x")).contains("use a key variable"));
    assert!(!said(own("http://u:p@x")).contains("u:p"));
    assert!(build(own("http://localhost:8080"), ports()).is_ok());
    assert!(build(ProviderSettings::new("ollama", "qwen3"), ports()).is_ok());
    let schema = ProviderSettings {
        api_key: Some(Secret::new("k")),
        tool_calling: ToolCalling::Schema,
        ..ProviderSettings::new("anthropic", "claude")
    };
    assert!(said(schema).contains("toolCalling: schema works with OpenAI-compatible endpoints"));
    let header = ProviderSettings {
        headers: vec![("bad name".to_owned(), Secret::new("x"))],
        ..own("http://localhost")
    };
    assert_eq!(said(header), "the header `bad name` has a name or a value that can't be sent");
    assert!(said(ProviderSettings::new("ollama", " ")).contains("model's name"));
}

// ENG-2
#[test]
fn what_is_known_of_a_model() {
    let info = |settings| build(settings, ports()).unwrap().info();
    let cloud = info(ProviderSettings {
        api_key: Some(Secret::new("k")),
        ..ProviderSettings::new("openai", "gpt-4o")
    });
    assert_eq!(
        (cloud.reference.as_str(), cloud.context_window, cloud.images, cloud.tool_calling),
        ("openai:gpt-4o", 128_000, true, "native")
    );
    let local = info(ProviderSettings {
        tool_calling: ToolCalling::None,
        ..ProviderSettings::new("ollama", "qwen3:4b")
    });
    assert_eq!(
        (local.reference.as_str(), local.context_window, local.images, local.tool_calling),
        ("ollama:qwen3:4b", 8_192, false, "none")
    );
}

// T4-03 MCP-10
#[tokio::test]
async fn an_odd_tool_is_said_once_and_the_others_are_sent() {
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let fake = Fake::start([Play::sse(done), Play::sse(done)]).await;
    let model = model(settings(ProviderKind::OpenaiCompatible, "p", "m", &fake.url));
    let union = json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"b": {"type": "string"}}}]});
    let tools: Arc<[ToolSpec]> = Arc::new([
        tool("one", "", json!({"type": "object"})),
        tool("two", "", union),
        tool("three", "", json!({"type": "string"})),
        tool("four", "", json!({})),
    ]);
    let first = told(&play(&model, ModelRequest { tools: tools.clone(), ..ask("hi") }).await);
    assert!(
        first.contains(
            "notice: 1 of 4 tools can't be offered to this model: three (its schema describes no object"
        ),
        "{first}"
    );
    let second = told(&play(&model, ModelRequest { tools, ..ask("hi") }).await);
    assert!(!second.contains("notice:"), "{second}");
    for (_, body) in fake.requests() {
        let names: Vec<&str> = body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["one", "two", "four"]);
        // T4-01
        for tool in body["tools"].as_array().unwrap() {
            assert!(tool["function"]["parameters"]["properties"].is_object());
        }
    }
}

// ENG-5
#[tokio::test]
async fn the_first_local_server_with_a_model_is_found() {
    let none = Fake::start([Play::json(200, &json!({"data": []}))]).await;
    let list =
        json!({"data": [{"id": "nomic-embed-text"}, {"id": "tiny", "meta": {"n_ctx": 4096}}, {"id": "big"}]});
    let some = Fake::start([Play::json(200, &list)]).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let candidates = [
        LocalCandidate::new("silent", silent),
        LocalCandidate::new("bad", "not an address"),
        LocalCandidate::new("none", &none.url),
        LocalCandidate::new("llamacpp", &some.url),
    ];
    let start = Instant::now();
    let http = NetHttp::new(NetSettings::default());
    let found = discover_local(&http, &candidates).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(
        (found.provider.as_str(), found.model.as_str(), found.context_window),
        ("llamacpp", "tiny", Some(4096))
    );
    assert_eq!(found.models, ["tiny", "big"]);
    assert_eq!(some.requests()[0].0, "GET /v1/models");
    assert!(
        build(
            ProviderSettings {
                kind: Some(ProviderKind::OpenaiCompatible),
                base_url: Some(found.base_url),
                ..ProviderSettings::new("llamacpp", found.model)
            },
            ports()
        )
        .is_ok()
    );
    assert!(discover_local(&http, &candidates[..2]).await.is_none());
}

struct Desk;

impl OperatorDesk for Desk {
    fn next_move(&self, request: &ModelRequest) -> BoxFuture<'_, OperatorMove> {
        let calls = request.messages.len() == 1;
        Box::pin(async move {
            if !calls {
                return OperatorMove::Say("Hello".to_owned());
            }
            let call = ToolCall {
                id: String::new(),
                name: "Read".to_owned(),
                arguments: "{}".to_owned(),
                raw: None,
            };
            OperatorMove::Call(vec![call.clone(), call])
        })
    }
}

// ENG-5
#[tokio::test]
async fn a_person_plays_the_model() {
    let model: Arc<dyn Model> = Arc::new(Manual::new(Arc::new(Desk)));
    assert!(model.info().operator && model.info().reference == "manual:operator");
    let events = play(&model, ask("hi")).await;
    let ids: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::Part(AssistantPart::Call(call))) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && !ids[0].is_empty());
    let mut more = ask("hi");
    more.messages.push(Message::User { content: vec![] });
    assert!(told(&play(&model, more).await).starts_with("text: Hello"));
}

// A key that was never sent is not the key to check.
#[tokio::test]
async fn a_refusal_without_a_key_says_so() {
    let refusal = || Play::json(401, &json!({"error": {"message": "Unauthorized"}}));
    let fake = Fake::start([refusal(), refusal()]).await;
    let keyed = settings(ProviderKind::OpenaiCompatible, "own", "m", &fake.url);
    let bare = ProviderSettings { api_key: None, ..keyed.clone() };
    for (settings, hint) in [(keyed, "check the key"), (bare, "no key was sent")] {
        let events = play(&model(settings), ask("hi")).await;
        let error = events.iter().find_map(|it| it.as_ref().err()).unwrap();
        assert!(error.message.contains(hint), "{}", error.message);
    }
}
