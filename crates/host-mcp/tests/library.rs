//! Resources and prompts of servers, as two tools of ours; the agent's model for servers (MCP-14).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use host_mcp::{McpPool, McpServerConfig, PoolOptions};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::kept::KeepNothing;
use host_ports::sample::{Sample, SampleParent, SampleRequest, Sampled};
use host_surface::{GatePorts, How, Surface, seal};
use host_testkit::{Answers, facts};
use host_vocab::Block;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

/// A surface with the library of a pool; servers whose name begins with `no` are not admitted.
async fn library(pool: &McpPool) -> Surface {
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(600),
    };
    let mut sources = pool.sources();
    sources.extend(pool.library(Arc::new(|server| !server.as_str().starts_with("no"))));
    seal(&sources, &ToolPolicy::allow_all(), Arc::new(ApprovalRules::default()), facts(), ports)
        .await
        .unwrap()
}

#[tokio::test]
async fn resources_are_listed_page_by_page_and_read_in_both_eras() {
    for mode in ["library", "modern-library"] {
        let pool = pool(vec![hostile("books", &[mode]), hostile("plain", &["plain"])]);
        let surface = library(&pool).await;
        let about = &surface.info("McpResources").unwrap().description;
        assert!(about.ends_with("Servers: books."), "{about}");
        let ask = async |arguments| call(&surface, "McpResources", arguments).await;
        let first = ask(json!({})).await;
        assert_eq!(first.how, How::Done, "{mode}: {}", first.text());
        insta::allow_duplicates! {
            insta::assert_snapshot!(first.text(), @r#"
            - "book://one" (One; text/plain; 4 bytes): The first book.
            - "book://odd name \"é\""
            (1 entries could not be read)
            There are more: ask again with cursor "{\"at\": 2, \"\\u00e9\": 1}"
            "#);
        }
        let second = ask(json!({"cursor": "{\"at\": 2, \"\\u00e9\": 1}"})).await;
        assert_eq!(second.text(), "- \"book://last\"", "{mode}");
        let templates = ask(json!({"server": "books", "templates": true})).await;
        assert!(templates.text().contains("\"book://{number}\" (any): Any book."), "{}", templates.text());
        let read = ask(json!({"uri": "book://one"})).await;
        assert!(read.text().contains("page one"), "{mode}: {}", read.text());
        let picture = ask(json!({"uri": "book://cover"})).await;
        assert!(
            matches!(&picture.content[0], Block::Image { media } if media.mime_type == "image/png"),
            "{picture:?}"
        );
        let gone = ask(json!({"uri": "book://gone"})).await;
        assert_eq!((gone.how, gone.code.as_str()), (How::Failed, "mcp_protocol_error"));
        assert!(gone.text().contains("no such book"), "{}", gone.text());
        for (wrong, code) in [
            (json!({"server": "plain"}), "unknown_server"),
            (json!({"server": "nobody"}), "unknown_server"),
            (json!({"uri": "book://one", "templates": true}), "invalid_input"),
            (json!({"uri": " "}), "invalid_input"),
            (json!({"url": "book://one"}), "invalid_arguments"),
        ] {
            assert_eq!(ask(wrong.clone()).await.code.as_str(), code, "{wrong}");
        }
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    for mode in ["library", "modern-library"] {
        let pool = pool(vec![hostile("books", &[mode])]);
        let surface = library(&pool).await;
        let ask = async |arguments| call(&surface, "McpPrompts", arguments).await;
        let list = ask(json!({})).await.text();
        assert_eq!(
            list, "- \"review\" (book *needed*: which one; tone): Writes a review.\n- \"bare\"",
            "{mode}"
        );
        let filled = ask(json!({"name": "review", "arguments": {"book": "one"}})).await;
        assert_eq!(filled.how, How::Done, "{}", filled.text());
        assert!(
            filled.text().contains("user: Review one.") && filled.text().contains("assistant: Gladly."),
            "{}",
            filled.text()
        );
        for (wrong, code) in [
            (json!({"arguments": {"book": "one"}}), "invalid_input"),
            (json!({"name": "review", "cursor": "x"}), "invalid_input"),
            (json!({"name": "review", "arguments": {"book": 1}}), "invalid_arguments"),
            (json!({"name": "nope"}), "mcp_protocol_error"),
        ] {
            assert_eq!(ask(wrong.clone()).await.code.as_str(), code, "{wrong}");
        }
        pool.shutdown().await;
    }
}

// MCP-14: a resource that the server only gives after a question is asked for in rounds, like a call.
#[tokio::test]
async fn a_resource_may_take_a_round() {
    let options = PoolOptions { roots: vec!["/srv/data".into()], ..options() };
    let pool = pool_with(vec![hostile("books", &["modern-library"])], options);
    let surface = library(&pool).await;
    let read = call(&surface, "McpResources", json!({"uri": "book://asks"})).await;
    assert!(read.how == How::Done && read.text().contains("file:///srv/data"), "{}", read.text());
    pool.shutdown().await;
}

// POL-7: a server that is denied as a whole shows nothing of itself here either; and where nobody has anything, the
// tools are withheld with the reason.
#[tokio::test]
async fn only_admitted_servers_that_have_something_are_shown() {
    let pool = pool(vec![hostile("nobooks", &["library"]), hostile("plain", &["plain"])]);
    let surface = library(&pool).await;
    for name in ["McpResources", "McpPrompts"] {
        let (by, why) = withheld(&surface, name).unwrap();
        assert!(by == "capability" && why.contains("no MCP server of this run has"), "{why}");
    }
    pool.shutdown().await;
    assert!(pool_with(Vec::new(), options()).library(Arc::new(|_| true)).is_none());
}

/// Writes what it was asked.
#[derive(Default)]
struct Writer(Mutex<Vec<String>>);

impl Sample for Writer {
    fn sample(&self, request: SampleRequest, parent: SampleParent) -> BoxFuture<'_, Result<Sampled, String>> {
        let words = host_vocab::blocks_text(&request.messages.for_renderer()[0].content);
        self.0.lock().unwrap().push(format!("{} {} {words}", parent.server, request.output_tokens_max));
        Box::pin(async move { Ok(Sampled { text: format!("re: {words}"), model: "m:1".into(), cut: false }) })
    }
}

fn with_model(mode: &str, sampling: bool) -> (McpPool, Arc<Writer>) {
    let writer = Arc::new(Writer::default());
    let options = PoolOptions { model: Some(Arc::clone(&writer) as _), ..options() };
    let config = McpServerConfig { sampling, ..hostile("a", &[mode]) };
    (pool_with(vec![config], options), writer)
}

// MCP-14: sampling is off unless the server is listed; listed, it is announced and works in both eras.
#[tokio::test]
async fn a_listed_server_may_use_the_model_and_no_other() {
    for mode in ["asks", "modern-asks"] {
        let (pool, writer) = with_model(mode, true);
        let surface = surface(&pool).await;
        let settled = call(&surface, "mcp__a__sample", json!({})).await;
        assert!(
            settled.how == How::Done && settled.text().contains("re: write"),
            "{mode}: {}",
            settled.text()
        );
        assert_eq!(*writer.0.lock().unwrap(), ["a 5 write"], "{mode}");
        let announced = call(&surface, "mcp__a__capabilities", json!({})).await.text();
        assert!(announced.contains("sampling"), "{mode}: {announced}");
        pool.shutdown().await;
        let (pool, writer) = with_model(mode, false);
        let surface = support::surface(&pool).await;
        let settled = call(&surface, "mcp__a__sample", json!({})).await;
        assert!(!settled.text().contains("re: write"), "{mode}: {}", settled.text());
        assert!(writer.0.lock().unwrap().is_empty());
        let announced = call(&surface, "mcp__a__capabilities", json!({})).await.text();
        assert!(!announced.contains("sampling"), "{mode}: {announced}");
        pool.shutdown().await;
    }
}
