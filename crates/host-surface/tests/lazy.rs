//! Too many tools of servers are found, not listed (GWY-2).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use host_policy::{ApprovalRules, KnownNames, PolicyInput, ToolPolicy, create_tool_policy};
use host_ports::BoxFuture;
use host_surface::{
    Admitted, AnyTool, CallRequest, How, InputSchema, Offer, SHOWN_TOOLS_MAX, Surface, TOOL_SEARCH,
    ToolError, ToolInfo, ToolOutput,
};
use host_testkit::{TestSurface, facts};
use host_vocab::{Effect, ServerName, ToolName};
use serde_json::{Value, json};
use std::sync::Arc;

struct Remote(ToolInfo);

impl AnyTool for Remote {
    fn info(&self) -> &ToolInfo {
        &self.0
    }

    fn call(&self, _call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::text("ran")) })
    }
}

fn remote(name: &str, about: &str, argument: &str) -> Offer {
    let mut properties = serde_json::Map::new();
    properties.insert(argument.to_owned(), json!({"type": "string"}));
    Offer::Ready(Arc::new(Remote(ToolInfo {
        name: ToolName::parse(format!("mcp__big__{name}")).unwrap(),
        description: about.to_owned(),
        schema: InputSchema::new(json!({"type": "object", "properties": properties})),
        effects: vec![Effect::Foreign],
        server: Some(ServerName::parse("big").unwrap()),
        listed: false,
        no_deadline: false,
    })))
}

fn many(count: usize) -> Vec<Offer> {
    let mut offers: Vec<Offer> =
        (0..count - 3).map(|i| remote(&format!("filler_{i:04}"), "Does nothing of note.", "x")).collect();
    offers.push(remote("createIssue", "Opens a ticket in the tracker.", "title"));
    offers.push(remote("list_issues", "All tickets of a project.", "project"));
    offers.push(remote("weather", "The forecast of a place.", "city"));
    offers
}

async fn sealed(count: usize, policy: ToolPolicy) -> Surface {
    TestSurface::seal(many(count), policy, ApprovalRules::default()).await.surface
}

fn shown(surface: &Surface) -> Vec<String> {
    surface.specs().iter().map(|spec| spec.name.clone()).collect()
}

async fn search(surface: &Surface, query: &str) -> Vec<String> {
    let settled = surface.call(CallRequest::new(TOOL_SEARCH, json!({"query": query, "limit": 2}))).await;
    assert_eq!(settled.how, How::Done, "{}", settled.text());
    let rows: Vec<Value> = serde_json::from_str(&settled.text()).unwrap_or_default();
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn up_to_the_bound_everything_is_listed() {
    let surface = sealed(SHOWN_TOOLS_MAX, ToolPolicy::allow_all()).await;
    assert_eq!(shown(&surface).len(), SHOWN_TOOLS_MAX);
    assert!(surface.grown_specs().is_none() && surface.info(TOOL_SEARCH).is_none());
}

#[tokio::test]
async fn over_it_tools_are_found_by_name_description_and_argument() {
    let surface = sealed(SHOWN_TOOLS_MAX + 1, ToolPolicy::allow_all()).await;
    assert_eq!(shown(&surface), [TOOL_SEARCH]);
    assert_eq!(search(&surface, "create an issue").await, ["mcp__big__createIssue", "mcp__big__list_issues"]);
    assert_eq!(search(&surface, "ticket of a project").await[0], "mcp__big__list_issues");
    assert_eq!(search(&surface, "city").await, ["mcp__big__weather"]);
    assert_eq!(search(&surface, "mcp__big__filler_0007").await, ["mcp__big__filler_0007"]);
    assert_eq!(search(&surface, "zzz").await, Vec::<String>::new());
    // Ours first, then what was found, in the order of finding.
    assert_eq!(
        shown(&surface),
        [
            TOOL_SEARCH,
            "mcp__big__createIssue",
            "mcp__big__list_issues",
            "mcp__big__weather",
            "mcp__big__filler_0007"
        ]
    );
}

#[tokio::test]
async fn what_is_not_shown_can_be_called_and_is_shown_then() {
    let surface = sealed(500, ToolPolicy::allow_all()).await;
    let settled = surface.call(CallRequest::new("mcp__big__weather", json!({"city": "Oslo"}))).await;
    assert_eq!(settled.text(), "ran");
    assert_eq!(shown(&surface), [TOOL_SEARCH, "mcp__big__weather"]);
    let settled = surface.call(CallRequest::new("mcp__big__weather", json!({"city": 7}))).await;
    assert_eq!(settled.code.as_str(), "invalid_arguments");
}

// POL-7, POL-15: what a policy takes away is not found, and a child searches its own tools alone.
#[tokio::test]
async fn a_search_finds_nothing_that_is_withheld() {
    let known = KnownNames { servers: vec![ServerName::parse("big").unwrap()], ..KnownNames::default() };
    let denied =
        PolicyInput { disallowed: vec!["mcp__big__weather".into()], known, ..PolicyInput::default() };
    let policy = create_tool_policy(denied).unwrap();
    let surface = sealed(500, policy.clone()).await;
    assert_eq!(search(&surface, "forecast of a city").await, Vec::<String>::new());
    let parent = sealed(500, ToolPolicy::allow_all()).await;
    assert_eq!(search(&parent, "city").await, ["mcp__big__weather"]);
    let child = parent.inherit(facts(), &policy, &[]);
    assert_eq!(search(&child, "city").await, Vec::<String>::new());
    assert_eq!(shown(&child), [TOOL_SEARCH]);
}
