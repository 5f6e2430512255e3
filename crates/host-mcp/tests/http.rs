//! HTTP servers that misbehave, through a sealed surface and real sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use host_mcp::{HttpKind, McpServerConfig, McpTransport, ServerState};
use host_ports::CancellationToken;
use host_surface::{CallRequest, How};
use http::{HeaderName, HeaderValue};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::fake::Fake;
use support::*;

fn server(fake: &Fake) -> McpServerConfig {
    let mut config = McpServerConfig::http(server_name("r"), fake.url());
    config.timeout = Duration::from_secs(10);
    config
}

fn with_header(mut config: McpServerConfig, name: &'static str, value: &'static str) -> McpServerConfig {
    let McpTransport::Http(http) = &mut config.transport else { panic!() };
    let mut value = HeaderValue::from_static(value);
    value.set_sensitive(true);
    http.headers.insert(HeaderName::from_static(name), value);
    config
}

async fn works(mode: &str, argument: &str) -> Arc<Fake> {
    let fake = Fake::start(mode, argument).await;
    let pool = pool(vec![server(&fake)]);
    let surface = surface(&pool).await;
    let settled = call(&surface, "mcp__r__ping", json!({})).await;
    assert_eq!(settled.how, How::Done, "{mode} {argument}: {} {:?}", settled.text(), pool.status());
    pool.shutdown().await;
    fake
}

// T1-05, MCP-3
#[tokio::test]
async fn a_plain_url_is_streamable_http() {
    let fake = works("plain", "").await;
    assert_eq!(
        fake.methods()[..4],
        ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    );
}

// T3-05
#[tokio::test]
async fn any_answer_to_a_notification_will_do() {
    for argument in ["200", "204", "202-text", "200-null", "200-html", "200-sse"] {
        works("plain", argument).await;
    }
}

// T3-07
#[tokio::test]
async fn keep_alive_frames_are_ignored() {
    works("keep-alive", "").await;
}

#[tokio::test]
async fn odd_bodies_and_probes_are_taken() {
    for mode in ["sse-as-json", "json-as-text", "batch", "odd-id", "crash-on-probe", "bad-request-on-probe"] {
        works(mode, "").await;
    }
    let begun = Instant::now();
    works("silent-probe", "").await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

// T3-01, MCP-3
#[tokio::test]
async fn a_forgotten_session_is_made_anew_once() {
    for mode in ["forgets", "forgets-400"] {
        let fake = Fake::start(mode, "").await;
        let pool = pool(vec![server(&fake)]);
        let surface = surface(&pool).await;
        assert_eq!(call(&surface, "mcp__r__ping", json!({})).await.text(), "pong 1", "{mode}");
        let settled = call(&surface, "mcp__r__ping", json!({})).await;
        assert_eq!((settled.how, settled.text().as_str()), (How::Done, "pong 3"), "{mode}: one retry");
        assert_eq!(fake.count("initialize"), 2, "{mode}");
        let seen = fake.seen.lock().unwrap().clone();
        let second = seen.iter().filter(|it| it.body["method"] == "initialize").nth(1).unwrap();
        assert!(!second.headers.contains_key("mcp-session-id"), "{mode}");
        pool.shutdown().await;
    }
}

// T3-01
#[tokio::test]
async fn a_server_that_always_says_404_ends_in_one_error() {
    let fake = Fake::start("always-404", "").await;
    let pool = pool(vec![server(&fake)]);
    let surface = surface(&pool).await;
    let settled = call(&surface, "mcp__r__ping", json!({})).await;
    assert_eq!(
        (settled.how, settled.code.as_str()),
        (How::Failed, "mcp_server_unavailable"),
        "{}",
        settled.text()
    );
    assert!(settled.text().contains("session"), "{}", settled.text());
    assert_eq!(fake.count("tools/call"), 2, "the call and one retry");
    pool.shutdown().await;
}

// T3-03
#[tokio::test]
async fn credentials_do_not_follow_a_redirect() {
    let target = Fake::start("plain", "").await;
    let fake = Fake::start("redirect", target.url().as_str()).await;
    let config = with_header(server(&fake), "authorization", "Bearer SECRET-A");
    let pool = pool(vec![with_header(config, "x-api-key", "SECRET-B")]);
    let surface = surface(&pool).await;
    let (_, why) = withheld(&surface, "mcp__r__*").unwrap();
    let origin = target.url().origin().ascii_serialization();
    assert!(why.contains(&origin) && !why.contains("SECRET"), "{why}");
    assert!(target.seen.lock().unwrap().is_empty());
    let status = serde_json::to_string(&pool.status()).unwrap();
    assert!(!status.contains("SECRET"));
    pool.shutdown().await;
}

#[tokio::test]
async fn a_redirect_on_the_same_origin_is_followed() {
    let fake = works("redirect", "/elsewhere").await;
    assert!(
        fake.seen
            .lock()
            .unwrap()
            .iter()
            .any(|it| it.path == "/elsewhere" && it.body["method"] == "tools/call")
    );
}

// MCP-5
#[tokio::test]
async fn headers_go_out_as_they_stand() {
    let fake = Fake::start("plain", "").await;
    let pool = pool(vec![with_header(server(&fake), "x-static", "Bearer ${T_TOKEN}")]);
    let _ = surface(&pool).await;
    let seen = fake.seen.lock().unwrap().clone();
    assert!(seen.iter().all(|it| it.headers["x-static"] == "Bearer ${T_TOKEN}"));
    pool.shutdown().await;
}

// T3-09, MCP-12
#[tokio::test]
async fn a_stream_without_an_answer_is_an_unknown_outcome_at_once() {
    for mode in ["no-answer", "reset", "resume-never"] {
        let fake = Fake::start(mode, "").await;
        let pool = pool(vec![server(&fake)]);
        let surface = surface(&pool).await;
        let begun = Instant::now();
        let settled = call(&surface, "mcp__r__ping", json!({})).await;
        assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_connection_lost"), "{mode}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{mode}: {:?}", begun.elapsed());
        assert_eq!(fake.count("tools/call"), 1, "{mode}: never sent again");
        let resumed =
            fake.seen.lock().unwrap().iter().filter(|it| it.headers.contains_key("last-event-id")).count();
        assert_eq!(resumed > 0, mode == "resume-never", "{mode}");
        assert!(resumed <= 5, "{mode}: {resumed}");
        if mode != "resume-never" {
            assert_eq!(call(&surface, "mcp__r__ping", json!({})).await.how, How::Done, "{mode}");
        }
        pool.shutdown().await;
    }
}

// T3-09, MCP-3
#[tokio::test]
async fn a_broken_stream_is_resumed_from_its_last_event() {
    let fake = works("resume", "").await;
    assert_eq!(fake.count("tools/call"), 1);
    let seen = fake.seen.lock().unwrap();
    assert!(seen.iter().any(|it| it.headers.get("last-event-id").is_some_and(|id| id == "e1")));
}

// MCP-11
#[tokio::test]
async fn an_answer_over_the_bound_is_said_and_costs_nothing_else() {
    for mode in ["huge", "huge-sse"] {
        let fake = Fake::start(mode, "").await;
        let pool = pool(vec![server(&fake)]);
        let surface = surface(&pool).await;
        let settled = call(&surface, "mcp__r__ping", json!({})).await;
        assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_result_too_large"), "{mode}");
        assert_eq!(call(&surface, "mcp__r__ping", json!({})).await.how, How::Done, "{mode}");
        pool.shutdown().await;
    }
}

// T3-11
#[tokio::test]
async fn a_refused_credential_is_said_and_not_hammered() {
    for (status, words) in [("401", "refused (HTTP 401)"), ("403", "lacks rights (HTTP 403)")] {
        let fake = Fake::start("unauthorized", status).await;
        let pool = pool(vec![with_header(server(&fake), "authorization", "Bearer SECRET")]);
        for _ in 0..3 {
            let (_, why) = withheld(&surface(&pool).await, "mcp__r__*").unwrap();
            assert!(why.contains(words) && !why.contains("SECRET"), "{why}");
        }
        let seen = fake.seen.lock().unwrap().clone();
        assert_eq!(seen.len(), 1, "one request alone: {seen:?}");
        assert!(seen.iter().all(|it| it.path == "/mcp"));
        let state = pool.status()[0].clone();
        assert_eq!(state.state, ServerState::Degraded);
        assert!(state.error.unwrap().contains(words));
        pool.shutdown().await;
    }
}

// MCP-3
#[tokio::test]
async fn http_sse_is_the_fallback_after_a_4xx() {
    let fake = works("sse", "").await;
    assert!(fake.seen.lock().unwrap().iter().any(|it| it.path == "/messages"));
    let picky = works("sse-json-errors", "").await;
    assert!(picky.seen.lock().unwrap().iter().any(|it| it.path == "/messages"));
    let mut config = server(&fake);
    let McpTransport::Http(http) = &mut config.transport else { panic!() };
    http.kind = HttpKind::Sse;
    let pool = pool(vec![config]);
    assert_eq!(call(&surface(&pool).await, "mcp__r__ping", json!({})).await.how, How::Done);
    assert_eq!(pool.status()[0].era, Some("legacy-sse"));
    pool.shutdown().await;
}

#[tokio::test]
async fn http_sse_never_posts_to_another_origin() {
    let target = Fake::start("plain", "").await;
    let fake = Fake::start("sse", target.url().as_str()).await;
    let pool = pool(vec![server(&fake)]);
    let (_, why) = withheld(&surface(&pool).await, "mcp__r__*").unwrap();
    assert!(why.contains(&target.url().origin().ascii_serialization()), "{why}");
    assert!(target.seen.lock().unwrap().is_empty());
    pool.shutdown().await;
}

// MCP-4
#[tokio::test]
async fn what_is_no_server_is_named_with_its_cause() {
    let fake = Fake::start("html", "").await;
    let mut nobody = McpServerConfig::http(server_name("nobody"), "http://127.0.0.1:9/mcp".parse().unwrap());
    nobody.timeout = Duration::from_secs(10);
    let pool = pool(vec![server(&fake), nobody]);
    let surface = surface(&pool).await;
    let (_, why) = withheld(&surface, "mcp__r__*").unwrap();
    assert!(why.contains("text/html") && why.contains("MCP"), "{why}");
    let (_, why) = withheld(&surface, "mcp__nobody__*").unwrap();
    assert!(why.contains("127.0.0.1:9"), "{why}");
    pool.shutdown().await;
}

#[tokio::test]
async fn a_status_tells_what_may_have_happened() {
    for (status, how) in
        [("400", How::Failed), ("429", How::Failed), ("500", How::Unknown), ("504", How::Unknown)]
    {
        let fake = Fake::start("status", status).await;
        let pool = pool(vec![server(&fake)]);
        let settled = call(&surface(&pool).await, "mcp__r__ping", json!({})).await;
        assert_eq!(settled.how, how, "{status}: {}", settled.text());
        assert!(settled.text().contains(status), "{}", settled.text());
        pool.shutdown().await;
    }
}

// MCP-3, MCP-12: the stateless revision, its headers, and a cancellation that closes the stream.
#[tokio::test]
async fn the_newest_revision_is_spoken() {
    let fake = Fake::start("modern", "").await;
    let pool = pool(vec![server(&fake)]);
    let surface = surface(&pool).await;
    assert_eq!(pool.status()[0].revision.as_deref(), Some("2026-07-28"));
    assert_eq!(call(&surface, "mcp__r__ping", json!({"region":"eu"})).await.how, How::Done);
    assert_eq!(fake.count("initialize"), 0);
    let seen = fake.seen.lock().unwrap().clone();
    let sent = seen.iter().find(|it| it.body["method"] == "tools/call").unwrap();
    assert_eq!(sent.headers["mcp-method"], "tools/call");
    assert_eq!(sent.headers["mcp-name"], "ping");
    assert_eq!(sent.headers["mcp-param-region"], "eu");
    assert_eq!(sent.headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(sent.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    let settled = call(&surface, "mcp__r__second", json!({})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "mcp_protocol_error"));
    assert!(settled.text().contains("-32602"));
    let cancel = CancellationToken::new();
    let mut request = CallRequest::new("mcp__r__slow", json!({}));
    request.cancel = cancel.clone();
    let soon = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    };
    let (settled, ()) = tokio::join!(surface.call(request), soon);
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "aborted"));
    assert_eq!(fake.count("notifications/cancelled"), 0, "closing the stream is the cancellation");
    assert_eq!(call(&surface, "mcp__r__ping", json!({})).await.how, How::Done);
    pool.shutdown().await;
}

// MCP-12
#[tokio::test]
async fn a_cancelled_call_over_http_is_told_to_an_older_server() {
    let fake = Fake::start("slow", "").await;
    let mut config = server(&fake);
    config.timeout = Duration::from_millis(700);
    let pool = pool(vec![config]);
    let surface = surface(&pool).await;
    let settled = call(&surface, "mcp__r__slow", json!({})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_timeout"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(fake.count("notifications/cancelled"), 1);
    assert_eq!(call(&surface, "mcp__r__ping", json!({})).await.how, How::Done);
    pool.shutdown().await;
}
