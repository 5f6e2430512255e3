//! Servers in the real sandbox, with what MCP-6 promises them and nothing else.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    reason = "the tests lay out files for the servers and look at processes"
)]

mod support;

use host_mcp::{McpPool, McpServerConfig, PoolOptions};
use host_net::{NetHttp, NetSettings};
use host_ports::kept::KeepNothing;
use host_ports::spawn::Confine;
use host_sandbox::{Broker, HostEnvironment, Sandbox, SandboxPolicy, SandboxSetup, TraceEgress};
use host_surface::How;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use support::published::{npm, pypi};
use support::*;

struct Agent {
    folder: tempfile::TempDir,
}

impl Agent {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        std::fs::write(folder.path().join("secret"), "SECRET-MARK").unwrap();
        Agent { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn pool(&self, mut servers: Vec<McpServerConfig>) -> McpPool {
        let host = host_env();
        let setup = SandboxSetup {
            policy: SandboxPolicy::native(self.path("workspace")),
            environment: HostEnvironment {
                path: host["PATH"].clone(),
                home: host.get("HOME").cloned().unwrap_or_default(),
                lang: "C.UTF-8".to_owned(),
                tmpdir: String::new(),
            },
            state: Some(self.path("state")),
            hidden: Vec::new(),
            keep: Arc::new(KeepNothing),
            egress: Arc::new(TraceEgress),
            broker: Broker::default(),
        };
        let homes = self.path("homes");
        for server in &mut servers {
            stdio_of(server).cwd = self.path("workspace");
            server.timeout = Duration::from_secs(60);
            std::fs::create_dir_all(homes.join(server.name.as_str())).unwrap();
        }
        let mut host_env: BTreeMap<String, String> = host;
        host_env.insert("OPENAI_API_KEY".into(), "CANARY".into());
        let options = PoolOptions { host_env, homes: Some(homes), ..PoolOptions::default() };
        let net = NetHttp::new(NetSettings::default());
        McpPool::new(servers, Arc::new(Sandbox::new(setup).unwrap()), Arc::new(net), options)
    }
}

// MCP-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn published_servers_run_in_the_sandbox() {
    let agent = Agent::new();
    std::fs::write(agent.path("workspace/note.txt"), "FILE-MARK").unwrap();
    let workspace = agent.path("workspace");
    let pool = agent.pool(vec![
        npm("everything", "mcp-server-everything", &[]),
        npm("files", "mcp-server-filesystem", &[workspace.to_str().unwrap()]),
        npm("memory", "mcp-server-memory", &[]),
        pypi("time", "mcp-server-time", &[]),
    ]);
    let surface = surface(&pool).await;
    for status in pool.status() {
        assert!(status.offered > 0, "{status:?}");
    }
    let settled =
        call(&surface, "mcp__files__read_text_file", json!({"path": workspace.join("note.txt")})).await;
    assert!(settled.text().contains("FILE-MARK"), "{settled:?}");
    let settled = call(&surface, "mcp__everything__get-env", json!({})).await;
    assert!(!settled.text().contains("CANARY"), "{}", settled.text());
    assert!(settled.text().contains(agent.path("homes/everything").to_str().unwrap()), "{}", settled.text());
    let settled = call(&surface, "mcp__time__get_current_time", json!({"timezone":"UTC"})).await;
    assert_eq!(settled.how, How::Done, "{settled:?}");
    let pids: Vec<u32> = pool.status().iter().filter_map(|it| it.pid).collect();
    pool.shutdown().await;
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "MCP-8");
}

// MCP-6, MCP-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_reaches_its_own_home_and_nothing_of_the_host() {
    let agent = Agent::new();
    let marker = agent.path("workspace/child.pid");
    let script = "import os,sys\n\
        home=os.environ['HOME']\n\
        open(os.path.join(home,'kept'),'w').write('x')\n\
        def seen(path):\n    \
            try: return open(path).read()\n    \
            except OSError as error: return type(error).__name__\n\
        sys.stderr.write('secret: '+seen(sys.argv[1])+'; env: '+str('OPENAI_API_KEY' in os.environ))\n\
        sys.exit(9)\n";
    let secret = agent.path("secret");
    let mut looker = hostile("looker", &[]);
    stdio_of(&mut looker).args = vec!["-c".into(), script.into(), secret.to_str().unwrap().into()];
    let mut forks = hostile("forks", &["child", marker.to_str().unwrap()]);
    forks.confine = Confine::Sandbox {
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        network: Some("none".into()),
    };
    let pool = agent.pool(vec![looker, forks]);
    let surface = surface(&pool).await;
    let (_, why) = withheld(&surface, "mcp__looker__*").unwrap();
    assert!(
        why.contains("exit code 9") && why.contains("FileNotFoundError") && why.contains("env: False"),
        "{why}"
    );
    assert!(agent.path("homes/looker/kept").exists(), "the home is writable and stays");
    assert_eq!(call(&surface, "mcp__forks__ping", json!({})).await.text(), "pong");
    let pid = pool.status().iter().find_map(|it| it.pid).unwrap();
    pool.shutdown().await;
    assert!(!is_alive(pid));
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker.to_str().unwrap())
    });
    assert!(!left, "the grandchild of the server is gone too");
}

// MCP-6: a start that fails for a blocked folder names the setting to add.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_folder_names_the_setting() {
    let agent = Agent::new();
    let mut blocked = hostile("blocked", &[]);
    stdio_of(&mut blocked).args = vec!["-c".into(), "open('/usr/lib/x','w')".into()];
    let pool = agent.pool(vec![blocked]);
    let (_, why) = withheld(&surface(&pool).await, "mcp__blocked__*").unwrap();
    assert!(why.contains("sandbox.writableRoots"), "{why}");
    pool.shutdown().await;
}
