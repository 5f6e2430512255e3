//! MCP servers: what the client adds to a call, sealing many tools, cold starts, and what is left behind.
//!
//! The server is this program itself ([`SERVER`]), so that a call costs next to nothing on the other side.

mod plain;

use crate::process::{binary, own_memory};
use crate::row::{Row, median};
use host_mcp::{DefinitionCache, McpPool, McpServerConfig, MemoryCache, PoolOptions, Refresh};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::kept::KeepNothing;
use host_surface::{CallRequest, GatePorts, Surface, seal};
use host_testkit::{Answers, facts};
use host_vocab::ServerName;
use plain::{NoHttp, PlainSpawn};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The argument that makes this program a server; the next one is how many tools it has, the third how large each
/// schema is, in bytes.
pub const SERVER: &str = "__mcp-server";

const CALLS: usize = 3_000;
const SERVERS: usize = 50;
const TOOLS: usize = 100;
const SCHEMA_BYTES: usize = 2_048;

/// The server: answers line by line until its input ends.
pub fn serve(tools: usize, schema_bytes: usize) {
    let mut out = std::io::stdout().lock();
    let schema = schema(schema_bytes);
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = request.get("id") else { continue };
        let params = &request["params"];
        let answer = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"}}}),
            "tools/list" => {
                json!({"result": {"tools": (0..tools).map(|n| tool(n, &schema)).collect::<Vec<_>>()}})
            }
            "tools/call" => {
                json!({"result": {"content": [{"type": "text", "text": params["arguments"]["text"]}]}})
            }
            "ping" => json!({"result": {}}),
            _ => json!({"error": {"code": -32601, "message": "unknown method"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// A schema of about the wished size.
fn schema(bytes: usize) -> Value {
    let mut properties = json!({"text": {"type": "string", "description": "What comes back."}});
    for n in 0..bytes.saturating_sub(150) / 92 {
        properties[format!("field_{n}")] =
            json!({"type": "string", "description": "One of several words that say what it is."});
    }
    json!({"type": "object", "properties": properties, "required": ["text"]})
}

fn tool(n: usize, schema: &Value) -> Value {
    json!({"name": format!("echo_{n}"), "description": "Gives back what it was given.", "inputSchema": schema})
}

fn this_program() -> String {
    std::env::current_exe().expect("this program has a path").to_string_lossy().into_owned()
}

fn config(name: &str, tools: usize, schema_bytes: usize) -> McpServerConfig {
    let name = ServerName::parse(name).expect("a short name");
    let args = [SERVER, &tools.to_string(), &schema_bytes.to_string()];
    let config = McpServerConfig::stdio(name, this_program(), &args, std::env::temp_dir());
    // A debug build takes its time to look through 5,000 schemas.
    McpServerConfig { timeout: Duration::from_secs(600), ..config }
}

fn pool(servers: Vec<McpServerConfig>, cache: Option<Arc<dyn DefinitionCache>>) -> McpPool {
    let options = PoolOptions { cache, refresh: Refresh::Never, ..PoolOptions::default() };
    McpPool::new(servers, Arc::new(PlainSpawn), Arc::new(NoHttp), options)
}

async fn surface(pool: &McpPool) -> Surface {
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(60),
    };
    seal(&pool.sources(), &ToolPolicy::allow_all(), Arc::new(ApprovalRules::default()), facts(), ports)
        .await
        .expect("names differ")
}

/// A call through pool, surface and gate, without a record, in µs.
async fn ours() -> f64 {
    let pool = pool(vec![config("bench", 1, 0)], None);
    let surface = surface(&pool).await;
    let mut figures = Vec::with_capacity(CALLS);
    for n in 0..CALLS + 200 {
        let request = CallRequest::new("mcp__bench__echo_0", json!({"text": format!("word {n}")}));
        let begun = Instant::now();
        let settled = surface.call(request).await;
        let took = begun.elapsed().as_secs_f64() * 1e6;
        assert!(!settled.is_error(), "{}", settled.text());
        if n >= 200 {
            figures.push(took);
        }
    }
    pool.shutdown().await;
    median(figures)
}

/// The same call by a bare `rmcp` client.
async fn bare() -> f64 {
    let mut command = tokio::process::Command::new(this_program());
    command.args([SERVER, "1", "0"]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("it starts");
    let pipes = (child.stdout.take().expect("piped"), child.stdin.take().expect("piped"));
    let client = ().serve(pipes).await.expect("it shakes hands");
    let mut figures = Vec::with_capacity(CALLS);
    for n in 0..CALLS + 200 {
        let mut params = CallToolRequestParams::new("echo_0");
        params.arguments = json!({"text": format!("word {n}")}).as_object().cloned();
        let begun = Instant::now();
        let result = client.call_tool(params).await.expect("it answers");
        let took = begun.elapsed().as_secs_f64() * 1e6;
        assert!(result.is_error != Some(true));
        if n >= 200 {
            figures.push(took);
        }
    }
    let _ = client.cancel().await;
    median(figures)
}

/// 5,000 tools of 50 servers out of the cache: the first seal (which reads it), a later one, and what both took of
/// memory; in ms and MB.
async fn many() -> (f64, f64, f64) {
    let cache = Arc::new(MemoryCache::default());
    let all = || (0..SERVERS).map(|n| config(&format!("s{n}"), TOOLS, SCHEMA_BYTES)).collect::<Vec<_>>();
    let filling = pool(all(), Some(Arc::clone(&cache) as _));
    filling.discover().await;
    filling.shutdown().await;
    drop(filling);
    // The cache of a real agent is on disk, so its own bytes are not counted: they are there before and after.
    let before = own_memory("VmRSS:");
    let pool = pool(all(), Some(cache));
    let begun = Instant::now();
    let first = surface(&pool).await;
    let cold = begun.elapsed().as_secs_f64() * 1e3;
    assert!(first.names().count() > SERVERS * TOOLS, "{}", first.names().count());
    let mut figures = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let again = surface(&pool).await;
        figures.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(again);
    }
    let memory = own_memory("VmRSS:") - before;
    pool.shutdown().await;
    (cold, median(figures), memory)
}

/// An agent's folder with a scripted model and some of these servers.
fn agent(folder: &Path, script: &[Value], servers: usize) {
    let lines: Vec<String> = script.iter().map(Value::to_string).collect();
    std::fs::write(folder.join("answers.jsonl"), lines.join("\n") + "\n").expect("room");
    std::fs::write(folder.join("IDENTITY.md"), "You answer.\n").expect("room");
    let entry = json!({"command": this_program(), "args": [SERVER, "10", "2048"], "sandbox": "off"});
    let named = (0..servers).map(|n| (format!("s{n}"), entry.clone())).collect::<serde_json::Map<_, _>>();
    let config = json!({"runtime": {"model": "scripted:answers.jsonl"}, "context": {"identityPath": "IDENTITY.md"},
        "tools": {"mcpServers": named}});
    std::fs::write(folder.join("mono-agent.config.json"), config.to_string()).expect("room");
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(args).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// How long a fresh process takes until its model is asked: the first line of `run --json`, in ms.
fn first_prompt(folder: &Path, times: usize) -> f64 {
    let figures = (0..times + 3)
        .map(|_| {
            let begun = Instant::now();
            let mut child =
                command(folder, &["run", "--local", "--json", "What is it?"]).spawn().expect("it starts");
            let mut line = String::new();
            BufReader::new(child.stdout.take().expect("piped"))
                .read_line(&mut line)
                .expect("it says something");
            let took = begun.elapsed().as_secs_f64() * 1e3;
            assert!(line.contains("run_started"), "{line}");
            let _ = child.wait();
            took
        })
        .collect::<Vec<_>>();
    median(figures[3..].to_vec())
}

/// The added time of ten servers whose definitions are cached, and the time without any.
fn cold_start() -> (f64, f64) {
    let (with, without) = (
        tempfile::tempdir_in(".").expect("a folder here"),
        tempfile::tempdir_in(".").expect("a folder here"),
    );
    let script = [json!({"text": "forty-two"})];
    agent(with.path(), &script, 10);
    agent(without.path(), &script, 0);
    // Fills the cache; definitions of the last minute are not read anew.
    let filled = command(with.path(), &["tools", "--json"]).output().expect("it starts");
    assert!(filled.status.success(), "the servers can be listed");
    let plain = first_prompt(without.path(), 15);
    (first_prompt(with.path(), 15) - plain, plain)
}

/// Runs that call two servers each, every tenth killed in the middle; gives how many there were and how many of their
/// processes are left.
fn leftovers() -> (usize, usize) {
    let runs = std::env::var("HOST_BENCH_MCP_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(1_000);
    let folder = tempfile::tempdir_in(".").expect("a folder here");
    let call = |server: &str| json!({"name": format!("mcp__{server}__echo_0"), "arguments": {"text": "x"}});
    let script = [json!({"toolCalls": [call("s0"), call("s1")]}), json!({"text": "done"})];
    agent(folder.path(), &script, 2);
    for n in 0..runs {
        let mut child =
            command(folder.path(), &["run", "--local", "--json", "go"]).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let mut called = false;
        for line in lines {
            called |= line.contains("call_settled");
            if called && n % 10 == 9 {
                let _ = child.kill();
                break;
            }
        }
        let status = child.wait().expect("it ends");
        assert!(n % 10 == 9 || (called && status.success()), "run {n} failed");
    }
    std::thread::sleep(Duration::from_secs(3));
    let mark = folder.path().to_string_lossy().into_owned();
    let left = std::fs::read_dir("/proc").expect("a Linux system").flatten().filter(|entry| {
        let read = |what: &str| std::fs::read(entry.path().join(what)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).into_owned();
        let here = String::from_utf8_lossy(&read("environ")).contains(&mark)
            || std::fs::read_link(entry.path().join("cwd")).is_ok_and(|it| it.starts_with(&mark));
        line.contains(SERVER) && here
    });
    (runs, left.count())
}

pub fn run() -> Vec<Row> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    // Twice each, turn about, so that a warm machine favours nobody.
    let (first, second) = (runtime.block_on(bare()), runtime.block_on(ours()));
    let (peer, mine) = (first.min(runtime.block_on(bare())), second.min(runtime.block_on(ours())));
    let (cold, warm, memory) = runtime.block_on(many());
    let (added, plain) = cold_start();
    let (runs, left) = leftovers();
    let files = format!("{SERVERS} servers, {} tools of {SCHEMA_BYTES} bytes", SERVERS * TOOLS);
    vec![
        Row::beside("mcp", "a tool call through the client, p50", mine, "µs", "a bare rmcp client", peer)
            .bound(&format!("≤ +100 µs; now {:+.0}", mine - peer)),
        Row::beside("mcp", "sealing, definitions known", warm, "ms", &files, 20.0).bound("≤ 20 ms"),
        Row::beside("mcp", "the first sealing, which reads the cache", cold, "ms", &files, 20.0)
            .bound("≤ 20 ms"),
        Row::beside("mcp", "memory of both", memory, "MB", &files, 40.0).bound("≤ 40 MB"),
        Row::beside(
            "mcp",
            "10 cached servers, added to the first prompt",
            added,
            "ms",
            "without servers",
            plain,
        )
        .bound("≤ 5 ms"),
        Row::beside(
            "mcp",
            &format!("processes left by {runs} runs"),
            left as f64,
            "",
            "two servers each",
            0.0,
        )
        .bound("0"),
    ]
}
