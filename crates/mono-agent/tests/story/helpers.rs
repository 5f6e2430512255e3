//! Helpers: child runs through the whole program (TOO-6, POL-15).

use super::agent::{Agent, eventually};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A call of the script.
fn call(name: &str, arguments: Value) -> Value {
    json!({"toolCalls": [{"name": name, "arguments": arguments}]})
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

/// The script plays for the run and its helpers alike, in the order in which they ask.
fn agent(script: &[Value], subagents: Value, tools: Value) -> Agent {
    let mut settings = json!({"enabled": true});
    settings.as_object_mut().unwrap().extend(subagents.as_object().unwrap().clone());
    Agent::scripted(script, json!({"subagents": settings, "tools": tools}))
}

/// The previews of the calls of `run --json`, and the final text.
fn told(agent: &Agent) -> (Vec<Value>, String) {
    let lines = agent.run(&["run", "go", "--json"]).ends(0).lines();
    let settled = lines.iter().filter(|line| line["type"] == "call_settled").cloned().collect();
    (settled, lines.last().unwrap()["text"].as_str().unwrap().to_owned())
}

fn runs(agent: &Agent) -> Vec<Value> {
    agent.run(&["runs", "list", "--json"]).ends(0).json()["runs"].as_array().unwrap().clone()
}

/// All that the log holds of a run, as text.
fn record(agent: &Agent, run: &Value) -> String {
    agent.run(&["runs", "show", run["runId"].as_str().unwrap(), "--json"]).ends(0).stdout
}

// TOO-6: the answer comes back, and the helper's run stands in the one log with who started it.
#[test]
fn a_helper_reads_and_answers() {
    let agent = agent(
        &[
            call("Agent", json!({"prompt": "find the code word", "description": "word search"})),
            call("Read", json!({"file_path": "notes.txt"})),
            json!({"text": "The code word is heron.", "expect": [{"contains": "heron"}]}),
            json!({"text": "It is heron.", "expect": [{"contains": "The code word is heron."}]}),
        ],
        json!({}),
        json!({}),
    );
    agent.write("notes.txt", "the code word is heron\n");
    let lines = agent.run(&["run", "go", "--json"]).ends(0).lines();
    assert_eq!(lines.last().unwrap()["text"], "It is heron.", "{lines:#?}");
    let progress = lines.iter().find(|line| line["type"] == "call_progress").unwrap();
    assert_eq!(progress["message"], "helper: Read");
    let settled = lines.iter().find(|line| line["type"] == "call_settled").unwrap();
    let preview = settled["preview"].as_str().unwrap();
    assert!(preview.contains("Its calls:\n- Read: done"), "{preview}");
    let all = runs(&agent);
    assert_eq!(all.len(), 2, "{all:#?}");
    let parent = all.iter().find(|run| run["sourceDetail"] == "run").unwrap();
    let child = all.iter().find(|run| run["sourceDetail"] != "run").unwrap();
    let detail = child["sourceDetail"].as_str().unwrap();
    assert!(detail.starts_with("helper word search of "), "{detail}");
    assert!(detail.contains(parent["runId"].as_str().unwrap()), "{detail}");
    assert!(preview.contains(child["runId"].as_str().unwrap()), "{preview}");
    assert!(record(&agent, child).contains("notes.txt"));
    agent.run(&["audit", "verify"]).ends(0);
}

// T6-09, POL-15: whatever a restricted agent's helpers are given and try, nothing is written or run.
#[test]
fn a_helper_is_never_stronger_than_its_parent() {
    let tries = json!({"toolCalls": [
        {"name": "Write", "arguments": {"file_path": "x", "content": "1"}},
        {"name": "Edit", "arguments": {"file_path": "seed.txt", "old_string": "a", "new_string": "b"}},
        {"name": "Bash", "arguments": {"command": "touch x"}},
        {"name": "Exec", "arguments": {"executable": "touch", "args": ["x"]}},
        {"name": "NodeRepl", "arguments": {"code": "require('fs').writeFileSync('x', '1')"}},
        {"name": "write", "arguments": {"file_path": "x", "content": "1"}},
        {"name": "Agent", "arguments": {"prompt": "write x", "tools": ["Write"]}},
    ]});
    let agent = agent(
        &[
            call("Agent", json!({"prompt": "write x", "tools": ["Write", "Bash", "Exec", "*"]})),
            tries.clone(),
            text("I could not."),
            call("Agent", json!({"prompt": "write x", "name": "writer"})),
            tries,
            text("I could not either."),
            text("nobody could"),
        ],
        json!({
            "inline": {"allowedTools": ["*"]},
            "definitions": [{"name": "writer", "description": "writes", "prompt": "Write.", "allowedTools": ["*"]}],
        }),
        json!({"disallowedTools": ["Write", "Edit", "Bash", "Exec", "NodeRepl"]}),
    );
    agent.write("seed.txt", "a\n");
    let (settled, last) = told(&agent);
    assert_eq!(last, "nobody could", "{settled:#?}");
    assert!(!agent.has("x") && agent.read("seed.txt") == "a\n");
    let first = settled[0]["preview"].as_str().unwrap();
    assert!(first.contains("It was not given Write: the run that asks doesn't have it either"), "{first}");
    assert_eq!(first.matches(": refused, ").count(), 7, "{first}");
    let children = runs(&agent).into_iter().filter(|run| run["sourceDetail"] != "run").collect::<Vec<_>>();
    assert_eq!(children.len(), 2);
    for child in &children {
        assert!(record(&agent, child).contains("tool_denied"), "the audit shows the refusals");
    }
}

// TOO-6: an operator can widen a helper, and only what the operator names; approvals still ask the parent's person.
#[test]
fn a_widened_helper_writes_and_a_rule_still_stands() {
    let script = |name: &str| {
        vec![
            call("Agent", json!({"prompt": "write it", "name": name})),
            call("Write", json!({"file_path": format!("{name}.txt"), "content": "done\n"})),
            text("ok"),
            text("end"),
        ]
    };
    let widened = json!({"definitions": [
        {"name": "writer", "description": "writes", "prompt": "Write.", "allowedTools": ["Write"]},
        {"name": "reader", "description": "reads", "prompt": "Read."},
    ]});
    let writes = agent(&script("writer"), widened.clone(), json!({}));
    told(&writes);
    assert_eq!(writes.read("writer.txt"), "done\n");
    let reads = agent(&script("reader"), widened.clone(), json!({}));
    let (settled, _) = told(&reads);
    assert!(
        !reads.has("reader.txt")
            && settled[0]["preview"].as_str().unwrap().contains("Write: refused, tool_denied")
    );
    let rules = json!({"approvals": {"rules": [{"tool": "Write", "decision": "ask"}]}});
    let asks = agent(&script("writer"), widened, rules);
    let (settled, _) = told(&asks);
    assert!(!asks.has("writer.txt"));
    assert!(
        settled[0]["preview"].as_str().unwrap().contains("Write: refused, approval_denied"),
        "{settled:#?}"
    );
}

// TOO-6: number and time are bounded, and the run goes on.
#[test]
fn helpers_are_bounded_in_number_time_and_turns() {
    let few = agent(
        &[
            call("Agent", json!({"prompt": "one"})),
            text("first"),
            call("Agent", json!({"prompt": "two"})),
            json!({"text": "end", "expect": [{"contains": "started 1 helpers", "isError": true}]}),
        ],
        json!({"maxPerTurn": 1}),
        json!({}),
    );
    assert_eq!(told(&few).1, "end");
    let slow = agent(
        &[
            call("Agent", json!({"prompt": "think long"})),
            json!({"text": "too late", "delayMs": 60_000}),
            json!({"text": "end", "expect": [{"contains": "longer than 1000 ms", "isError": true}]}),
        ],
        json!({"timeoutMs": 1000}),
        json!({}),
    );
    let begun = Instant::now();
    let (settled, last) = told(&slow);
    assert_eq!((last.as_str(), &settled[0]["code"]), ("end", &json!("helper_timed_out")));
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let looks = agent(
        &[
            call("Agent", json!({"prompt": "look"})),
            call("Glob", json!({"pattern": "*.md"})),
            json!({"text": "end", "expect": [{"contains": "Glob: done", "isError": true}]}),
        ],
        json!({"maxTurns": 1}),
        json!({}),
    );
    let (settled, last) = told(&looks);
    assert_eq!((last.as_str(), &settled[0]["code"]), ("end", &json!("helper_failed")), "{settled:#?}");
}

// TOO-6, ENG-7: Ctrl-C stops the helper with its parent, and both have their end in the log.
#[test]
fn a_cancelled_turn_takes_its_helper_along() {
    let agent = agent(
        &[
            call("Agent", json!({"prompt": "wait", "name": "waiter"})),
            call("Bash", json!({"command": "echo $$ > pid; sleep 300"})),
            text("never"),
        ],
        json!({"definitions": [
            {"name": "waiter", "description": "waits", "prompt": "Wait.", "allowedTools": ["Bash"]},
        ]}),
        json!({}),
    );
    let child = agent.command(&["run", "go", "--json"]).spawn().unwrap();
    eventually(Duration::from_secs(60), || agent.has("pid"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let begun = Instant::now();
    child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let all = runs(&agent);
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|run| run["status"] == "cancelled"), "{all:#?}");
}

// POL-5, POL-12: both switches are needed, and a slip in a helper's lists is an error at its place.
#[test]
fn both_switches_are_needed_and_faults_have_a_place() {
    let off = Agent::scripted(&[text("hi")], json!({}));
    let row = off.explained("Agent");
    assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("capability")), "{row}");
    let named = Agent::scripted(&[text("hi")], json!({"tools": {"allowedTools": ["Read", "Agent"]}}));
    assert!(named.run(&["validate"]).stdout.contains("subagents.enabled"), "half a switch is named");
    let denied = agent(&[text("hi")], json!({}), json!({"disallowedTools": ["Agent"]}));
    assert_eq!(denied.explained("Agent")["by"], "policy");
    assert!(
        denied.run(&["validate"]).stdout.contains("subagents.enabled is on, but"),
        "half a switch is named"
    );
    let slip = json!({"definitions": [
        {"name": "a", "description": "a", "prompt": "a", "allowedTools": ["Raed"]},
        {"name": "b", "description": "b", "promptPath": "missing.md"},
        {"name": "A", "description": "c", "prompt": "c"},
    ]});
    let answer = agent(&[text("hi")], slip, json!({})).run(&["validate"]).ends(1);
    for said in [
        "definitions[0].allowedTools[0]",
        "mono-agent.config.json:",
        "`Read`",
        "missing.md",
        "two helpers are named A",
    ] {
        assert!(answer.stdout.contains(said), "{said}: {}", answer.stdout);
    }
    // A process without a model says so.
    let on = agent(&[text("hi")], json!({}), json!({}));
    assert_eq!(on.call("Agent", json!({"prompt": "x"}))["code"], "no_model");
    for (arguments, code) in [
        (json!({"prompt": "x", "name": "nobody"}), "unknown_helper"),
        (json!({"prompt": "x", "tool": "Read"}), "invalid_arguments"),
    ] {
        assert_eq!(on.call("Agent", arguments)["code"], code);
    }
}
