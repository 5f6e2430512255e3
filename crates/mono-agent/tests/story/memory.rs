//! Long-term memory on the built program: which tools there are, what they keep, what goes along with a turn, and
//! what its operator does with it.

use super::agent::{Agent, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// An agent with a memory of words, and more settings.
fn lite(memory: Value, more: Value) -> Agent {
    let mut settings = json!({"mode": "lite"});
    settings.as_object_mut().unwrap().extend(memory.as_object().unwrap().clone());
    let mut config = more;
    config["memory"] = settings;
    Agent::scripted(&[json!({"text": "noted"}), json!({"text": "noted again"})], config)
}

fn plain() -> Agent {
    lite(json!({}), json!({}))
}

fn bullets(agent: &Agent) -> Vec<String> {
    let folder = agent.path().join(".mono-agent/memory/daily");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        all.extend(text.lines().filter(|it| it.starts_with("- ")).map(str::to_owned));
    }
    all
}

fn rows(agent: &Agent) -> Vec<(bool, Value)> {
    let rows = agent.explain();
    ["MemoryRecall", "MemoryJournal", "Remember"]
        .map(|name| {
            let row = rows.iter().find(|row| row["name"] == name).unwrap();
            (row["offered"].as_bool().unwrap(), row["by"].clone())
        })
        .into()
}

// REC-1, REM-2, JRN-6, POL-6, POL-11
#[test]
fn the_gates_of_the_three_tools() {
    let (yes, policy, capability) =
        ((true, Value::Null), (false, json!("policy")), (false, json!("capability")));
    let of = |memory: Value, tools: Value| rows(&lite(memory, json!({"tools": tools})));
    let none = json!({});
    assert_eq!(rows(&Agent::scripted(&[json!({"text": "x"})], json!({}))), vec![capability.clone(); 3]);
    assert_eq!(of(none.clone(), none.clone()), vec![yes.clone(); 3]);
    let off = json!({"recallTool": {"enabled": false}});
    assert_eq!(of(off, none.clone()), [capability.clone(), capability.clone(), yes.clone()]);
    let off = json!({"rememberTool": {"enabled": false}});
    assert_eq!(of(off, none.clone()), [yes.clone(), yes.clone(), capability]);
    // The lists have no say in MemoryRecall, and all of it in the other two.
    let empty = json!({"allowedTools": []});
    assert_eq!(of(none.clone(), empty), [yes.clone(), policy.clone(), policy.clone()]);
    for name in [
        "MemoryJournal",
        "mcp__mono-agent-memory-journal__MemoryJournal",
        "mcp__mono-agent-memory-journal__*",
    ] {
        let allowed = of(none.clone(), json!({"allowedTools": [name]}));
        assert_eq!(allowed, [yes.clone(), yes.clone(), policy.clone()], "{name}");
        let denied = of(none.clone(), json!({"disallowedTools": [name]}));
        assert_eq!(denied, [yes.clone(), policy.clone(), yes.clone()], "{name}");
    }
    assert_eq!(
        of(none.clone(), json!({"disallowedTools": ["*"]})),
        [yes.clone(), policy.clone(), policy.clone()]
    );
    assert_eq!(of(none, json!({"disallowedTools": ["Remember"]})), [yes.clone(), yes, policy]);
    let denied = lite(json!({}), json!({"tools": {"disallowedTools": ["Remember"]}}));
    assert_eq!(denied.call("Remember", json!({"text": "tea"}))["code"], "tool_denied");
    assert!(!denied.has(".mono-agent/memory/daily"));
}

// REC-1, REC-2, REM-1, REM-3, T10-03
#[test]
fn a_fact_is_kept_once_and_recalled_at_once() {
    let agent = plain();
    let said = "  Ada\u{a0}drinks   ﬁne\u{3000}ｔｅａ\n every morning ";
    let first = agent.call("Remember", json!({"text": said}));
    let stored = &first["structuredContent"];
    assert_eq!(stored["text"], "Ada drinks fine tea every morning", "{first}");
    assert_eq!((&stored["duplicate"], &stored["recovered"]), (&json!(false), &json!(false)));
    let again = agent.call("Remember", json!({"text": "Ada drinks fine tea every morning"}));
    assert_eq!(again["structuredContent"]["duplicate"], true);
    assert_eq!(again["structuredContent"]["id"], stored["id"]);
    assert_eq!(bullets(&agent), ["- – Ada drinks fine tea every morning"]);
    let recalled = agent.call("MemoryRecall", json!({"query": "what does Ada drink"}));
    assert_eq!(recalled["structuredContent"]["results"][0]["text"], "Ada drinks fine tea every morning");
    assert_eq!(recalled["structuredContent"]["untrusted"], true);
    let nothing = agent.call("MemoryRecall", json!({"query": "quarterly zeppelin"}));
    let text = nothing["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("RunHistory with {}"), "{text}");
    let long = agent.call("Remember", json!({"text": "x".repeat(501)}));
    assert_eq!((&long["settled"], &long["code"]), (&json!("failed"), &json!("text_too_long")));
}

// JRN-1, JRN-4, JRN-5
#[test]
fn the_journal_reads_days_of_a_zone() {
    let agent = plain();
    agent.call("Remember", json!({"text": "Bob moved to Lyon"}));
    agent.write(
        ".mono-agent/memory/daily/2026-03-01.md",
        "- – By hand\u{202e}\n  <!--mem id=H-1 created=2026-03-01T10:00:00.000Z refs= -->\n",
    );
    let days = json!({"fromDate": "2026-03-01", "throughDate": "2026-03-01", "timeZone": "Europe/Amsterdam"});
    let page = agent.call("MemoryJournal", days)["structuredContent"].clone();
    assert_eq!(page["evidenceKind"], "curated_memory_summary");
    assert_eq!(page["entries"][0]["text"], "[omitted: unsafe text]");
    assert_eq!(page["entries"][0]["source"], "daily/2026-03-01.md");
    for (from, through, zone, code) in [
        ("2026-03-02", "2026-03-01", "UTC", "reversed_range"),
        ("2026-02-29", "2026-03-01", "UTC", "invalid_date"),
        ("2026-03-01", "2026-03-01", "Mars/Olympus", "invalid_time_zone"),
        ("2026-03-01", "2026-04-01", "UTC", "range_too_long"),
        ("2018-11-04", "2018-11-04", "America/Sao_Paulo", "invalid_boundary"),
        ("2011-12-30", "2011-12-30", "Pacific/Apia", "invalid_boundary"),
    ] {
        let asked =
            agent.call("MemoryJournal", json!({"fromDate": from, "throughDate": through, "timeZone": zone}));
        assert_eq!(asked["code"], code, "{from} {through} {zone}: {asked}");
    }
    let cursor = agent.call("MemoryJournal", json!({"cursor": "AAAA"}));
    assert_eq!(cursor["code"], "invalid_cursor");
}

// REM-4, T10-07: the environment that the host resolved, the `.env` file with it; on every way in.
#[test]
fn secrets_reach_no_file_of_memory() {
    let mut agent = lite(json!({"writeMode": "append-host-summary"}), json!({}));
    agent.env = vec![("WEBMAIL_PASSWORD".into(), "Tr0ub4dor".into()), ("LLM_TOKENS".into(), "8000".into())];
    agent.write(".env", "SHOP_API_KEY=correct-horse\n");
    let hidden = [
        "the pass is Tr0ub4dor",
        "the pass is ＴＲ０ｕｂ４ｄｏｒ",
        "the pass is Tr0u\u{200b}b4dor",
        "the pass is Tr0u\u{ad}b4dor",
        "shop: CORRECT-HORSE",
        "a budget of 8000",
        "prod db password is hunter2",
        "key sk-test-abc123def456ghi789",
        "token GHP_0123456789abcdefghij0123456789abcdefgh",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "bot 123456789:AAF0123456789abcdefghijABCDEFGHIJ_k",
    ];
    for text in hidden {
        let refused = agent.call("Remember", json!({"text": text}));
        assert_eq!(refused["settled"], "failed", "{text}: {refused}");
        let said = format!("remember this: {text}");
        agent.run(&["run", &said, "--conversation", "terminal:a", "--local"]);
    }
    let memory = agent.path().join(".mono-agent/memory");
    for (path, bytes) in agent.state_bytes().into_iter().filter(|(path, _)| path.starts_with(&memory)) {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        for secret in ["tr0ub4dor", "correct-horse", "hunter2", "abc123def456", "0123456789abcdef", "dxnlcjp"]
        {
            assert!(!text.contains(secret), "{secret} in {}", path.display());
        }
    }
}

// A2.2, A2.3, A2.7: what a turn leaves, and which turns leave nothing.
#[test]
fn a_turn_that_is_over_is_noted_by_the_rules() {
    let script = [
        json!({"text": "The review is on Friday."}),
        json!({"text": "NOTHING_TO_REPORT"}),
        json!({"text": "alone"}),
    ];
    let config = json!({"memory": {"mode": "lite", "writeMode": "append-host-summary"}});
    let agent = Agent::scripted(&script, config);
    agent.run(&["run", "When is the review?", "--conversation", "terminal:a"]).ends(0);
    assert_eq!(bullets(&agent), ["- – User: When is the review? · Assistant: The review is on Friday."]);
    agent.write("answers.jsonl", "{\"text\": \"NOTHING_TO_REPORT\"}\n");
    agent.run(&["run", "Anything new?", "--conversation", "terminal:a"]).ends(0);
    agent.write("answers.jsonl", "{\"text\": \"alone\"}\n");
    agent.run(&["run", "A question that stands alone"]).ends(0);
    agent.write("answers.jsonl", "{\"error\": {\"kind\": \"runtime_error\"}}\n");
    agent.run(&["run", "A question that fails", "--conversation", "terminal:a"]);
    assert_eq!(bullets(&agent).len(), 1, "{:?}", bullets(&agent));
    let found = agent.run(&["memory", "search", "review", "--json"]).ends(0).json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
}

// A3.4: the answer is given all the same, and the person is told.
#[test]
fn an_answer_stands_where_memory_fails() {
    let agent = lite(json!({"writeMode": "append-host-summary", "path": "notes/file/memory"}), json!({}));
    agent.write("notes/file", "not a folder");
    let row = agent.explained("Remember");
    assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("source")), "{row}");
    let answer = agent.run(&["run", "hello", "--conversation", "terminal:a", "--json"]).ends(0);
    let last = answer.lines().pop().unwrap();
    assert_eq!(last["text"], "noted");
    assert!(last["notices"].to_string().contains("Long-term memory did not take this turn"), "{last}");
    let report = agent.run(&["validate", "--json"]).ends(1).json();
    let sections = report["sections"].as_array().unwrap();
    let memory = sections.iter().find(|it| it["title"] == "Memory").unwrap();
    assert_eq!(memory["status"], "error", "{memory}");
}

// A2.1: the notes are the host's own, wherever they lie.
#[test]
fn no_other_tool_reaches_the_notes() {
    let agent = lite(json!({"path": "notes/memory"}), json!({}));
    assert_eq!(agent.call("Remember", json!({"text": "tea"}))["settled"], "done");
    let day =
        std::fs::read_dir(agent.path().join("notes/memory/daily")).unwrap().next().unwrap().unwrap().path();
    let day = day.strip_prefix(agent.path()).unwrap().to_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("Read", json!({"file_path": day})),
        ("Write", json!({"file_path": day, "content": "- forged"})),
        ("Write", json!({"file_path": "notes/memory/daily/2020-01-01.md", "content": "- forged"})),
    ] {
        let refused = agent.call(tool, arguments.clone());
        assert_eq!(refused["settled"], "failed", "{tool} {arguments}: {refused}");
    }
    let exec = agent.call("Bash", json!({"command": format!("echo forged >> {day}; cat {day}")}));
    let text = std::fs::read_to_string(agent.path().join(&day)).unwrap();
    assert!(!text.contains("forged") && !exec["content"].to_string().contains("RM-"), "{exec}");
    for path in [".", "..", "/"] {
        let agent = lite(json!({ "path": path }), json!({}));
        let answer = agent.run(&["explain"]).ends(1);
        assert!(answer.stderr.contains("memory.path"), "{path}: {}", answer.stderr);
    }
}

// REM-6: forgetting in two phases, and the way back.
#[test]
fn forgetting_and_the_way_back() {
    let agent = plain();
    let id = agent.call("Remember", json!({"text": "Eve lives in Nice"}))["structuredContent"]["id"].clone();
    let id = id.as_str().unwrap().to_owned();
    agent.call("Remember", json!({"text": "Ada likes tea"}));
    let before = bullets(&agent);
    let forget = |args: &[&str]| {
        let mut all = vec!["memory", "forget"];
        all.extend(args);
        all.push("--json");
        agent.run(&all)
    };
    let made = forget(&["prepare", &id, "--reason", "asked", "--plan", "plan.json"]).ends(0).json();
    assert_eq!((&made["ids"], &made["changed"]), (&json!(1), &json!(false)));
    assert!(!agent.read("plan.json").contains("Nice"));
    assert_eq!(bullets(&agent), before);
    assert_eq!(
        forget(&["prepare", &id, "--reason", "asked", "--plan", "plan.json"]).ends(2).json()["ok"],
        false
    );
    let edited = agent.read("plan.json").replace("asked", "other");
    agent.write("edited.json", &edited);
    assert_eq!(forget(&["apply", "--plan", "edited.json"]).ends(1).json()["error"]["code"], "plan_edited");
    let done = forget(&["apply", "--plan", "plan.json"]).ends(0).json();
    assert_eq!(done["forgotten"], 1);
    assert!(
        agent.run(&["memory", "search", "Nice", "--json"]).ends(0).json()["hits"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let refused = agent.call("Remember", json!({"text": "Eve lives in Nice"}));
    assert_eq!(refused["code"], "forgotten");
    assert_eq!(forget(&["apply", "--plan", "plan.json"]).ends(1).json()["error"]["code"], "plan_stale");
    let backup = done["backup"].as_str().unwrap();
    let other = format!("{backup}0");
    assert_eq!(forget(&["restore", "--backup", &other]).ends(1).json()["error"]["code"], "unknown_backup");
    assert_eq!(forget(&["restore", "--backup", backup]).ends(0).json()["restored"], true);
    assert_eq!(bullets(&agent), before);
    assert_eq!(agent.run(&["memory", "search", "Nice", "--json"]).ends(0).json()["hits"][0]["id"], id);
    assert_eq!(forget(&["resume"]).ends(0).json()["putBack"], false);
}

// REM-3: while not all of the notes can be read nothing is stored, and the operator is told which file it is.
#[test]
fn an_unreadable_file_of_the_notes_is_named_and_closes_the_way_in() {
    let agent = plain();
    agent.call("Remember", json!({"text": "Ada likes tea"}));
    let bad = agent.path().join(".mono-agent/memory/daily/2020-01-02.md");
    std::fs::write(&bad, b"\xff\xfe- odd\n").unwrap();
    assert_eq!(agent.call("Remember", json!({"text": "Bob likes gin"}))["code"], "not_stored");
    // What can be read is recalled all the same.
    let found = agent.run(&["memory", "search", "tea", "--json"]).ends(0).json();
    assert_eq!(found["hits"][0]["text"], "Ada likes tea");
    let audit = agent.run(&["memory", "audit", "--strict", "--json"]).ends(1).json();
    assert_eq!((&audit["status"], &audit["issues"]), (&json!("unhealthy"), &json!(["canonical_invalid"])));
    assert!(agent.run(&["memory", "audit"]).ends(0).stdout.contains("daily/2020-01-02.md"));
    std::fs::remove_file(bad).unwrap();
    assert_eq!(agent.call("Remember", json!({"text": "Bob likes gin"}))["settled"], "done");
}

// CLI-1: one object each, also for errors, and the documented exit codes.
#[test]
fn the_verbs_answer_with_one_object() {
    let agent = plain();
    agent.call("Remember", json!({"text": "Ada likes tea"}));
    for (args, key) in [
        (vec!["stats"], "index"),
        (vec!["today"], "facts"),
        (vec!["top"], "facts"),
        (vec!["search", "tea"], "hits"),
        (vec!["audit", "--strict"], "status"),
        (vec!["inspect"], "counts"),
        (vec!["retry"], "changed"),
        (vec!["rebuild"], "tookMs"),
        (vec!["embedder", "status"], "installed"),
    ] {
        let all: Vec<&str> = ["memory"].into_iter().chain(args.clone()).chain(["--json"]).collect();
        let answer = agent.run(&all).ends(0).json();
        assert!(!answer[key].is_null(), "{args:?}: {answer}");
        let text: Vec<&str> = ["memory"].into_iter().chain(args.clone()).collect();
        assert!(!agent.run(&text).ends(0).stdout.trim().is_empty(), "{args:?}");
    }
    for (args, exit, code) in [
        (vec!["show", "2026-02-30"], 2, "invalid_date"),
        (vec!["show", "../../etc/passwd"], 2, "invalid_date"),
        (vec!["show", "1999-01-01"], 1, "no_notes"),
        (vec!["search", " ?! "], 2, "invalid_query"),
        (vec!["inspect", "nope"], 2, "invalid_argument"),
        (vec!["resolve", "ab", "x"], 2, "invalid_argument"),
        (vec!["forget", "prepare", "RM-1", "--reason", "Not A Slug", "--plan", "p"], 2, "invalid_argument"),
        (vec!["forget", "prepare", "RM-1", "--reason", "x", "--plan", "p"], 1, "unknown_fact"),
        (vec!["forget", "prepare", "--reason", "x", "--plan", "p"], 2, "invalid_argument"),
        (vec!["forget", "apply", "--plan", "IDENTITY.md"], 2, "invalid_file"),
        (vec!["forget", "apply", "--plan", "/dev/zero"], 2, "invalid_file"),
        (vec!["embedder", "install", "--from", "IDENTITY.md"], 1, "not_installed"),
    ] {
        let all: Vec<&str> = ["memory"].into_iter().chain(args.clone()).chain(["--json"]).collect();
        let answer = agent.run(&all).ends(exit).json();
        assert_eq!((&answer["ok"], &answer["error"]["code"]), (&json!(false), &json!(code)), "{args:?}");
    }
    assert!(!agent.has("p"));
    let none = Agent::scripted(&[json!({"text": "x"})], json!({}));
    let answer = none.run(&["memory", "stats", "--json"]).ends(1).json();
    assert_eq!(answer["error"]["code"], "memory_not_configured");
    let audit = none.run(&["memory", "audit", "--strict", "--json"]).ends(0).json();
    assert_eq!(audit["status"], "not_configured");
    assert!(!none.has(".mono-agent/memory"));
}

// A16.3, A15.2: what needs the agent at rest is refused beside a running one; reading is not.
#[test]
fn a_running_agent_keeps_its_memory_to_itself() {
    let agent = plain();
    agent.run(&["start", "--detach"]).ends(0);
    agent.call("Remember", json!({"text": "Ada likes tea"}));
    for args in [&["rebuild"][..], &["retry"], &["forget", "resume"]] {
        let all: Vec<&str> = ["memory"].iter().chain(args).copied().chain(["--json"]).collect();
        assert_eq!(agent.run(&all).ends(1).json()["error"]["code"], "agent_running", "{args:?}");
    }
    let found = agent.run(&["memory", "search", "tea", "--json"]).ends(0).json();
    assert_eq!(found["hits"][0]["text"], "Ada likes tea");
    agent.run(&["stop"]).ends(0);
    eventually(Duration::from_secs(20), || agent.run(&["memory", "rebuild"]).code == 0);
}

// RUN-8: what was recalled is not a part of any view of the past.
#[test]
fn history_holds_no_recalled_memory() {
    let recall = json!({"toolCalls": [{"name": "MemoryRecall", "arguments": {"query": "which tea"}}]});
    let agent = Agent::scripted(&[recall, json!({"text": "done"})], json!({"memory": {"mode": "lite"}}));
    agent.call("Remember", json!({"text": "Ada prefers green tea"}));
    let run = agent.run(&["run", "look it up", "--json"]).ends(0).lines();
    assert!(run.iter().any(|line| line["preview"].to_string().contains("green tea")), "{run:#?}");
    let id = run.last().unwrap()["run"].as_str().unwrap().to_owned();
    let shown = agent.run(&["runs", "show", &id, "--json"]).ends(0).stdout;
    assert!(shown.contains("[recalled memory omitted]") && !shown.contains("green tea"), "{shown}");
}

// T10-01: many at once, from several processes, and what was acknowledged is there once.
#[test]
fn many_writers_lose_nothing() {
    let agent = plain();
    agent.call("Remember", json!({"text": "the first fact"}));
    let calls: Vec<std::process::Child> = (0..12)
        .map(|n| {
            let text = json!({"text": format!("parallel fact number {}", n % 10)}).to_string();
            agent.command(&["call", "Remember", &text, "--json"]).spawn().unwrap()
        })
        .collect();
    for call in calls {
        let output = call.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["settled"], "done", "{answer}");
    }
    let mut all = bullets(&agent);
    all.sort();
    assert_eq!(all.len(), 11, "{all:#?}");
    all.dedup();
    assert_eq!(all.len(), 11);
    let stats = agent.run(&["memory", "stats", "--json"]).ends(0).json();
    assert_eq!(stats["index"]["memories"], 11);
}
