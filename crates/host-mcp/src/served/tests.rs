use super::*;
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::kept::KeepNothing;
use host_surface::{
    Admitted, Belongs, Decl, GatePorts, Offer, Tool, ToolError, ToolOutput, ToolSource, seal,
};
use host_testkit::{Answers, OneSource, facts};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Word {
    /// What to say.
    word: String,
}

struct Say;

impl Tool for Say {
    const DECL: Decl = Decl {
        name: "RunHistory",
        about: "Says a word.",
        effects: &[Effect::ReadsHistory],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Word;
    async fn run(&self, call: Admitted<Word>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(call.input.word.clone()).with_structured(json!({"word": call.input.word})))
    }
}

struct Other;

impl Tool for Other {
    const DECL: Decl = Decl {
        name: "Bash",
        about: "Is not served.",
        effects: &[Effect::Foreign],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Word;
    async fn run(&self, _call: Admitted<Word>) -> Result<ToolOutput, ToolError> {
        panic!("it must not run")
    }
}

async fn surface() -> Arc<Surface> {
    let offers = vec![Offer::ready(Say), Offer::ready(Other)];
    let sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(OneSource::new("app", offers))];
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(9),
    };
    let rules = Arc::new(ApprovalRules::default());
    Arc::new(seal(&sources, &ToolPolicy::allow_all(), rules, facts(), ports).await.unwrap())
}

fn served(surface: &Arc<Surface>) -> ServedTools {
    ServedTools::new(Arc::downgrade(surface), ["RunHistory".to_owned(), "SessionHistory".to_owned()])
}

async fn ask(tools: &ServedTools, message: Value) -> Value {
    match tools.answer(message.to_string().into_bytes()).await {
        EndpointAnswer::Json(json) | EndpointAnswer::Bad(json) => serde_json::from_slice(&json).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

// HIS-1: each message stands alone; the two tools and nothing else; through the gate.
#[tokio::test]
async fn the_named_tools_are_served_and_no_other() {
    let surface = surface().await;
    let tools = served(&surface);
    let list = ask(&tools, request("tools/list", json!({}))).await;
    let names: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["RunHistory"]);
    let said =
        ask(&tools, request("tools/call", json!({"name": "RunHistory", "arguments": {"word": "hi"}}))).await;
    assert_eq!(
        said["result"],
        json!({"content": [{"type": "text", "text": "hi"}], "isError": false, "structuredContent": {"word": "hi"}})
    );
    // The gate checks arguments here as everywhere.
    let wrong =
        ask(&tools, request("tools/call", json!({"name": "RunHistory", "arguments": {"x": 1}}))).await;
    assert_eq!(wrong["result"]["isError"], true);
    for name in ["Bash", "SessionHistory", "Nope", ""] {
        let none =
            ask(&tools, request("tools/call", json!({"name": name, "arguments": {"word": "x"}}))).await;
        assert_eq!(
            none["error"],
            json!({"code": -32602, "message": "no tool of that name is here"}),
            "{name}"
        );
    }
}

#[tokio::test]
async fn both_eras_are_spoken_without_a_state() {
    let surface = surface().await;
    let tools = served(&surface);
    let begun = ask(&tools, request("initialize", json!({"protocolVersion": "2025-06-18"}))).await;
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    let newer = ask(&tools, request("initialize", json!({"protocolVersion": "2999-01-01"}))).await;
    assert_eq!(newer["result"]["protocolVersion"], "2025-11-25");
    let meta = |version: &str| json!({"_meta": {VERSION_KEY: version}});
    let found = ask(&tools, request("server/discover", meta(MODERN))).await;
    assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
    let list = ask(&tools, request("tools/list", meta(MODERN))).await;
    assert_eq!(
        (&list["result"]["resultType"], &list["result"]["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    assert_eq!(ask(&tools, request("tools/list", meta("2999-01-01"))).await["error"]["code"], -32022);
    assert_eq!(ask(&tools, request("resources/list", json!({}))).await["error"]["code"], -32601);
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(tools.answer(note.to_string().into_bytes()).await, EndpointAnswer::Accepted);
    for bad in [
        "",
        "[]",
        "{",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"id\":1,\"method\":\"ping\"}",
        "[{}]",
    ] {
        assert!(matches!(tools.answer(bad.as_bytes().to_vec()).await, EndpointAnswer::Bad(_)), "{bad}");
    }
}

// HIS-1: gone at cleanup.
#[tokio::test]
async fn nothing_is_there_behind_the_run() {
    let surface = surface().await;
    let tools = served(&surface);
    drop(surface);
    let list = request("tools/list", json!({})).to_string().into_bytes();
    assert_eq!(tools.answer(list).await, EndpointAnswer::Gone);
}
