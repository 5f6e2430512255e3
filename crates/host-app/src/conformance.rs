//! The client that the public MCP conformance suite tests: our own pool, seal and gate against one address.

use host_mcp::{
    Consent, EraChoice, McpPool, McpServerConfig, MemoryVault, OAuthIdentity, OAuthPorts, PoolOptions,
    Refresh,
};
use host_net::{NetHttp, NetSettings};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::ask::NobodyToAsk;
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest};
use host_ports::http::{Http as _, HttpRequest, Redirects};
use host_ports::kept::KeepNothing;
use host_ports::spawn::{Spawn, SpawnError, SpawnSpec, Spawned};
use host_surface::{CallRequest, GatePorts, How, RunFacts, Surface, seal};
use host_turn::{Channel, Trigger};
use host_vocab::{ConversationId, RunId, ServerName};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The address of the client's metadata document, as the suite knows it.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// The name under which the suite's server is attached.
const SERVER: &str = "suite";

/// Attaches the server at an address, calls its tools through a sealed surface, and gives a line for each
/// call. `context` is the suite's own list of calls (`{"toolCalls": [{"name", "arguments"}]}`); without one,
/// every tool is called once with arguments that its schema accepts. `revision` is what the suite asks to be
/// spoken: the eras have different handshakes, and the suite wants no probing.
///
/// # Errors
/// Why the server could not be attached; a call that fails is a line, since scenarios let calls fail.
pub async fn conformance_client(
    address: &str,
    revision: &str,
    context: &Value,
) -> Result<Vec<String>, String> {
    let url = Url::parse(address).map_err(|error| format!("{address} is no address: {error}"))?;
    let name = ServerName::parse(SERVER).map_err(|error| error.to_string())?;
    let era = match revision {
        "" => EraChoice::Auto,
        modern if modern >= "2026-07-28" => EraChoice::Modern,
        _ => EraChoice::Legacy,
    };
    let timeout = Duration::from_secs(20);
    let config = McpServerConfig { timeout, era, ..McpServerConfig::http(name, url) };
    let options = PoolOptions {
        oauth: Some(logins(context)),
        elicit: Some(Arc::new(AgreesToDefaults)),
        roots: vec![PathBuf::from("/")],
        refresh: Refresh::Blocking,
        ..PoolOptions::default()
    };
    let http = Arc::new(NetHttp::new(NetSettings::default()));
    let pool = McpPool::new(vec![config], Arc::new(StartsNothing), http, options);
    pool.discover().await;
    let lines = calls(&pool, context).await;
    let error = pool.status().into_iter().find_map(|status| status.error);
    pool.shutdown().await;
    match (lines, error) {
        (Ok(lines), Some(error)) if lines.is_empty() => Err(error),
        (lines, _) => lines,
    }
}

/// The login of the suite's person: our own OAuth, kept in memory, with what the scenario says of the client.
fn logins(context: &Value) -> OAuthPorts {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    OAuthPorts {
        vault: Arc::new(MemoryVault::default()),
        http: Arc::new(|_| Arc::new(NetHttp::new(NetSettings::default())) as _),
        identity: OAuthIdentity {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            metadata_url: Some(METADATA.to_owned()),
            scopes: Vec::new(),
        },
        consent: Some(Arc::new(Browser)),
    }
}

/// A browser whose person says yes: it opens the address and gives the one that it is sent back to.
struct Browser;

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let mut request = HttpRequest::new(http::Method::GET, address.clone());
            request.redirects = Redirects::Return;
            request.head_timeout = Duration::from_secs(15);
            let http = NetHttp::new(NetSettings::default());
            let answer = http.send(request).await.map_err(|error| error.to_string())?;
            let back = answer.headers.get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            let back = back.and_then(|it| address.join(it).ok());
            back.map(String::from).ok_or_else(|| format!("{} sends nobody back", answer.status))
        })
    }
}

async fn calls(pool: &McpPool, context: &Value) -> Result<Vec<String>, String> {
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(NobodyToAsk),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(60),
    };
    let facts = RunFacts {
        run: RunId::fresh(),
        conversation: ConversationId::parse("conformance:suite").map_err(|error| error.to_string())?,
        channel: Channel::new("conformance"),
        trigger: Trigger::Interactive,
        isolated: true,
    };
    let rules = Arc::new(ApprovalRules::default());
    let surface = seal(&pool.sources(), &ToolPolicy::allow_all(), rules, facts, ports)
        .await
        .map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (tool, arguments) in wanted(&surface, context) {
        let settled = surface.call(CallRequest::new(&tool, arguments)).await;
        let how = if settled.how == How::Done { "done" } else { "failed" };
        lines.push(format!("{tool}: {how}: {}", host_vocab::text::one_line(&settled.text(), 200)));
    }
    Ok(lines)
}

/// What is called: the suite's list, else every tool once.
fn wanted(surface: &Surface, context: &Value) -> Vec<(String, Value)> {
    let listed = context.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
    let listed: Vec<(String, Value)> = listed
        .filter_map(|call| {
            let name = call.get("name")?.as_str()?;
            Some((format!("mcp__{SERVER}__{name}"), present(call.get("arguments"))))
        })
        .collect();
    if !listed.is_empty() {
        return listed;
    }
    surface
        .names()
        .filter_map(|name| {
            let schema = surface.info(name.as_str())?.schema.value();
            Some((name.to_string(), sample(schema, 0)))
        })
        .collect()
}

/// Arguments without those that are null: the gate holds them to the tool's schema, in which an absent value
/// is absent.
fn present(arguments: Option<&Value>) -> Value {
    let given = arguments.and_then(Value::as_object).into_iter().flatten();
    let kept = given.filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// A value that a simple schema accepts.
fn sample(schema: &Value, depth: usize) -> Value {
    if let Some(first) = schema.get("enum").and_then(|it| it.get(0)).or_else(|| schema.get("default")) {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => json!("sample"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        _ if depth > 8 => json!({}),
        _ => {
            let empty = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let required = required.filter_map(Value::as_str);
            let all =
                required.filter_map(|name| Some((name.to_owned(), sample(properties.get(name)?, depth + 1))));
            Value::Object(all.collect())
        }
    }
}

/// A person who says yes to everything and fills nothing in: the defaults are to be ours.
struct AgreesToDefaults;

impl Elicit for AgreesToDefaults {
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer> {
        let content = match request.wanted.for_renderer() {
            host_ports::elicit::Wanted::Form(schema) => sample(schema, 0),
            host_ports::elicit::Wanted::Visit(_) => Value::Null,
        };
        Box::pin(async move { ElicitAnswer::Accepted(content) })
    }
}

/// The suite has no stdio servers.
struct StartsNothing;

impl Spawn for StartsNothing {
    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Spawned, SpawnError>> {
        Box::pin(async move { Err(SpawnError::NotFound(spec.program)) })
    }
}
