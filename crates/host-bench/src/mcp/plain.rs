//! Children as they are, without a sandbox: what is measured is the client.

use host_ports::BoxFuture;
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse};
use host_ports::spawn::{ChildExit, ChildHandle, Spawn, SpawnError, SpawnSpec, Spawned};
use std::process::Stdio;
use std::time::Duration;
use tokio::sync::{Mutex, watch};

pub struct PlainSpawn;

struct Child {
    child: Mutex<tokio::process::Child>,
    exit: watch::Sender<Option<ChildExit>>,
}

impl ChildHandle for Child {
    fn wait(&self) -> BoxFuture<'_, ChildExit> {
        Box::pin(async move {
            let mut exit = self.exit.subscribe();
            if let Ok(mut child) = self.child.try_lock() {
                let code = child.wait().await.ok().and_then(|status| status.code()).unwrap_or(-1);
                self.exit.send_replace(Some(ChildExit::Code(code)));
            }
            let ended = exit.wait_for(Option::is_some).await;
            ended.ok().and_then(|it| *it).unwrap_or(ChildExit::Code(-1))
        })
    }

    fn kill(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if tokio::time::timeout(grace, self.wait()).await.is_err()
                && let Ok(mut child) = self.child.try_lock()
            {
                let _ = child.kill().await;
            }
        })
    }
}

impl Spawn for PlainSpawn {
    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Spawned, SpawnError>> {
        Box::pin(async move {
            let mut command = tokio::process::Command::new(&spec.program);
            command.args(&spec.args).env_clear().envs(&spec.env).current_dir(&spec.cwd).kill_on_drop(true);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(|error| SpawnError::Failed(error.to_string()))?;
            let gone = || SpawnError::Failed("it ended at once".to_owned());
            let pid = child.id().ok_or_else(gone)?;
            let stdin = child.stdin.take().ok_or_else(gone)?;
            let stdout = child.stdout.take().ok_or_else(gone)?;
            let stderr = child.stderr.take().ok_or_else(gone)?;
            let handle = Child { child: Mutex::new(child), exit: watch::Sender::new(None) };
            Ok(Spawned {
                pid,
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
                handle: Box::new(handle),
            })
        })
    }
}

/// There are no remote servers here.
pub struct NoHttp;

impl Http for NoHttp {
    fn send(&self, _request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async {
            Err(HttpError::Connect { origin: "nowhere".to_owned(), why: "not here".to_owned() })
        })
    }
}
