//! Published servers, attached as they are (installed by `scripts/test-servers.sh`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "the tests start servers and lay out files for them")]

mod support;

use host_mcp::{McpPool, McpServerConfig, MemoryCache, Refresh, ServerState};
use host_surface::How;
use host_vocab::Block;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::published::{installed, npm, pypi};
use support::*;

// MCP-1, MCP-3
#[tokio::test]
async fn five_published_servers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("note.txt"), "FILE-MARK").unwrap();
    let git = |args: &[&str]| {
        let status =
            Command::new("git").args(args).current_dir(&root).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
    };
    git(&["init", "-q"]);
    let mut memory = npm("memory", "mcp-server-memory", &[]);
    let store = root.join("memory.json");
    stdio_of(&mut memory).env.insert("MEMORY_FILE_PATH".into(), store.to_str().unwrap().into());
    let pool = pool(vec![
        npm("everything", "mcp-server-everything", &[]),
        npm("files", "mcp-server-filesystem", &[root.to_str().unwrap()]),
        memory,
        pypi("time", "mcp-server-time", &[]),
        pypi("git", "mcp-server-git", &["--repository", root.to_str().unwrap()]),
    ]);
    let surface = surface(&pool).await;
    for status in pool.status() {
        assert_eq!(status.state, ServerState::Connected, "{status:?}");
        assert_eq!(status.offered, status.advertised, "{status:?}");
    }
    let eras: Vec<_> = pool.status().into_iter().map(|it| it.revision.unwrap()).collect();
    assert_eq!(eras, ["2025-11-25", "2025-11-25", "2025-11-25", "2026-07-28", "2026-07-28"]);
    let settled = call(&surface, "mcp__everything__echo", json!({"message":"hello"})).await;
    assert!(settled.text().contains("hello"), "{settled:?}");
    let path = root.join("note.txt");
    let settled = call(&surface, "mcp__files__read_text_file", json!({"path":path})).await;
    assert!(settled.text().contains("FILE-MARK"), "{settled:?}");
    let settled = call(&surface, "mcp__files__read_text_file", json!({"path":"/etc/hostname"})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "tool_error"));
    let entities = json!({"entities":[{"name":"Ada","entityType":"person","observations":["MEMORY-MARK"]}]});
    assert_eq!(call(&surface, "mcp__memory__create_entities", entities).await.how, How::Done);
    let settled = call(&surface, "mcp__memory__search_nodes", json!({"query":"Ada"})).await;
    assert!(settled.text().contains("MEMORY-MARK"), "{settled:?}");
    assert!(std::fs::read_to_string(&store).unwrap().contains("Ada"));
    let settled = call(&surface, "mcp__time__get_current_time", json!({"timezone":"Asia/Tokyo"})).await;
    assert!(settled.text().contains("Asia/Tokyo"), "{settled:?}");
    let settled = call(&surface, "mcp__git__git_status", json!({"repo_path":root})).await;
    assert!(settled.text().contains("note.txt"), "{settled:?}");
    let pids: Vec<u32> = pool.status().iter().filter_map(|it| it.pid).collect();
    pool.shutdown().await;
    assert_eq!(pids.len(), 5);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "MCP-8");
}

// MCP-11
#[tokio::test]
async fn the_everything_server_sends_every_kind_of_block() {
    let pool = pool(vec![npm("e", "mcp-server-everything", &[])]);
    let surface = surface(&pool).await;
    let settled = call(&surface, "mcp__e__get-tiny-image", json!({})).await;
    assert!(settled.content.iter().any(|it| matches!(it, Block::Image { .. })), "{settled:?}");
    let settled = call(&surface, "mcp__e__get-structured-content", json!({"location":"Chicago"})).await;
    assert!(settled.structured.is_some(), "{settled:?}");
    let settled = call(&surface, "mcp__e__get-resource-links", json!({"count":3})).await;
    let links = settled.content.iter().filter(|it| matches!(it, Block::ResourceLink { .. })).count();
    assert_eq!(links, 3, "{settled:?}");
    let settled = call(&surface, "mcp__e__get-env", json!({})).await;
    assert!(!settled.text().contains("CARGO_MANIFEST_DIR"), "MCP-6");
    let settled = call(&surface, "mcp__e__get-structured-content", json!({"location":"nowhere"})).await;
    assert_eq!(settled.how, How::Refused, "arguments are checked before anything is sent");
    pool.shutdown().await;
}

/// A server in its own process that is ended with the test.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn listen(transport: &str) -> (Listening, u16) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = Command::new(installed().join("node_modules/.bin/mcp-server-everything"))
        .arg(transport)
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server does not listen");
        std::thread::sleep(Duration::from_millis(100));
    }
    (Listening(child), port)
}

// MCP-3
#[tokio::test]
async fn the_everything_server_over_http_and_sse() {
    for (transport, path, era) in [("streamableHttp", "mcp", "legacy"), ("sse", "sse", "legacy-sse")] {
        let (listening, port) = listen(transport);
        let url = format!("http://127.0.0.1:{port}/{path}").parse().unwrap();
        let mut config = McpServerConfig::http(server_name("e"), url);
        config.timeout = Duration::from_secs(20);
        let pool = pool(vec![config]);
        let surface = surface(&pool).await;
        assert_eq!(pool.status()[0].era, Some(era), "{:?}", pool.status());
        let settled = call(&surface, "mcp__e__echo", json!({"message":"over http"})).await;
        assert!(settled.text().contains("over http"), "{transport}: {settled:?}");
        drop(listening);
        let begun = Instant::now();
        let settled = call(&surface, "mcp__e__echo", json!({"message":"gone"})).await;
        assert_ne!(settled.how, How::Done);
        assert!(begun.elapsed() < Duration::from_secs(5), "{transport}: {:?} {settled:?}", begun.elapsed());
        pool.shutdown().await;
    }
}

// MCP-16
#[tokio::test]
async fn cached_definitions_make_a_start_without_a_server() {
    let cache = Arc::new(MemoryCache::default());
    let with = |refresh| {
        let mut options = options();
        options.cache = Some(cache.clone());
        options.refresh = refresh;
        pool_with(vec![pypi("time", "mcp-server-time", &[])], options)
    };
    let first = with(Refresh::Never);
    let tools = names(&surface(&first).await);
    assert_eq!(tools.len(), 2);
    first.shutdown().await;
    let second = with(Refresh::Never);
    let begun = Instant::now();
    let cached = surface(&second).await;
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    assert_eq!(names(&cached), tools);
    let status = &second.status()[0];
    assert_eq!((status.state, status.cached, status.starts), (ServerState::Discovered, true, 0));
    let settled = call(&cached, "mcp__time__get_current_time", json!({"timezone":"UTC"})).await;
    assert_eq!(settled.how, How::Done, "{settled:?}");
    assert_eq!(second.status()[0].state, ServerState::Connected);
    second.shutdown().await;
    let third = with(Refresh::Blocking);
    let _ = surface(&third).await;
    assert_eq!(third.status()[0].state, ServerState::Connected);
    third.shutdown().await;
}

async fn explained(pool: &McpPool) -> Value {
    serde_json::to_value(surface(pool).await.explain()).unwrap()
}

// MCP-16
#[tokio::test]
async fn a_cache_that_is_broken_or_out_of_date_does_no_harm() {
    use host_mcp::DefinitionCache as _;
    let cache = Arc::new(MemoryCache::default());
    let config = hostile("a", &["changing"]);
    cache.store(&config.digest(), b"{broken".to_vec()).await;
    let mut options = options();
    options.cache = Some(cache.clone());
    options.refresh = Refresh::Never;
    let pool = pool_with(vec![config.clone()], options.clone());
    let before = explained(&pool).await;
    pool.shutdown().await;
    // The cache now says that a tool takes what it no longer takes.
    let kept = String::from_utf8(cache.load(&config.digest()).await.unwrap()).unwrap();
    let stale = kept.replace(r#"{"name":"start""#, r#"{"name":"retired""#);
    assert_ne!(kept, stale);
    cache.store(&config.digest(), stale.into_bytes()).await;
    let pool = pool_with(vec![config], options);
    let surface = surface(&pool).await;
    let settled = call(&surface, "mcp__a__retired", json!({})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "mcp_tool_changed"));
    assert_eq!(explained(&pool).await, before, "the live list has taken the place of the cached one");
    pool.shutdown().await;
}
