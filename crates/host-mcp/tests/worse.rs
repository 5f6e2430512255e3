//! More of what themes T2, T4 and T5 hold: other bytes, other deaths, other schemas.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read what servers wrote")]

mod support;

use host_mcp::McpServerConfig;
use host_surface::How;
use serde_json::json;
use std::time::{Duration, Instant};
use support::*;

// T2-01, MCP-7: bytes that are no text, answers to nobody, batches of nothing, everything twice.
#[tokio::test]
async fn no_junk_on_stdout_ends_a_session() {
    let pool = pool(vec![hostile("a", &["junk"])]);
    let surface = surface(&pool).await;
    for round in 0..3 {
        let settled = call(&surface, "mcp__a__echo", json!({"round": round})).await;
        assert_eq!((settled.how, settled.text()), (How::Done, format!("{{\"round\": {round}}}")));
    }
    let status = &pool.status()[0];
    assert!(status.noise > 20 && status.starts == 1 && status.failures == 0, "{status:?}");
    pool.shutdown().await;
}

// T2-05, MCP-7: whatever way a server goes, the open call ends soon and says so, and the next one works.
#[tokio::test]
async fn every_death_ends_the_open_call_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    for way in ["mute", "quit", "half", "orphan"] {
        let timeout = Duration::from_secs(600);
        let config = McpServerConfig { timeout, ..hostile("a", &["ends", note.to_str().unwrap()]) };
        let pool = pool(vec![config]);
        let surface = surface(&pool).await;
        let begun = Instant::now();
        let settled = call(&surface, &format!("mcp__a__{way}"), json!({})).await;
        let took = begun.elapsed();
        assert_eq!(
            (settled.how, settled.code.as_str()),
            (How::Unknown, "mcp_connection_lost"),
            "{way}: {}",
            settled.text()
        );
        assert!(took < Duration::from_secs(4), "{way}: {took:?}");
        let again = call(&surface, "mcp__a__ping", json!({})).await;
        assert_eq!(again.text(), "pong", "{way}");
        pool.shutdown().await;
    }
    // What a server left behind when it was killed may hold its pipes; it is not ours to wait for.
    let pid: u32 = std::fs::read_to_string(&note).unwrap().parse().unwrap();
    if is_alive(pid) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

// T4-01, T4-03, T4-05, MCP-9, MCP-10: schemas that go in circles, deep, wide or far, and names of every sort.
#[tokio::test]
async fn odd_schemas_are_bounded_and_hide_nobody() {
    let pool = pool(vec![hostile("a", &["schemas"])]);
    let begun = Instant::now();
    let surface = surface(&pool).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let names = names(&surface);
    for name in ["ping", "loop", "deep", "slow_pattern", "wide", "yes", "new_line"] {
        assert!(names.contains(&format!("mcp__a__{name}")), "{name}: {names:?}");
    }
    let nested = call(&surface, "mcp__a__loop", json!({"next": {"next": {"next": 7}}})).await;
    assert_eq!(
        nested.code.as_str(),
        "invalid_arguments",
        "a circle is checked all the way: {}",
        nested.text()
    );
    assert_eq!(call(&surface, "mcp__a__yes", json!({"n": 0})).await.code.as_str(), "invalid_arguments");
    // A pattern that takes for ever by backtracking takes no time here.
    let begun = Instant::now();
    let settled = call(&surface, "mcp__a__slow_pattern", json!({"w": "a".repeat(60) + "!"})).await;
    assert_eq!(settled.code.as_str(), "invalid_arguments");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // What points to another machine is never fetched: it is left out by name, or the call is refused.
    for name in ["far", "dangling"] {
        let local = format!("mcp__a__{name}");
        match withheld(&surface, &local) {
            Some((by, why)) => assert!(by == "source" && !why.is_empty(), "{why}"),
            None => assert!(call(&surface, &local, json!({"x": 1})).await.is_error(), "{name}"),
        }
    }
    let status = &pool.status()[0];
    assert_eq!(status.advertised, status.offered + status.left_out.len());
    pool.shutdown().await;
}
