//! Looking after a connection: its end, its changed lists, its idle time.

use super::{IDLE_TICK, Server};
use crate::connection::Connection;
use crate::fault::{ConnectError, HttpFault};
use crate::stdio::AbortOnDrop;
use host_ports::CancellationToken;
use std::sync::{Arc, Weak};
use std::time::Duration;

impl Server {
    /// Reads the list anew after the server said that it changed (MCP-13): it serves the next run.
    pub(super) async fn relist(&self, connection: &Connection) {
        match tokio::time::timeout(self.config.timeout, connection.define()).await {
            Ok(Ok(definitions)) => {
                if self.adopt(&definitions) {
                    tracing::info!(server = %self.config.name, tools = definitions.tools.len(), "the list of tools changed");
                    self.write_cache(definitions).await;
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(server = %self.config.name, error = %self.shown(&error), "the changed list could not be read")
            }
            Err(_) => tracing::warn!(server = %self.config.name, "the changed list did not come in time"),
        }
    }

    /// The connection is gone without our doing.
    pub(super) async fn lost(&self, connection: &Arc<Connection>) {
        {
            let mut state = self.state();
            if !state.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, connection)) {
                return;
            }
            state.live = None;
            self.count_failure(&mut state, ConnectError::Http(HttpFault::Closed), true);
        }
        let error = self.how_it_went(connection).await;
        tracing::warn!(server = %self.config.name, error = %self.shown(&error), "an MCP server ended");
        let mut state = self.state();
        if state.last_error == Some(ConnectError::Http(HttpFault::Closed)) {
            state.last_error = Some(error);
        }
    }

    /// Why a connection is gone, once the news of it is here.
    pub(super) async fn how_it_went(&self, connection: &Connection) -> ConnectError {
        match &connection.child {
            Some(child) => {
                let exit = child.ended().await;
                ConnectError::Exited { exit, stderr: child.stderr.line(), phase: "running" }
            }
            None => ConnectError::Http(HttpFault::Closed),
        }
    }

    pub(super) fn failed_http(&self, connection: &Arc<Connection>, fault: &HttpFault) {
        let dead = matches!(
            fault,
            HttpFault::SessionLost | HttpFault::Closed | HttpFault::Unauthorized { .. } | HttpFault::Login(_)
        ) || (matches!(fault, HttpFault::Transport(_)) && fault.nothing_happened());
        if dead {
            let mut state = self.state();
            self.count_failure(&mut state, ConnectError::Http(fault.clone()), true);
            drop(state);
            self.retire(connection);
        }
    }

    /// Takes a connection out of use and closes it in the background.
    pub(super) fn retire(&self, connection: &Arc<Connection>) {
        let mut state = self.state();
        if state.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, connection)) {
            state.live = None;
        }
        drop(state);
        let connection = Arc::clone(connection);
        tokio::spawn(async move { connection.close().await });
    }
}

/// Looks after one connection: its end, its changed lists, its idle time.
pub(super) async fn watch(
    server: Weak<Server>,
    connection: Arc<Connection>,
    stop: CancellationToken,
    idle_close: Duration,
) {
    let followed = Arc::clone(&connection);
    let _following = AbortOnDrop(tokio::spawn(async move { followed.follow_list().await }));
    loop {
        tokio::select! {
            () = connection.closed.cancelled() => {
                if let Some(server) = server.upgrade() {
                    server.lost(&connection).await;
                }
                return connection.close().await;
            }
            () = stop.cancelled() => return connection.close().await,
            () = connection.list_changed.notified() => {
                let Some(server) = server.upgrade() else { return connection.close().await };
                server.relist(&connection).await;
            }
            () = tokio::time::sleep(IDLE_TICK.min(idle_close)) => {
                if connection.idle() >= idle_close && let Some(server) = server.upgrade() {
                    tracing::debug!(server = %server.config.name, "an idle connection is closed");
                    server.retire(&connection);
                    return;
                }
            }
        }
    }
}
