//! The child process of one session, and the frames that it and the host exchange.

use host_ports::spawn::{Confine, Spawn, SpawnError, SpawnSpec, Spawned};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

/// What the child runs.
const SOURCE: &str = include_str!("child.js");
/// The largest frame, in bytes.
const FRAME_BYTES_MAX: usize = 24 * 1024 * 1024;
/// The longest header: token, a space, a length.
const HEADER_BYTES_MAX: usize = 80;

/// A session.
pub(super) struct Child {
    token: String,
    stdout: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    spawned: Parts,
}

struct Parts {
    stdin: Box<dyn tokio::io::AsyncWrite + Send + Unpin>,
    handle: Box<dyn host_ports::spawn::ChildHandle>,
    drain: tokio::task::JoinHandle<()>,
}

/// What an evaluation came to.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) value: Option<String>,
    pub(super) error: Option<String>,
    overflow: bool,
    ready: bool,
}

/// Why a session can't go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The process ended.
    Exit,
    /// Something else than frames came.
    Protocol,
    /// It printed too much.
    Overflow,
}

impl Child {
    /// Starts one and waits until it is ready.
    pub(super) async fn start(
        spawn: &dyn Spawn,
        workspace: PathBuf,
        mut env: BTreeMap<String, String>,
    ) -> Result<Self, SpawnError> {
        // Options from outside would change how the child itself is read.
        env.remove("NODE_OPTIONS");
        env.remove("NODE_REPL_EXTERNAL_MODULE");
        let spec = SpawnSpec {
            label: "node-repl".to_owned(),
            program: "node".to_owned(),
            args: vec!["-e".to_owned(), SOURCE.to_owned()],
            env,
            cwd: workspace,
            confine: Confine::Sandbox { read: Vec::new(), write: Vec::new(), own: Vec::new(), network: None },
        };
        let Spawned { stdin, stdout, mut stderr, handle, .. } = spawn.spawn(spec).await?;
        // Nothing is expected there; it must only never fill up.
        let drain = tokio::spawn(async move {
            let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        });
        let token =
            uuid::Uuid::new_v4().simple().to_string() + &uuid::Uuid::new_v4().simple().to_string()[..16];
        let mut child =
            Child { token, stdout: BufReader::new(stdout), spawned: Parts { stdin, handle, drain } };
        let hello = format!("{}\n", child.token);
        let failed = |_| SpawnError::Failed("it ended before it was ready".to_owned());
        child.write(hello.as_bytes()).await.map_err(failed)?;
        match child.read().await {
            Ok(answer) if answer.ready => Ok(child),
            _ => Err(SpawnError::Failed("it ended before it was ready".to_owned())),
        }
    }

    /// Evaluates code.
    pub(super) async fn evaluate(&mut self, code: &str) -> Result<Answer, Broken> {
        let body = json!({ "code": code }).to_string();
        let header = format!("{} {}\n", self.token, body.len());
        self.write(header.as_bytes()).await?;
        self.write(body.as_bytes()).await?;
        let answer = self.read().await?;
        if answer.overflow { Err(Broken::Overflow) } else { Ok(answer) }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.spawned.stdin.write_all(bytes).await.map_err(|_| Broken::Exit)?;
        self.spawned.stdin.flush().await.map_err(|_| Broken::Exit)
    }

    async fn read(&mut self) -> Result<Answer, Broken> {
        let mut header = Vec::new();
        loop {
            let byte = self.stdout.read_u8().await.map_err(|_| Broken::Exit)?;
            if byte == b'\n' {
                break;
            }
            header.push(byte);
            if header.len() > HEADER_BYTES_MAX {
                return Err(Broken::Protocol);
            }
        }
        let header = String::from_utf8(header).map_err(|_| Broken::Protocol)?;
        let (token, length) = header.split_once(' ').ok_or(Broken::Protocol)?;
        let length: usize = length.parse().map_err(|_| Broken::Protocol)?;
        if token != self.token {
            return Err(Broken::Protocol);
        }
        if length > FRAME_BYTES_MAX {
            return Err(Broken::Overflow);
        }
        let mut body = vec![0; length];
        self.stdout.read_exact(&mut body).await.map_err(|_| Broken::Exit)?;
        serde_json::from_slice(&body).map_err(|_| Broken::Protocol)
    }

    /// Ends it and waits until it is gone.
    pub(super) async fn end(self) {
        self.spawned.handle.kill(Duration::ZERO).await;
        self.spawned.drain.abort();
    }
}
