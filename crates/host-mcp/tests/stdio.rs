//! stdio servers that misbehave, through a sealed surface.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read what their servers left behind")]

mod support;

use host_mcp::ServerState;
use host_ports::CancellationToken;
use host_surface::{CallRequest, How, Progress, ProgressSink};
use host_vocab::Block;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::*;

// T2-01, MCP-7
#[tokio::test]
async fn noise_on_stdout_is_skipped() {
    let pool = pool(vec![hostile("a", &["noise"])]);
    let surface = surface(&pool).await;
    for _ in 0..3 {
        let settled = call(&surface, "mcp__a__ping", json!({})).await;
        assert_eq!((settled.how, settled.text().as_str()), (How::Done, "pong"));
    }
    assert!(pool.status()[0].noise >= 6, "{:?}", pool.status());
    pool.shutdown().await;
}

// T2-03, MCP-7
#[tokio::test]
async fn a_chatty_stderr_does_not_stop_the_server() {
    let pool = pool(vec![hostile("a", &["chatty"])]);
    let surface = surface(&pool).await;
    for _ in 0..3 {
        assert_eq!(call(&surface, "mcp__a__ping", json!({})).await.how, How::Done);
    }
    let status = pool.status();
    assert!(status[0].stderr_tail.len() <= 8 * 1024 && status[0].stderr_tail.ends_with("eee"));
    pool.shutdown().await;
}

// T2-05, MCP-7
#[tokio::test]
async fn a_server_that_dies_in_a_call_comes_back() {
    let pool = pool(vec![hostile_within("a", &["die-in-call"], Duration::from_secs(600))]);
    let surface = surface(&pool).await;
    let begun = Instant::now();
    let settled = call(&surface, "mcp__a__die", json!({})).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_connection_lost"));
    assert!(
        settled.text().contains("signal 9") && settled.text().contains("dying now"),
        "{}",
        settled.text()
    );
    assert_eq!(pool.status()[0].state, ServerState::Degraded);
    let settled = call(&surface, "mcp__a__ping", json!({})).await;
    assert_eq!(settled.text(), "pong");
    assert_eq!(pool.status()[0].state, ServerState::Connected);
    assert_eq!(pool.status()[0].starts, 2);
    pool.shutdown().await;
}

/// A call whose outcome is not known is never repeated: the marker file shows one run.
// T2-05
#[tokio::test]
async fn a_lost_call_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("ran");
    let pool = pool(vec![hostile("a", &["die-once", marker.to_str().unwrap()])]);
    let surface = surface(&pool).await;
    assert_eq!(call(&surface, "mcp__a__die", json!({})).await.how, How::Unknown);
    assert!(marker.exists());
    assert_eq!(call(&surface, "mcp__a__die", json!({})).await.text(), "survived");
    pool.shutdown().await;
}

// T2-07, MCP-4, MCP-16
#[tokio::test]
async fn one_silent_server_delays_the_others_by_its_own_bound_alone() {
    let within = Duration::from_secs(8);
    let pool = pool(vec![
        hostile_within("a", &["slow-start", "2"], within),
        hostile_within("b", &["slow-start", "2"], within),
        hostile_within("c", &["slow-start", "2"], within),
        hostile_within("dead", &["never"], within),
    ]);
    let begun = Instant::now();
    let surface = surface(&pool).await;
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    for name in ["mcp__a__ping", "mcp__b__ping", "mcp__c__ping"] {
        assert!(names(&surface).contains(&name.to_owned()), "{:?}", surface.explain());
    }
    let (by, why) = withheld(&surface, "mcp__dead__*").unwrap();
    assert_eq!(by, "source");
    assert!(why.contains("8000 ms") && why.contains("timeout"), "{why}");
    pool.shutdown().await;
}

// MCP-4
#[tokio::test]
async fn a_bad_server_is_named_with_its_cause_and_the_others_work() {
    let mut missing = hostile("missing", &["plain"]);
    stdio_of(&mut missing).command = "no-such-program-at-all".into();
    let mut steered = hostile("steered", &["plain"]);
    stdio_of(&mut steered).env.insert("LD_PRELOAD".into(), "/x.so".into());
    let pool = pool(vec![
        hostile("good", &["plain"]),
        hostile("exits", &["exit"]),
        hostile("refuses", &["refuses"]),
        hostile("lists", &["list-fails"]),
        hostile("future", &["future"]),
        hostile("circle", &["circle"]),
        missing,
        steered,
    ]);
    let surface = surface(&pool).await;
    assert_eq!(call(&surface, "mcp__good__ping", json!({})).await.text(), "pong");
    let expected = [
        ("exits", vec!["exit code 7", "no configuration found"]),
        ("refuses", vec!["-32600", "no licence"]),
        ("lists", vec!["-32603", "the database is down", "listing its tools"]),
        ("future", vec!["2999-01-01"]),
        ("circle", vec!["circle"]),
        ("missing", vec!["no-such-program-at-all", "not found"]),
        ("steered", vec!["LD_PRELOAD"]),
    ];
    for (server, words) in expected {
        let (by, why) = withheld(&surface, &format!("mcp__{server}__*")).expect(server);
        assert_eq!(by, "source", "{server}");
        assert!(words.iter().all(|word| why.contains(word)), "{server}: {why}");
        assert!(!why.contains('\n'), "{server}: {why}");
    }
    pool.shutdown().await;
}

// MCP-4
#[tokio::test]
async fn a_required_server_that_is_down_is_told_apart() {
    let mut required = hostile("needed", &["exit"]);
    required.required = true;
    let mut fine = hostile("fine", &["plain"]);
    fine.required = true;
    let pool = pool(vec![required, hostile("optional", &["exit"]), fine]);
    assert!(pool.required_down().is_empty(), "nobody tried yet");
    pool.discover().await;
    let down = pool.required_down();
    assert_eq!(down.len(), 1, "{down:?}");
    assert_eq!(down[0].0.as_str(), "needed");
    assert!(down[0].1.contains("exit code 7"));
    pool.shutdown().await;
}

// T2-07: a server that was silent once delays no later run as long as the first.
#[tokio::test]
async fn a_silent_server_delays_only_the_first_run() {
    let pool = pool(vec![hostile_within("dead", &["never"], Duration::from_secs(6))]);
    let _ = surface(&pool).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let begun = Instant::now();
    assert!(withheld(&surface(&pool).await, "mcp__dead__*").unwrap().1.contains("6000 ms"));
    assert!(begun.elapsed() < Duration::from_millis(4500), "{:?}", begun.elapsed());
    pool.shutdown().await;
}

// MCP-7
#[tokio::test]
async fn a_server_that_never_starts_is_quarantined() {
    let pool = pool(vec![hostile("a", &["exit"])]);
    for _ in 0..6 {
        let _ = surface(&pool).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    let status = &pool.status()[0];
    assert_eq!(status.state, ServerState::Quarantined);
    assert_eq!(status.starts, 3, "it is left alone after three failures");
    let (_, why) = withheld(&surface(&pool).await, "mcp__a__*").unwrap();
    assert!(why.contains("quarantined") && why.contains("exit code 7"), "{why}");
    assert!(pool.test("a").await.unwrap().error.is_some());
    pool.shutdown().await;
}

// T2-09, MCP-6
#[tokio::test]
async fn the_environment_of_a_server_is_the_safe_list() {
    let mut plain = hostile("plain", &["env"]);
    let mut literal = hostile("literal", &["env"]);
    stdio_of(&mut literal).env.insert("LOG".into(), "1".into());
    stdio_of(&mut plain).inherit_env.push("T_WANTED".into());
    let mut options = options();
    options.host_env.extend(
        [("T_SECRET", "1"), ("T_WANTED", "2"), ("OPENAI_API_KEY", "k")]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
    );
    options.overlay.insert("MONO_AGENT_MCP_PRODUCING_RUN_ID".into(), "run-1".into());
    stdio_of(&mut literal).env.insert("MONO_AGENT_MCP_PRODUCING_RUN_ID".into(), "forged".into());
    let pool = pool_with(vec![plain, literal], options);
    let surface = surface(&pool).await;
    let env = |settled: host_surface::Settled| -> BTreeMap<String, String> {
        serde_json::from_str(&settled.text()).unwrap()
    };
    let plain = env(call(&surface, "mcp__plain__env", json!({})).await);
    let literal = env(call(&surface, "mcp__literal__env", json!({})).await);
    for seen in [&plain, &literal] {
        assert!(!seen.contains_key("T_SECRET") && !seen.contains_key("OPENAI_API_KEY"), "{seen:?}");
        assert!(seen.contains_key("PATH") && seen.contains_key("HOME"), "{seen:?}");
        assert_eq!(seen["MONO_AGENT_MCP_PRODUCING_RUN_ID"], "run-1");
    }
    assert_eq!(plain["T_WANTED"], "2");
    assert_eq!(literal["LOG"], "1");
    pool.shutdown().await;
}

// T2-11, MCP-12
#[tokio::test]
async fn cancelling_a_call_leaves_the_server_usable() {
    for mode in [&["slow-tool", "polite"][..], &["slow-tool"][..]] {
        let pool = pool(vec![hostile("a", mode)]);
        let surface = surface(&pool).await;
        for round in 0..2 {
            let cancel = CancellationToken::new();
            let mut request = CallRequest::new("mcp__a__slow", json!({}));
            request.cancel = cancel.clone();
            let soon = async {
                tokio::time::sleep(Duration::from_millis(400)).await;
                cancel.cancel();
            };
            let (settled, ()) = tokio::join!(surface.call(request), soon);
            assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "aborted"), "{mode:?}");
            let begun = Instant::now();
            let settled = call(&surface, "mcp__a__ping", json!({})).await;
            assert_eq!(settled.text(), "pong", "{mode:?} {round}");
            assert!(begun.elapsed() < Duration::from_secs(8), "{mode:?}: {:?}", begun.elapsed());
        }
        let restarts = pool.status()[0].starts;
        assert_eq!(restarts > 1, mode.len() == 1, "only a server that is stuck is restarted: {mode:?}");
        pool.shutdown().await;
    }
}

// MCP-12
#[tokio::test]
async fn a_timeout_is_an_unknown_outcome() {
    let pool = pool(vec![hostile_within("a", &["slow-tool", "polite"], Duration::from_secs(4))]);
    let surface = surface(&pool).await;
    let begun = Instant::now();
    let settled = call(&surface, "mcp__a__slow", json!({})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_timeout"));
    assert!(settled.text().contains("4000 ms"), "{}", settled.text());
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert_eq!(call(&surface, "mcp__a__ping", json!({})).await.text(), "pong");
    pool.shutdown().await;
}

// MCP-12
#[tokio::test]
async fn progress_is_shown_and_extends_nothing_unless_asked() {
    for (reset, how) in [(false, How::Unknown), (true, How::Done)] {
        let mut config = hostile_within("a", &["progress", "1"], Duration::from_secs(20));
        config.reset_timeout_on_progress = reset;
        let warm = pool(vec![config.clone()]);
        let _ = surface(&warm).await;
        warm.shutdown().await;
        config.timeout = Duration::from_millis(3000);
        config.era = host_mcp::EraChoice::Legacy;
        let pool = pool(vec![config]);
        let surface = surface(&pool).await;
        let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
        let mut request = CallRequest::new("mcp__a__steps", json!({}));
        let sink = Arc::clone(&seen);
        request.progress = ProgressSink::new(move |progress| sink.lock().unwrap().push(progress));
        let settled = surface.call(request).await;
        assert_eq!(settled.how, how, "{reset} {}", settled.text());
        let seen = seen.lock().unwrap().clone();
        assert!(seen.iter().any(|it| it.message == "step 1" && it.total == Some(4.0)), "{seen:?}");
        pool.shutdown().await;
    }
}

// T4-09
#[tokio::test]
async fn every_page_is_read() {
    let pool = pool(vec![hostile("a", &["paged", "101"])]);
    let surface = surface(&pool).await;
    assert_eq!(names(&surface).iter().filter(|name| name.starts_with("mcp__")).count(), 101);
    pool.shutdown().await;
}

// MCP-9, T4-07, MCP-1
#[tokio::test]
async fn names_that_clash_or_are_too_long_are_withheld_by_name() {
    let longest = 64 - "mcp__long__".len();
    let pool = pool(vec![hostile("clash", &["collide"]), hostile("long", &["long", &longest.to_string()])]);
    let surface = surface(&pool).await;
    let offered = names(&surface);
    assert!(offered.contains(&"mcp__clash__fine".to_owned()));
    assert!(offered.contains(&format!("mcp__long__{}", "x".repeat(longest))));
    assert!(!offered.contains(&"mcp__clash__a_b".to_owned()));
    let (by, why) = withheld(&surface, "mcp__clash__a_b").unwrap();
    assert_eq!(by, "limit");
    assert!(why.contains("\"a.b\"") && why.contains("\"a/b\""), "{why}");
    let (by, why) = withheld(&surface, &format!("mcp__long__{}", "y".repeat(80))).unwrap();
    assert_eq!(by, "limit");
    assert!(why.contains("91 characters"), "{why}");
    let settled = call(&surface, "mcp__clash__a_b", json!({})).await;
    assert_eq!(settled.how, How::Refused);
    let status = &pool.status()[0];
    assert_eq!((status.advertised, status.offered, status.left_out.len()), (6, 4, 2));
    pool.shutdown().await;
}

// T4-03, MCP-10
#[tokio::test]
async fn an_odd_tool_hides_no_other() {
    let pool = pool(vec![hostile("a", &["odd-tools"])]);
    let surface = surface(&pool).await;
    let offered = names(&surface);
    for good in ["mcp__a__ping", "mcp__a__noschema", "mcp__a__icons"] {
        assert!(offered.contains(&good.to_owned()), "{offered:?}");
    }
    for bad in ["mcp__a__badschema", "mcp__a__draft4"] {
        assert_eq!(withheld(&surface, bad).unwrap().0, "source", "{bad}");
    }
    assert_eq!(pool.status()[0].advertised, 9);
    pool.shutdown().await;
}

// MCP-9
#[tokio::test]
async fn descriptions_carry_the_servers_own_instructions() {
    let pool = pool(vec![hostile("a", &["plain"])]);
    let surface = surface(&pool).await;
    for name in names(&surface) {
        let about = &surface.info(&name).unwrap().description;
        assert!(about.contains("The tool") && about.contains("USAGE-MARK"), "{about}");
    }
    pool.shutdown().await;
}

// T4-11, MCP-13
#[tokio::test]
async fn a_changed_list_serves_the_next_run() {
    let pool = pool(vec![hostile("a", &["changing"]), hostile("b", &["schema-change"])]);
    let first = surface(&pool).await;
    assert_eq!(call(&first, "mcp__a__start", json!({})).await.text(), "started");
    assert_eq!(call(&first, "mcp__b__shift", json!({"a":"x"})).await.text(), "shifted");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let gone = call(&first, "mcp__a__start", json!({})).await;
    assert_eq!((gone.how, gone.code.as_str()), (How::Failed, "mcp_tool_changed"));
    assert_eq!(call(&first, "mcp__a__step", json!({})).await.code.as_str(), "unknown_tool");
    let changed = call(&first, "mcp__b__shift", json!({"a":"x"})).await;
    assert_eq!((changed.how, changed.code.as_str()), (How::Failed, "mcp_tool_changed"));
    let second = surface(&pool).await;
    assert!(names(&second).contains(&"mcp__a__step".to_owned()));
    assert!(!names(&second).contains(&"mcp__a__start".to_owned()));
    assert_eq!(call(&second, "mcp__b__shift", json!({"b":1})).await.text(), "shifted");
    pool.shutdown().await;
}

// MCP-13
#[tokio::test]
async fn the_newest_revision_tells_of_changes_by_subscription() {
    let pool = pool(vec![hostile("a", &["modern-listen"])]);
    let first = surface(&pool).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(call(&first, "mcp__a__start", json!({})).await.text(), "started");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(names(&surface(&pool).await).contains(&"mcp__a__step".to_owned()), "{:?}", pool.status());
    pool.shutdown().await;
}

// MCP-13: of a server that announces nothing, a list whose time is over is read anew behind a run, for the next one.
#[tokio::test]
async fn a_list_is_read_anew_when_its_time_to_live_is_over() {
    let pool = pool(vec![hostile("a", &["modern-ttl"])]);
    let later = "mcp__a__later".to_owned();
    assert!(!names(&surface(&pool).await).contains(&later));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert!(!names(&surface(&pool).await).contains(&later), "a run does not wait for it");
    let until = Instant::now() + Duration::from_secs(20);
    while !names(&surface(&pool).await).contains(&later) {
        assert!(Instant::now() < until, "the list was not read anew");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(pool.status()[0].starts, 1);
    pool.shutdown().await;
}

// MCP-11, T5-01, T5-05, T5-07, T5-09
#[tokio::test]
async fn results_keep_what_the_server_sent() {
    let pool = pool(vec![hostile("a", &["results"])]);
    let surface = surface(&pool).await;
    let of = async |tool: &str| call(&surface, &format!("mcp__a__{tool}"), json!({})).await;
    let settled = of("odd_block").await;
    assert!(matches!(&settled.content[..], [Block::Other(_), Block::Text { text }] if text == "kept"));
    let settled = of("mixed").await;
    assert_eq!(settled.content.len(), 6);
    assert!(
        settled.text().contains("inner") && settled.text().contains("application/pdf"),
        "{}",
        settled.text()
    );
    let settled = of("is_error").await;
    assert_eq!(
        (settled.how, settled.code.as_str(), settled.text()),
        (How::Failed, "tool_error", "no such row".into())
    );
    let settled = of("both").await;
    assert_eq!(settled.structured, Some(json!({"m":"STRUCT-MARK"})));
    assert_eq!(settled.for_model().len(), 2);
    let settled = of("nan").await;
    assert_eq!(settled.structured, Some(json!({"mean":Value::Null})));
    assert_eq!(of("structured").await.structured, Some(json!({"only":"this"})));
    let settled = of("big").await;
    assert!(settled.truncated && settled.text().ends_with("END-MARK"));
    assert!(settled.original_bytes > 3 * 1024 * 1024);
    assert!(of("blocks").await.truncated);
    let settled = of("huge").await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, "mcp_result_too_large"));
    let settled = of("rpc_error").await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "mcp_protocol_error"));
    assert!(settled.text().contains("-32000") && !settled.text().contains('\u{1b}'), "{}", settled.text());
    assert_eq!(of("ping").await.text(), "pong");
    pool.shutdown().await;
}

#[tokio::test]
async fn odd_handshakes_and_line_ends_are_taken() {
    let pool = pool(vec![
        hostile("odd", &["odd-handshake"]),
        hostile("crlf", &["crlf"]),
        hostile("paired", &["paired"]),
    ]);
    let surface = surface(&pool).await;
    for server in ["odd", "crlf", "paired"] {
        let settled = call(&surface, &format!("mcp__{server}__echo"), json!({"a":"\u{2028}é😀\n"})).await;
        assert_eq!(
            serde_json::from_str::<Value>(&settled.text()).unwrap(),
            json!({"a":"\u{2028}é😀\n"}),
            "{server}"
        );
    }
    pool.shutdown().await;
}

// MCP-3: the era is found out, whatever a server does with the probe.
#[tokio::test]
async fn every_way_to_meet_the_probe_ends_in_a_connection() {
    let within = Duration::from_secs(16);
    let mut pinned = hostile("pinned", &["dies-on-probe"]);
    pinned.era = host_mcp::EraChoice::Legacy;
    let pool = pool(vec![
        hostile_within("plain", &["plain"], within),
        hostile_within("silent", &["silent-probe"], within),
        hostile_within("dies", &["dies-on-probe"], within),
        hostile_within("modern", &["modern"], within),
        hostile_within("late", &["late-modern", "4"], within),
        pinned,
    ]);
    let surface = surface(&pool).await;
    let eras: Vec<_> = pool.status().into_iter().map(|it| (it.name, it.era, it.revision)).collect();
    let expected = [
        ("plain", "legacy", "2025-06-18"),
        ("silent", "legacy", "2025-06-18"),
        ("dies", "legacy", "2025-06-18"),
        ("modern", "modern", "2026-07-28"),
        ("late", "modern", "2026-07-28"),
        ("pinned", "legacy", "2025-06-18"),
    ];
    for ((name, era, revision), (want, want_era, want_revision)) in eras.iter().zip(expected) {
        assert_eq!((name.as_str(), *era, revision.as_deref()), (want, Some(want_era), Some(want_revision)));
        assert_eq!(call(&surface, &format!("mcp__{want}__ping"), json!({})).await.text(), "pong");
    }
    pool.shutdown().await;
}

// MCP-8
#[tokio::test]
async fn nothing_outlives_the_pool() {
    let pool =
        pool(vec![hostile("a", &["plain"]), hostile("never", &["never"]), hostile("deaf", &["slow-tool"])]);
    let connecting = pool.discover();
    let _ = tokio::time::timeout(Duration::from_secs(5), connecting).await;
    let pids: Vec<u32> = pool.status().iter().filter_map(|it| it.pid).collect();
    assert_eq!(pids.len(), 2, "{:?}", pool.status());
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    let begun = Instant::now();
    pool.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    for _ in 0..50 {
        if pids.iter().all(|pid| !is_alive(*pid)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("servers are left: {pids:?}");
}

// T1-05: an entry that gives nothing says so.
#[tokio::test]
async fn a_server_without_tools_is_no_failure_and_no_secret() {
    let pool = pool(vec![hostile("a", &["no-tools"])]);
    let (_, why) = withheld(&surface(&pool).await, "mcp__a__*").unwrap();
    assert!(why.contains("no tools"), "{why}");
    let status = &pool.status()[0];
    assert_eq!((status.state, status.revision.as_deref()), (ServerState::Connected, Some("2024-11-05")));
    pool.shutdown().await;
}

// T1-09
#[tokio::test]
async fn a_relative_command_is_meant_from_the_servers_own_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let script = std::fs::read_to_string(repository().join("tests/servers/hostile.py")).unwrap();
    std::fs::write(folder.path().join("srv"), script).unwrap();
    std::fs::set_permissions(folder.path().join("srv"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = hostile("a", &[]);
    stdio_of(&mut config).command = "./srv".into();
    stdio_of(&mut config).args = vec!["plain".into()];
    stdio_of(&mut config).cwd = folder.path().to_path_buf();
    let pool = pool(vec![config]);
    assert_eq!(call(&surface(&pool).await, "mcp__a__ping", json!({})).await.text(), "pong");
    pool.shutdown().await;
}

// MCP-8
#[tokio::test]
async fn a_dropped_pool_leaves_nothing_either() {
    let pool = pool(vec![hostile("a", &["plain"])]);
    let surface = surface(&pool).await;
    let pid = pool.status()[0].pid.unwrap();
    assert!(is_alive(pid));
    drop((pool, surface));
    for _ in 0..60 {
        if !is_alive(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the server is left: {pid}");
}

// MCP-16
#[tokio::test]
async fn an_idle_connection_is_closed_and_comes_back() {
    let mut options = options();
    options.idle_close = Duration::from_millis(300);
    let pool = pool_with(vec![hostile("a", &["plain"])], options);
    let surface = surface(&pool).await;
    let pid = pool.status()[0].pid.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let status = pool.status()[0].clone();
    assert_eq!((status.state, status.failures), (ServerState::Discovered, 0));
    assert!(!is_alive(pid));
    assert_eq!(call(&surface, "mcp__a__ping", json!({})).await.text(), "pong");
    pool.shutdown().await;
}

// MCP-17
#[tokio::test]
async fn a_test_says_what_a_server_is() {
    let pool = pool(vec![hostile("a", &["collide"]), hostile("b", &["exit"])]);
    let report = pool.test("a").await.unwrap();
    assert_eq!(report.error, None);
    assert_eq!((report.era, report.revision.as_deref()), (Some("legacy"), Some("2025-06-18")));
    assert_eq!((report.advertised, report.tools.len(), report.left_out.len()), (6, 4, 2));
    assert_eq!(report.server.as_deref(), Some("hostile 1"));
    let report = pool.test("b").await.unwrap();
    assert!(report.error.unwrap().contains("exit code 7"));
    assert!(report.stderr_tail.contains("no configuration found"));
    assert!(pool.test("c").await.is_none());
}
