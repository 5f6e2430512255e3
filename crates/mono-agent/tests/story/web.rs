//! The web console over the built program: a real host, a real socket, HTTP as a browser speaks it.

use super::agent::{Agent, eventually};
use super::hosts::host;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

struct Console {
    child: Child,
    host: String,
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `web` on a free port.
fn console(agent: &Agent) -> Console {
    let mut command = agent.command(&["web", "--port", "0", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let host = told["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/').to_owned();
    Console { child, host }
}

impl Console {
    /// One request as the console's own page sends it; status and body.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        ask(&self.host, method, path, body)
    }

    fn conversation(&self, thread: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut seen = Value::Null;
        eventually(Duration::from_secs(20), || {
            seen = self.ask("GET", &format!("/threads/{thread}"), &Value::Null).1;
            fits(&seen)
        });
        seen
    }
}

fn ask(host: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nX-Mono-Agent-Console: 1\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

// WEB-1, WEB-3, TOO-9
#[test]
fn a_conversation_in_the_console_asks_runs_and_is_found_again() {
    let agent = Agent::scripted(
        &[
            json!({"text": "Let me see.", "toolCalls": [{"name": "Read", "arguments": {"file_path": "notes.txt"}}]}),
            json!({"text": "The word is heron.", "expect": [{"contains": "heron"}]}),
            json!({"toolCalls": [{"name": "Bash", "arguments": {"command": "echo secret > made.txt"}}]}),
            json!({"text": "It was not allowed.", "expect": [{"isError": true}]}),
        ],
        json!({"agent": {"name": "Atlas"}, "tools": {"approvals": {"rules": [{"tool": "Bash", "decision": "ask"}]}}}),
    );
    agent.write("notes.txt", "the code word is heron\n");
    let _host = host(&agent);
    let console = console(&agent);
    let (_, bootstrap) = console.ask("GET", "/bootstrap", &Value::Null);
    let atlas = &bootstrap["agents"][0];
    assert_eq!((&atlas["name"], &atlas["state"]), (&json!("Atlas"), &json!("online")), "{bootstrap}");
    let id = atlas["id"].as_str().unwrap();
    let (status, thread) = console.ask("POST", "/threads", &json!({"agentId": id}));
    assert_eq!(status, 201);
    let thread = thread["id"].as_str().unwrap().to_owned();
    let send = |n: u8, text: &str| {
        let body = json!({"id": format!("00000000-0000-4000-8000-0000000000{n:02}"), "text": text});
        console.ask("POST", &format!("/threads/{thread}/submissions"), &body)
    };
    assert_eq!(send(1, "What is the word?").0, 202);
    let seen = console.conversation(&thread, |it| it["messages"][1]["status"] == "succeeded");
    let answer = &seen["messages"][1];
    assert_eq!(answer["text"], "The word is heron.");
    let call = &answer["activity"][1];
    assert_eq!(
        (&call["tool"], &call["state"], &call["allowed"]["how"]),
        (&json!("Read"), &json!("done"), &json!("policy"))
    );
    // The whole call comes from the agent's log.
    let (message, call) = (answer["id"].as_str().unwrap(), call["id"].as_str().unwrap());
    let (_, whole) =
        console.ask("GET", &format!("/threads/{thread}/messages/{message}/calls/{call}"), &Value::Null);
    assert!(whole["result"].as_str().unwrap().contains("heron"), "{whole}");
    // A question, answered with no.
    assert_eq!(send(2, "write it down").0, 202);
    let seen = console.conversation(&thread, |it| it["asks"][0]["state"] == "open");
    let ask = seen["asks"][0]["id"].as_str().unwrap();
    let path = format!("/threads/{thread}/asks/{ask}/answer");
    assert_eq!(console.ask("POST", &path, &json!({"decision": "deny"})).0, 200);
    let seen = console.conversation(&thread, |it| it["messages"][3]["status"] == "succeeded");
    assert_eq!(seen["messages"][3]["activity"][0]["state"], "refused");
    assert!(!agent.has("made.txt"));
    // The same run in the agent's own history, and the words in the console's.
    let (_, runs) = console.ask("GET", &format!("/agents/{id}/runs?limit=1"), &Value::Null);
    assert_eq!(runs["runs"][0]["source"], "web");
    let (_, found) = console.ask("GET", "/search?q=heron", &Value::Null);
    assert_eq!(found["threads"][0]["thread"]["id"], thread.as_str());
    let (_, explained) = console.ask("GET", &format!("/agents/{id}/explain"), &Value::Null);
    assert!(explained["text"].as_str().unwrap().contains("offered, asks first"));
    for view in ["servers", "config", "audit", "report", "tools"] {
        let (status, shown) = console.ask("GET", &format!("/agents/{id}/{view}"), &Value::Null);
        assert_eq!(status, 200, "{view}: {shown}");
    }
    assert_eq!(console.ask("GET", &format!("/agents/{id}/memory"), &Value::Null).0, 501, "it has no memory");
    // The console ends and comes back: everything is still there.
    drop(console);
    let console = self::console(&agent);
    let (_, listed) = console.ask("GET", "/threads", &Value::Null);
    assert_eq!(listed["threads"][0]["title"], "What is the word?");
    // The agent ends: its conversations stay, and nothing is sent.
    agent.run(&["stop"]).ends(0);
    eventually(Duration::from_secs(15), || {
        console.ask("GET", "/agents", &Value::Null).1["agents"][0]["state"] == "offline"
    });
    let body = json!({"id": "00000000-0000-4000-8000-000000000009", "text": "hello?"});
    let (status, refused) = console.ask("POST", &format!("/threads/{thread}/submissions"), &body);
    assert_eq!((status, &refused["error"]["code"]), (503, &json!("agent_offline")));
}

// RET-4: an answer of 3 MB goes through frames of 256 KiB.
#[test]
fn a_long_answer_comes_whole() {
    let long: String = "0123456789abcdef".repeat(190 * 1024);
    let agent = Agent::scripted(&[json!({"text": long})], json!({}));
    let _host = host(&agent);
    let answer = agent.run(&["run", "go"]).ends(0);
    assert_eq!(answer.stdout.trim().len(), long.len(), "to the command line too");
}

// WEB-1, CLI-1
#[test]
fn a_host_serves_its_own_console_and_says_where() {
    let agent = Agent::scripted(&[json!({"text": "hello"})], json!({}));
    agent.run(&["start", "--detach", "--web-port", "0"]).ends(0);
    let mut host = String::new();
    eventually(Duration::from_secs(20), || {
        let status = agent.run(&["status", "--json"]).ends(0).json();
        let channels = status["channels"].as_array().unwrap().clone();
        let web = channels.into_iter().find(|it| it["name"] == "web");
        host = web.map_or_else(String::new, |it| it["detail"].as_str().unwrap().to_owned());
        !host.is_empty()
    });
    let host = host.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let (status, told) = ask(&host, "GET", "/bootstrap", &Value::Null);
    assert_eq!((status, told["agents"].as_array().unwrap().len()), (200, 1));
    agent.run(&["stop"]).ends(0);
    assert!(TcpStream::connect(&host).is_err());
    // It can't be had beyond this machine by a slip.
    let refused = agent.run(&["web", "--host", "0.0.0.0", "--json"]).ends(2).json();
    assert_eq!(refused["error"]["code"], "non_loopback");
}

// REP-1, REP-2, REP-6, QUI-1, RES-1, TIT-1, TOO-6, OUT-5
#[test]
fn a_reply_carries_files_suggestions_a_proposal_and_a_title() {
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let questions = json!({"questions": [{"header": "Format", "question": "Which?", "options": [
        {"label": "CSV", "description": "a table"}, {"label": "PDF", "description": "to print"}]}]});
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [call("AskUser", questions), call("SetConversationTitle", json!({"title": "The report"}))]}),
            json!({"expect": [{"contains": "CSV"}], "text": "Here it is.", "toolCalls": [
                call("PublishReplyFile", json!({"path": "../../etc/passwd", "name": "r.csv", "mediaType": "text/csv"})),
                call("PublishReplyFile", json!({"path": "r.csv", "name": "r.csv", "mediaType": "text/csv"})),
                call("SuggestReplies", json!({"options": ["Thanks", "More"]})),
                call("ProposeRestart", json!({"reason": "New settings."}))]}),
            json!({"text": "Anything else?"}),
        ],
        json!({}),
    );
    agent.write("r.csv", "a,b\n1,2\n");
    let _host = host(&agent);
    let console = console(&agent);
    let id = console.ask("GET", "/bootstrap", &Value::Null).1["agents"][0]["id"].as_str().unwrap().to_owned();
    let thread =
        console.ask("POST", "/threads", &json!({"agentId": id})).1["id"].as_str().unwrap().to_owned();
    let body = json!({"id": "00000000-0000-4000-8000-000000000001", "text": "the report"});
    console.ask("POST", &format!("/threads/{thread}/submissions"), &body);
    let seen = console.conversation(&thread, |it| it["asks"][0]["kind"] == "askUser");
    let ask = seen["asks"][0]["id"].as_str().unwrap().to_owned();
    let answers = json!({"answers": [{"selected": ["CSV"]}]});
    assert_eq!(console.ask("POST", &format!("/threads/{thread}/asks/{ask}/answer"), &answers).0, 200);
    let seen = console.conversation(&thread, |it| it["messages"][1]["status"] == "succeeded");
    let answer = &seen["messages"][1];
    assert_eq!(answer["text"], "Here it is.\n\nAnything else?");
    assert_eq!(seen["thread"]["title"], "The report");
    let kinds: Vec<&str> =
        answer["parts"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["attachment", "reply_options", "restart_proposal"],
        "the rejected attempt gave way: {answer}"
    );
    let file = &answer["parts"][0];
    assert_eq!((&file["name"], &file["sizeBytes"]), (&json!("r.csv"), &json!(8)));
    let (message, part) = (answer["id"].as_str().unwrap(), file["id"].as_str().unwrap());
    let path = format!("/threads/{thread}/messages/{message}/files/{part}");
    assert_eq!(console.ask("GET", &path, &Value::Null).0, 200);
    // Another byte on the disk, and nothing is sent.
    let copy = agent.path().join(".mono-agent/artifacts/reply-files/live").join(part).join("file");
    std::fs::write(copy, "a,b\n1,3\n").unwrap();
    let (status, damaged) = console.ask("GET", &path, &Value::Null);
    assert_eq!((status, &damaged["error"]["code"]), (410, &json!("artifact_integrity_failed")));
    // The proposal counts for this process: confirmed, it is restarted, and then it is old.
    let proposal = answer["parts"][2]["id"].as_str().unwrap().to_owned();
    let restart = format!("/threads/{thread}/messages/{message}/restart");
    assert_eq!(console.ask("POST", &restart, &json!({"partId": proposal})).0, 202);
    let (status, told) = console.ask("POST", &restart, &json!({"partId": proposal}));
    assert_eq!((status, &told["error"]["code"]), (409, &json!("proposal_inert")), "it is confirmed once");
    eventually(Duration::from_secs(60), || {
        console.ask("GET", "/agents", &Value::Null).1["agents"][0]["generation"] == 2
    });
}

// ENG-8, TOO-9
#[test]
fn a_running_turn_reads_a_follow_up_and_always_is_kept_listed_and_taken_back() {
    let push = || json!({"name": "Bash", "arguments": {"command": "echo pushed"}});
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [push()]}),
            json!({"text": "I read it."}),
            json!({"toolCalls": [push()]}),
            json!({"text": "Again."}),
        ],
        json!({"tools": {"approvals": {"rules": [{"tool": "Bash", "decision": "ask"}]}}}),
    );
    let _host = host(&agent);
    let console = console(&agent);
    let id = console.ask("GET", "/bootstrap", &Value::Null).1["agents"][0]["id"].as_str().unwrap().to_owned();
    let thread =
        console.ask("POST", "/threads", &json!({"agentId": id})).1["id"].as_str().unwrap().to_owned();
    let send = |n: u8, text: &str| {
        let body = json!({"id": format!("00000000-0000-4000-8000-0000000000{n:02}"), "text": text});
        console.ask("POST", &format!("/threads/{thread}/submissions"), &body).1
    };
    send(1, "push");
    let seen = console.conversation(&thread, |it| it["asks"][0]["state"] == "open");
    assert_eq!(send(2, "and be quick")["followUp"]["state"], "pending");
    let ask = &seen["asks"][0];
    assert_eq!(ask["always"], r#"{"tool":"Bash","command":"echo pushed","decision":"allow"}"#);
    let path = format!("/threads/{thread}/asks/{}/answer", ask["id"].as_str().unwrap());
    assert_eq!(console.ask("POST", &path, &json!({"decision": "always"})).0, 200);
    let seen = console.conversation(&thread, |it| it["messages"][1]["status"] == "succeeded");
    let said = seen["messages"].as_array().unwrap().iter().find(|it| it["steered"] == true);
    assert_eq!(said.unwrap()["text"], "and be quick");
    assert_eq!(seen["messages"][1]["activity"][0]["allowed"]["how"], "always");
    // Not asked again.
    send(3, "again");
    let done =
        |it: &Value| it["messages"].as_array().is_some_and(|all| all.last().unwrap()["text"] == "Again.");
    let seen = console.conversation(&thread, done);
    assert_eq!(seen["asks"], json!([]));
    let (_, rules) = console.ask("GET", &format!("/agents/{id}/approvals"), &Value::Null);
    let rule = rules["rules"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(agent.run(&["approvals", "--json"]).ends(0).json()["rules"][0]["addedBy"], "web");
    agent.run(&["approvals", "revoke", &rule]).ends(0);
    agent.run(&["approvals", "revoke", &rule]).ends(2);
    let (_, rules) = console.ask("GET", &format!("/agents/{id}/approvals"), &Value::Null);
    assert_eq!(rules["rules"], json!([]));
}
