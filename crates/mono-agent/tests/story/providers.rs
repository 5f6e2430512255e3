//! Providers over real sockets: a local endpoint that is found, one that can't be reached, a bad key, a
//! stream that breaks off.

use super::agent::Agent;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// A server that answers each path with a fixed response, until the test ends.
pub(super) fn endpoint(answer: fn(&str, &str) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, answer));
        }
    });
    format!("http://{address}/v1")
}

fn serve(mut stream: TcpStream, answer: fn(&str, &str) -> String) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let path = line.split_whitespace().nth(1).unwrap_or("").to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let _ = stream.write_all(answer(&path, &String::from_utf8_lossy(&body)).as_bytes());
}

pub(super) fn http(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

pub(super) fn stream_of(pieces: &[serde_json::Value], done: bool) -> String {
    let mut body: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    if done {
        body.push_str("data: [DONE]\n\n");
    }
    http("200 OK", "text/event-stream", &body)
}

pub(super) fn delta(delta: serde_json::Value, finish: serde_json::Value) -> serde_json::Value {
    json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// Calls Read once, then answers from its result.
fn good(path: &str, body: &str) -> String {
    if path.ends_with("/models") {
        return http("200 OK", "application/json", &json!({"data": [{"id": "tiny"}]}).to_string());
    }
    // A question without a stream finds out whether tools reach the model.
    if !body.contains("\"stream\":true") {
        let call = json!({"id": "c0", "type": "function", "function": {"name": "probe", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let answer =
            json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        return http("200 OK", "application/json", &answer.to_string());
    }
    if body.contains("heron\"") || body.contains("heron\\n") || body.contains("the code word is heron") {
        return stream_of(
            &[delta(json!({"content": "It is heron."}), json!(null)), delta(json!({}), json!("stop"))],
            true,
        );
    }
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
        "function": {"name": "Read", "arguments": "{\"file_path\": \"notes.txt\"}"}}]});
    stream_of(&[delta(call, json!(null)), delta(json!({}), json!("tool_calls"))], true)
}

fn provider(url: &str) -> serde_json::Value {
    json!({
        "runtime": {"model": "mine:tiny", "retry": {"primaryAttempts": 1}},
        "providers": {"mine": {"type": "openai_compat", "baseUrl": url, "apiKeyEnv": "MINE_KEY", "toolCalling": "native"}},
    })
}

fn agent(url: &str) -> Agent {
    let mut agent = Agent::scripted(&[json!({"text": "unused"})], provider(url));
    agent.env = vec![("MINE_KEY".into(), "sk-mine-0123456789abcdefghij".into())];
    agent.write("notes.txt", "the code word is heron\n");
    agent
}

// ENG-5
#[test]
fn with_nothing_configured_a_local_endpoint_is_used_and_named() {
    let mut agent = Agent::empty();
    agent.write("notes.txt", "the code word is heron\n");
    agent.env = vec![("MONO_AGENT_LOCAL_ENDPOINT".into(), endpoint(good))];
    let answer = agent.run(&["run", "What is the code word in notes.txt?"]).ends(0);
    assert!(
        answer.stderr.contains("local:tiny") && answer.stderr.contains("runtime.model"),
        "{}",
        answer.stderr
    );
}

// ENG-2
#[test]
fn a_configured_endpoint_calls_a_tool_and_answers() {
    let answer = agent(&endpoint(good)).run(&["run", "What is the code word?"]).ends(0);
    assert_eq!(answer.stdout.trim(), "It is heron.", "{}", answer.stderr);
}

#[test]
fn an_endpoint_that_cannot_be_reached_is_named() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answer = agent(&format!("http://{closed}/v1")).run(&["run", "hi"]).ends(1);
    assert!(answer.stderr.contains(&closed.to_string()), "{}", answer.stderr);
    assert!(answer.stderr.contains("refused"), "{}", answer.stderr);
}

#[test]
fn a_bad_key_is_told_without_the_key() {
    let url = endpoint(|_, _| {
        http(
            "401 Unauthorized",
            "application/json",
            "{\"error\": {\"message\": \"Incorrect API key provided: sk-mine-0123456789abcdefghij\"}}",
        )
    });
    let agent = agent(&url);
    let answer = agent.run(&["run", "hi"]).ends(1);
    assert!(answer.stderr.contains("provider_auth"), "{}", answer.stderr);
    for (path, bytes) in agent.state_bytes() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-mine-0123456789abcdefghij"), "the key is in {}", path.display());
    }
    assert!(!answer.stderr.contains("sk-mine-0123456789abcdefghij"), "{}", answer.stderr);
}

// T12-07 through the whole program
#[test]
fn a_stream_that_breaks_off_is_no_success_and_runs_no_half_call() {
    let cut_text =
        endpoint(|_, _| stream_of(&[delta(json!({"content": "half of an ans"}), json!(null))], false));
    let answer = agent(&cut_text).run(&["run", "hi"]).ends(1);
    assert!(answer.stderr.contains("only a part"), "{}", answer.stderr);
    let cut_call = endpoint(|_, _| {
        let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
            "function": {"name": "Write", "arguments": "{\"file_path\": \"x.txt\", \"content\": \"ha"}}]});
        stream_of(&[delta(call, json!(null))], false)
    });
    let agent = agent(&cut_call);
    agent.run(&["run", "hi"]).ends(1);
    assert!(!agent.has("x.txt"));
}
