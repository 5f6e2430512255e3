//! The owner's views of the past: `runs`, `sessions`, `audit`, beside a running host and without one.

use super::agent::{Agent, Answer, eventually};
use super::hosts::host;
use serde_json::{Value, json};
use std::time::Duration;

/// An agent with three conversations behind it: one turn with calls, one without, one that failed.
fn lived() -> Agent {
    let agent = Agent::scripted(
        &[
            json!({"text": "looking", "toolCalls": [
                {"name": "Read", "arguments": {"file_path": "note.txt"}},
                {"name": "Glob", "arguments": {"pattern": "*.md"}},
                {"name": "Read", "arguments": {"path": "wrong"}},
                {"name": "Nope", "arguments": {}},
            ]}),
            json!({"text": "The code word is heron."}),
            json!({"text": "yes"}),
            json!({"text": "yes"}),
        ],
        json!({}),
    );
    agent.write("note.txt", "The code word is heron.\n");
    agent.run(&["run", "find the 周五上午 invoice", "--conversation", "terminal:a"]).ends(0);
    agent.run(&["run", "second thing", "--conversation", "terminal:b"]).ends(0);
    agent
}

fn runs(agent: &Agent) -> Vec<Value> {
    agent.run(&["runs", "list", "--json"]).ends(0).json()["runs"].as_array().unwrap().clone()
}

fn id(run: &Value) -> String {
    run["runId"].as_str().unwrap().to_owned()
}

#[track_caller]
fn error(answer: &Answer, code: &str) -> String {
    let object = answer.json();
    assert_eq!((&object["ok"], &object["error"]["code"]), (&json!(false), &json!(code)), "{object}");
    answer.stderr.clone()
}

// RUN-2, RUN-8: the owner's list, overview and timeline, in both forms.
#[test]
fn runs_are_listed_shown_and_searched() {
    let agent = lived();
    let all = runs(&agent);
    assert_eq!(all.len(), 2);
    let keys: Vec<&String> = all[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "runId",
            "conversation",
            "status",
            "failureKind",
            "startedAt",
            "endedAt",
            "durationMs",
            "source",
            "sourceDetail",
            "model",
            "effort",
            "isolated",
            "userInput",
            "usage",
            "stale"
        ]
    );
    assert_eq!(all[0]["userInput"], "second thing", "newest first");
    let first = id(&all[1]);
    let shown = agent.run(&["runs", "show", &first, "--json"]).ends(0).json();
    assert_eq!(shown["run"]["conversation"], "terminal:a");
    assert_eq!(shown["overview"]["output"], "The code word is heron.");
    assert_eq!(shown["overview"]["tools"][0], json!({"tool": "Read", "calls": 2, "errors": 1}));
    let types: Vec<&str> =
        shown["timeline"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    for kind in ["assistant", "tool_call", "tool_result", "tool_refused", "run_settled"] {
        assert!(types.contains(&kind), "{types:?}");
    }
    let text = agent.run(&["runs", "show", &first]).ends(0).stdout;
    assert!(text.contains("The code word is heron.") && text.contains("tools: Read 2 (1 failed)"), "{text}");
    // T9-11, RUN-5
    for words in [vec!["周五"], vec!["INVOICE"], vec!["find", "上午"]] {
        let args: Vec<&str> = ["runs", "search", "--json"].into_iter().chain(words.iter().copied()).collect();
        let found = agent.run(&args).ends(0).json();
        assert_eq!((found["runs"].as_array().unwrap().len(), &found["matchedAllTerms"]), (1, &json!(true)));
    }
    let partial = agent.run(&["runs", "search", "second", "zebra"]).ends(0).stdout;
    assert!(
        partial.starts_with("no run carries every word") && partial.contains("second thing"),
        "{partial}"
    );
    let listed = agent.run(&["runs"]).ends(0).stdout;
    assert!(listed.contains(&first) && listed.contains("succeeded"), "{listed}");
    let one = agent.run(&["runs", "list", "--conversation", "terminal:b", "--json"]).ends(0).json();
    assert_eq!(one["runs"].as_array().unwrap().len(), 1);
    assert_eq!(agent.run(&["runs", "list", "--status", "failed"]).ends(0).stdout.trim(), "no run fits");
}

// HIS-4 in the owner's views: pages follow from each other, and a cursor is good for its question alone.
#[test]
fn pages_follow_and_cursors_are_bound() {
    let agent = lived();
    let page = agent.run(&["runs", "list", "--limit", "1", "--json"]).ends(0).json();
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    let next = agent.run(&["runs", "list", "--limit", "1", "--cursor", &cursor, "--json"]).ends(0).json();
    assert_eq!(next["nextCursor"], Value::Null);
    assert_ne!(page["runs"][0]["runId"], next["runs"][0]["runId"]);
    let first = id(&next["runs"][0]);
    let part = agent.run(&["runs", "show", &first, "--limit", "2", "--json"]).ends(0).json();
    let at = part["nextCursor"].as_str().unwrap().to_owned();
    let mut entries = part["timeline"].as_array().unwrap().len();
    let mut following = Some(at.clone());
    while let Some(cursor) = following {
        let more = agent
            .run(&["runs", "show", &first, "--limit", "2", "--cursor", &cursor, "--json"])
            .ends(0)
            .json();
        assert!(more.get("overview").is_none(), "{more}");
        entries += more["timeline"].as_array().unwrap().len();
        following = more["nextCursor"].as_str().map(str::to_owned);
    }
    let whole = agent.run(&["runs", "show", &first, "--json"]).ends(0).json();
    assert_eq!(entries, whole["timeline"].as_array().unwrap().len());
    let forged = format!("{}x", &cursor[..cursor.len() - 1]);
    for args in [
        vec!["runs", "list", "--cursor", &forged],
        vec!["runs", "list", "--cursor", "%%%"],
        vec!["runs", "list", "--cursor", ""],
        vec!["runs", "list", "--cursor", &at],
        vec!["runs", "list", "--status", "failed", "--cursor", &cursor],
        vec!["runs", "list", "--conversation", "terminal:a", "--cursor", &cursor],
        vec!["runs", "search", "thing", "--cursor", &cursor],
        vec!["sessions", "list", "--cursor", &cursor],
        vec!["audit", "list", "--cursor", &cursor],
    ] {
        let answer = agent.run(&[args.as_slice(), &["--json"]].concat()).ends(2);
        error(&answer, "invalid_cursor");
    }
    // Another agent's cursor is forged here.
    let other = lived();
    let foreign = other.run(&["runs", "list", "--limit", "1", "--json"]).ends(0).json()["nextCursor"].clone();
    let answer = agent.run(&["runs", "list", "--cursor", foreign.as_str().unwrap(), "--json"]).ends(2);
    error(&answer, "invalid_cursor");
}

#[test]
fn what_is_not_there_gets_a_way_out() {
    let empty = Agent::scripted(&[json!({"text": "x"})], json!({}));
    assert_eq!(empty.run(&["runs", "list"]).ends(0).stdout.trim(), "no run is recorded yet");
    assert_eq!(empty.run(&["runs", "report", "--json"]).ends(0).json()["total"]["runs"], 0);
    error(&empty.run(&["runs", "show", "run-1", "--json"]).ends(2), "not_found");
    error(&empty.run(&["sessions", "show", "terminal:a", "--json"]).ends(2), "not_found");
    empty.run(&["audit", "verify"]).ends(0);
    assert!(!empty.has(".mono-agent/log"), "looking makes nothing");

    let agent = lived();
    let real = id(&runs(&agent)[0]);
    let part = &real[..real.len() - 3];
    let told = error(&agent.run(&["runs", "show", part, "--json"]).ends(2), "not_found");
    assert!(told.contains(&format!("did you mean {real}?")) && told.contains("runs list"), "{told}");
    for args in [
        vec!["runs", "show", "../../etc/passwd"],
        vec!["runs", "replay", "run-nope"],
        vec!["runs", "diff", &real, "run-nope"],
        vec!["audit", "list", "--run", "run-nope"],
        vec!["sessions", "show", "terminal:zzz"],
        vec!["sessions", "clear", "terminal:zzz"],
    ] {
        error(&agent.run(&[args.as_slice(), &["--json"]].concat()).ends(2), "not_found");
    }
    for args in [
        vec!["runs", "list", "--limit", "0"],
        vec!["runs", "list", "--limit", "101"],
        vec!["runs", "list", "--limit", "99999999999999999999"],
        vec!["runs", "list", "--status", "happy"],
        vec!["runs", "search"],
        vec!["runs", "search", " "],
        vec!["runs", "report", "--by", "mood"],
        vec!["runs", "report", "--since", "yesterday"],
        vec!["sessions", "clear"],
        vec!["sessions", "show", ""],
    ] {
        let answer = agent.run(&args).ends(2);
        assert!(answer.stderr.len() > 20, "{args:?}: {}", answer.stderr);
    }
}

// What is typed never reaches the engine of the search, and limits are named.
#[test]
fn queries_are_words_and_nothing_else() {
    let agent = lived();
    for query in [
        "\" OR * NEAR",
        "input:*",
        "a\" AND \"b",
        "NEAR(second thing)",
        "^second",
        "(",
        "'; DROP TABLE runs;--",
        "-second",
    ] {
        let answer = agent.run(&["runs", "search", "--json", "--", query]).ends(0);
        let found = answer.json();
        assert_ne!(found["matchedAllTerms"], true, "{query}: {found}");
    }
    let long = "ä".repeat(257);
    let told = error(&agent.run(&["runs", "search", &long, "--json"]).ends(2), "invalid_input");
    assert!(told.contains("512"), "{told}");
    let many: Vec<String> = (0..17).map(|n| format!("word{n}")).collect();
    let told = error(&agent.run(&["runs", "search", &many.join(" "), "--json"]).ends(2), "invalid_input");
    assert!(told.contains("16"), "{told}");
    // NFD and NFC, either case, are one.
    agent.run(&["run", "Zu\u{308}rich trip", "--conversation", "terminal:z"]).ends(0);
    let found = agent.run(&["runs", "search", "ZÜRICH", "--json"]).ends(0).json();
    assert_eq!(found["runs"].as_array().unwrap().len(), 1, "{found}");
}

// OBS-1: figures, groups, and spans of time.
#[test]
fn reports_count_and_group() {
    let agent = lived();
    agent.call("Read", json!({"file_path": "gone.txt"}));
    let report = agent.run(&["runs", "report", "--by", "channel", "--json"]).ends(0).json();
    assert_eq!(report["total"]["runs"], 3);
    assert_eq!(report["total"]["status"], json!({"failed": 1, "succeeded": 2}));
    assert!(report["total"]["durationMs"]["p99"].is_number() && report["groups"]["terminal"]["runs"] == 3);
    assert_eq!(report["total"]["costUsd"], Value::Null, "unknown is never zero");
    let later = agent.run(&["runs", "report", "--since", "2999-01-01", "--json"]).ends(0).json();
    assert_eq!(later["total"]["runs"], 0);
    let ago = agent.run(&["runs", "report", "--since", "1h"]).ends(0).stdout;
    assert!(ago.contains("runs        3") && ago.contains("not priced"), "{ago}");
    let found = agent.run(&["runs", "audit", "--json"]).ends(0).json();
    assert_eq!(
        (&found["runs"]["runs"], &found["staleRuns"], &found["events"]["unreadable"]),
        (&json!(3), &json!(0), &json!(0))
    );
    assert!(agent.run(&["runs", "audit"]).ends(0).stdout.contains("events "));
    // Old names go on, and say the new one.
    assert!(agent.run(&["metrics", "--by", "model"]).ends(0).stderr.contains("`runs report`"));
    assert!(agent.run(&["audit-runs"]).ends(0).stderr.contains("`runs audit`"));
}

// SRC-1: the recorded answers and results again, with no effect; what changed since shows.
#[test]
fn a_replay_is_the_same_and_has_no_effect() {
    let agent = Agent::scripted(
        &[
            json!({"text": "writing", "toolCalls": [
                {"name": "Bash", "arguments": {"command": "echo one >> trace.txt; cat note.txt"}},
                {"name": "Read", "arguments": {"file_path": "note.txt"}},
                {"name": "Glob", "arguments": {"pattern": "*.txt"}},
                {"name": "Read", "arguments": {"path": "bad"}},
                {"name": "Nope", "arguments": {"a": [1]}},
            ]}),
            json!({"text": "done"}),
        ],
        json!({}),
    );
    agent.write("note.txt", "heron\n");
    agent.run(&["run", "go", "--conversation", "terminal:a"]).ends(0);
    agent.run(&["run", "again", "--conversation", "terminal:a"]).ends(0);
    let all = runs(&agent);
    let trace = agent.read("trace.txt");
    // Neither the file nor the script is needed.
    std::fs::remove_file(agent.path().join("note.txt")).unwrap();
    agent.write("answers.jsonl", "{\"text\":\"something else\"}\n");
    let before = agent.run(&["audit", "head"]).ends(0).stdout;
    for run in &all {
        let replayed = agent.run(&["runs", "replay", &id(run), "--json"]).ends(0).json();
        assert_eq!((&replayed["same"], &replayed["changes"]), (&json!(true), &json!([])), "{replayed}");
        assert_eq!(replayed["recorded"], replayed["replayed"]);
    }
    let told = agent.run(&["runs", "replay", &id(&all[1])]).ends(0).stdout;
    assert!(told.contains("comes out the same"), "{told}");
    assert_eq!(agent.read("trace.txt"), trace, "nothing ran");
    let hash = |line: &str| serde_json::from_str::<Value>(line).unwrap()["hash"].clone();
    assert_eq!(hash(&before), hash(&agent.run(&["audit", "head"]).ends(0).stdout), "nothing was recorded");
    // A rule that came since refuses a call that ran then.
    let mut config: Value = serde_json::from_str(&agent.read("mono-agent.config.json")).unwrap();
    config["tools"] = json!({"disallowedTools": ["Bash"]});
    agent.write("mono-agent.config.json", &config.to_string());
    let other = agent.run(&["runs", "replay", &id(&all[1]), "--json"]).ends(1).json();
    assert_eq!(other["same"], false);
    let kinds: Vec<&str> =
        other["changes"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"call_refused"), "{kinds:?}");
    // Two runs: the input differs, and the second goes on in a session.
    let diff = agent.run(&["runs", "diff", &id(&all[1]), &id(&all[0]), "--json"]).ends(1).json();
    assert_eq!((&diff["same"], &diff["first"]), (&json!(false), &json!(id(&all[1]))));
    let text = agent.run(&["runs", "diff", &id(&all[1]), &id(&all[0])]).ends(1).stdout;
    assert!(
        text.contains("- run_started.userInput: \"go\"")
            && text.contains("+ run_started.userInput: \"again\""),
        "{text}"
    );
    assert_eq!(
        agent.run(&["runs", "diff", &id(&all[0]), &id(&all[0]), "--json"]).ends(0).json()["same"],
        true
    );
}

#[test]
fn a_single_call_is_no_turn_to_replay() {
    let agent = lived();
    agent.call("Glob", json!({"pattern": "*"}));
    let run = id(&runs(&agent)[0]);
    error(&agent.run(&["runs", "replay", &run, "--json"]).ends(1), "not_replayable");
}

// AUD-1: decisions without arguments; a whole chain; a break with its place; a cut tail by its anchor.
#[test]
fn the_audit_shows_decisions_and_finds_breaks() {
    let agent = lived();
    let page = agent.run(&["audit", "list", "--tool", "read", "--json"]).ends(0).json();
    let decisions = page["decisions"].as_array().unwrap();
    let what: Vec<&str> = decisions.iter().map(|it| it["what"].as_str().unwrap()).collect();
    assert!(what.contains(&"refused") && what.contains(&"started") && what.contains(&"settled"), "{what:?}");
    assert!(!page.to_string().contains("note.txt"), "no argument is shown");
    let run = id(&runs(&agent)[1]);
    let one = agent.run(&["audit", "list", "--run", &run, "--limit", "2", "--json"]).ends(0).json();
    let next = one["nextCursor"].as_str().unwrap().to_owned();
    let rest = agent.run(&["audit", "list", "--run", &run, "--cursor", &next, "--json"]).ends(0).json();
    assert!(rest["decisions"][0]["seq"].as_u64() < one["decisions"][1]["seq"].as_u64());
    let sound = agent.run(&["audit", "verify", "--json"]).ends(0).json();
    assert_eq!((&sound["ok"], &sound["broken"]), (&json!(true), &Value::Null));
    assert!(sound["head"]["anchors"].as_u64() >= Some(1), "every end of a process anchors: {sound}");
    let head = agent.run(&["audit", "head"]).ends(0).stdout;
    agent.write("kept-elsewhere.txt", &head);
    let kept = ["audit", "verify", "--anchors", "kept-elsewhere.txt"];
    assert!(agent.run(&kept).ends(0).stdout.contains("the chain is whole"));

    let log = agent.path().join(".mono-agent/log/log.sqlite");
    let edit = |sql: &str| rusqlite::Connection::open(&log).unwrap().execute_batch(sql).unwrap();
    let saved = std::fs::read(&log).unwrap();
    let broken_ones = 2;
    edit("UPDATE events SET body = replace(body, 'heron', 'crane') WHERE kind = 'call_settled'");
    let broken = agent.run(&["audit", "verify", "--json"]).ends(1).json();
    assert!(broken["broken"]["why"].as_str().unwrap().contains("is not what was written"), "{broken}");
    assert!(agent.run(&["audit", "verify"]).ends(1).stdout.contains("THE CHAIN IS BROKEN"));
    assert_eq!(agent.run(&["runs", "audit", "--json"]).ends(0).json()["events"]["unreadable"], broken_ones);
    std::fs::write(&log, &saved).unwrap();
    edit(&format!(
        "INSERT INTO run_events SELECT run, seq FROM events WHERE run = '{run}' AND kind <> 'call_refused'; UPDATE looked_up SET upto = (SELECT max(seq) FROM events)"
    ));
    assert_eq!(
        agent.run(&["audit", "list", "--run", &run, "--json"]).ends(0).json().to_string().find("refused"),
        None
    );
    let hidden = agent.run(&["audit", "verify", "--json"]).ends(1).json();
    assert!(hidden["ok"] == false && hidden["database"].to_string().contains(&run), "{hidden}");
    std::fs::write(&log, &saved).unwrap();
    // With the rows beside them, which would tell.
    edit(
        "DELETE FROM events WHERE seq > (SELECT max(seq) - 1 FROM events);
         UPDATE runs SET settled_seq = NULL, ended_at = NULL, status = NULL, failure_kind = NULL, usage = NULL
         WHERE settled_seq > (SELECT max(seq) FROM events)",
    );
    let cut = agent.run(&["audit", "verify"]).ends(1).stdout;
    assert!(cut.contains("A HEAD DOES NOT FIT"), "{cut}");
    std::fs::remove_file(agent.path().join(".mono-agent/log/audit.head")).unwrap();
    agent.run(&["audit", "verify"]).ends(0);
    agent.run(&kept).ends(1);
    agent.write("junk.txt", "not a head\n");
    assert!(agent.run(&["audit", "verify", "--anchors", "junk.txt"]).ends(2).stderr.contains("junk.txt:1"));
    agent.run(&["audit", "verify", "--anchors", "missing.txt"]).ends(2);
}

#[test]
fn sessions_are_listed_shown_and_cleared() {
    let agent = lived();
    let list = agent.run(&["sessions", "list", "--json"]).ends(0).json();
    let names: Vec<&str> = list["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["conversation"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["terminal:b", "terminal:a"]);
    let shown = agent.run(&["sessions", "show", "terminal:a", "--json"]).ends(0).json();
    assert_eq!(shown["turns"][0]["assistant"], "The code word is heron.");
    assert_eq!(shown["turns"][0]["calls"][0]["tool"], "Read");
    let text = agent.run(&["sessions", "show", "terminal:a"]).ends(0).stdout;
    assert!(
        text.contains("> find the 周五上午 invoice") && text.contains("< The code word is heron."),
        "{text}"
    );
    let host = host(&agent);
    agent.run(&["sessions", "clear", "terminal:a", "--json"]).ends(0);
    let told = agent.run(&["sessions", "clear", "--all", "--json"]).ends(0).json();
    assert_eq!((&told["ok"], told["clearedSessions"].is_u64()), (&json!(true), true), "{told}");
    drop(host);
    assert_eq!(agent.run(&["sessions", "clear", "--all", "--json"]).ends(0).json()["clearedSessions"], 0);
    // The log stays.
    assert_eq!(runs(&agent).len(), 2);
}

// Beside a running host: the same, and nothing of the host's is touched.
#[test]
fn the_past_is_read_while_a_host_runs() {
    let agent = lived();
    let _host = host(&agent);
    agent.run(&["run", "third thing", "--conversation", "terminal:c"]).ends(0);
    assert_eq!(runs(&agent).len(), 3);
    let run = id(&runs(&agent)[0]);
    agent.run(&["runs", "show", &run]).ends(0);
    agent.run(&["runs", "replay", &run]).ends(0);
    agent.run(&["audit", "verify"]).ends(0);
    // A damaged index is made anew under its feet.
    agent.write(".mono-agent/log/search.sqlite", "this is no database");
    assert_eq!(runs(&agent).len(), 3);
    agent.run(&["run", "fourth thing", "--conversation", "terminal:c"]).ends(0);
    eventually(Duration::from_secs(10), || runs(&agent).len() == 4);
}

// ENG-7, QUA-2: a run whose process was killed is told as such before the next start settles it.
#[test]
fn a_killed_run_is_stale_until_the_next_start() {
    let agent = Agent::scripted(
        &[json!({"text": "x", "toolCalls": [{"name": "Bash", "arguments": {"command": "sleep 60"}}]})],
        json!({}),
    );
    let mut child = agent.command(&["run", "wait", "--conversation", "terminal:a"]).spawn().unwrap();
    let open = |status: &str| {
        let found = agent.run(&["runs", "list", "--status", status, "--json"]).ends(0).json();
        found["runs"].as_array().unwrap().clone()
    };
    eventually(Duration::from_secs(20), || {
        agent.run(&["audit", "list", "--json"]).json()["decisions"][0]["what"] == "started"
    });
    assert_eq!(open("running")[0]["stale"], false, "its process lives");
    assert!(open("dead").is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let dead = open("dead");
    assert_eq!(dead[0]["stale"], true);
    assert!(open("running").is_empty(), "a dead run does not run");
    let told = agent.run(&["runs", "list", "--status", "RUNNING"]).ends(2).stderr;
    assert!(told.contains("running, dead, succeeded"), "{told}");
    let run = id(&dead[0]);
    assert!(agent.run(&["runs", "list"]).ends(0).stdout.contains("  dead  "));
    assert_eq!(id(&open("dead")[0]), run);
    let turns = agent.run(&["sessions", "show", "terminal:a", "--json"]).ends(0).json()["turns"].clone();
    assert_eq!((&turns[0]["run"], &turns[0]["stale"]), (&json!(run), &json!(true)), "{turns}");
    assert!(agent.run(&["sessions", "show", "terminal:a"]).ends(0).stdout.contains(&format!("{run}  dead")));
    assert_eq!(agent.run(&["runs", "audit", "--json"]).ends(0).json()["staleRunIds"], json!([run]));
    let again = agent.run(&["runs", "replay", &run, "--json"]).ends(0).json();
    assert_eq!((&again["brokeOff"], &again["same"]), (&json!(true), &json!(true)), "{again}");
    agent.run(&["call", "Glob", "{\"pattern\":\"*\"}"]).ends(0);
    assert_eq!(open("interrupted").len(), 1);
    assert_eq!(agent.run(&["runs", "replay", &run, "--json"]).ends(0).json()["same"], true);
    agent.run(&["audit", "verify"]).ends(0);
}

// What stands in the way is named: another agent's key, no key, a file that is no log.
#[test]
fn a_log_that_can_not_be_used_is_named() {
    let (agent, other) = (lived(), lived());
    let log = agent.path().join(".mono-agent/log");
    let key = std::fs::read(log.join("keys/log.key")).unwrap();
    std::fs::copy(other.path().join(".mono-agent/log/keys/log.key"), log.join("keys/log.key")).unwrap();
    let told = error(&agent.run(&["runs", "list", "--json"]).ends(1), "store_unusable");
    assert!(told.contains("belongs to another log"), "{told}");
    std::fs::remove_file(log.join("keys/log.key")).unwrap();
    assert!(agent.run(&["runs", "list"]).ends(1).stderr.contains("key is missing"));
    std::fs::write(log.join("keys/log.key"), key).unwrap();
    std::fs::set_permissions(log.join("keys/log.key"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    assert_eq!(runs(&agent).len(), 2);
    // Another agent's index is not believed.
    assert_eq!(runs(&other).len(), 2);
    std::fs::copy(other.path().join(".mono-agent/log/search.sqlite"), log.join("search.sqlite")).unwrap();
    assert_eq!(runs(&agent).len(), 2);
    std::fs::remove_file(log.join("log.sqlite")).unwrap();
    let told = error(&agent.run(&["audit", "verify", "--json"]).ends(1), "log_missing");
    assert!(told.contains("the log is gone"), "{told}");
    std::fs::write(log.join("log.sqlite"), "nonsense nonsense nonsense").unwrap();
    std::fs::set_permissions(log.join("log.sqlite"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    error(&agent.run(&["runs", "list", "--json"]).ends(1), "store_unusable");
}

// RET: the settings' bounds, at the start of a host; kept output of a removed run goes too.
#[test]
fn retention_is_the_hosts_work() {
    let agent = Agent::scripted(
        &[
            json!({"text": "", "toolCalls": [{"name": "Bash", "arguments": {"command": "yes line | head -c 600000"}}]}),
            json!({"text": "ok"}),
        ],
        json!({"artifacts": {"retention": {"maxCount": 2}}}),
    );
    for n in 0..4 {
        agent.run(&["run", &format!("turn {n}"), "--conversation", "terminal:a"]).ends(0);
    }
    let kept = agent.path().join(".mono-agent/artifacts/tool-output");
    let folders = || std::fs::read_dir(&kept).unwrap().count();
    assert_eq!((runs(&agent).len(), folders()), (4, 4));
    let host = host(&agent);
    eventually(Duration::from_secs(20), || runs(&agent).len() == 2 && folders() == 2);
    drop(host);
    let sound = agent.run(&["audit", "verify", "--json"]).ends(0).json();
    assert!(sound["horizon"].is_u64() && sound["ok"] == true, "{sound}");
    let mut config: Value = serde_json::from_str(&agent.read("mono-agent.config.json")).unwrap();
    config["artifacts"]["retention"] = json!({"maxCount": 1, "dryRun": true});
    agent.write("mono-agent.config.json", &config.to_string());
    agent.run(&["start", "--detach"]).ends(0);
    eventually(Duration::from_secs(20), || agent.run(&["logs"]).stdout.contains("retention would remove"));
    agent.run(&["stop"]).ends(0);
    assert_eq!(runs(&agent).len(), 2);
}

// A folder that can't be written, an index that is damaged or gone there, and nothing is made.
#[test]
fn a_folder_that_can_not_be_written_is_read() {
    let agent = lived();
    assert_eq!(runs(&agent).len(), 2);
    let look = |args: &[&str]| {
        let mut command = std::process::Command::new("bwrap");
        command
            .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
            .arg(super::agent::program());
        let output = command.args(args).current_dir(agent.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let log = agent.path().join(".mono-agent/log");
    for damage in ["none", "junk", "gone"] {
        match damage {
            "junk" => std::fs::write(log.join("search.sqlite"), "junk junk junk").unwrap(),
            "gone" => std::fs::remove_file(log.join("search.sqlite")).unwrap(),
            _ => {}
        }
        let names = || {
            let mut all: Vec<_> =
                std::fs::read_dir(&log).unwrap().map(|it| it.unwrap().file_name()).collect();
            all.sort();
            all
        };
        let before = names();
        assert!(look(&["runs", "search", "评", "invoice"]).contains("invoice"), "{damage}");
        let page: Value = serde_json::from_str(&look(&["runs", "list", "--json"])).unwrap();
        assert_eq!(page["runs"].as_array().unwrap().len(), 2, "{damage}");
        let run = id(&page["runs"][1]);
        look(&["runs", "show", &run]);
        look(&["runs", "replay", &run]);
        assert!(look(&["audit", "verify"]).contains("the chain is whole"));
        assert_eq!(names(), before);
    }
}

// T9-05: a full disk takes nobody's past away: with the index, with a damaged one, and without one.
#[test]
fn the_past_is_read_on_a_full_disk() {
    let agent = lived();
    assert_eq!(runs(&agent).len(), 2);
    for first in ["true", "echo junk > .mono-agent/log/search.sqlite", "rm .mono-agent/log/search.sqlite"] {
        let program = super::agent::program();
        let script = format!(
            "cp -a '{}/.' /mnt && cd /mnt && {first} && {{ head -c 9000000 /dev/zero > fill; '{}' runs list && '{}' runs search \
             invoice && '{}' audit verify; }}",
            agent.path().display(),
            program.display(),
            program.display(),
            program.display()
        );
        let mut command = std::process::Command::new("bwrap");
        command.args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--size",
            "4000000",
            "--tmpfs",
            "/mnt",
        ]);
        let output = command.args(["sh", "-c", &script]).output().unwrap();
        let (text, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{first}: {text}{told}");
        assert_eq!(text.matches("invoice").count(), 2, "{first}: {text}{told}");
        assert!(
            text.contains("the chain is whole") && told.contains("No space left"),
            "{first}: {text}{told}"
        );
    }
}
