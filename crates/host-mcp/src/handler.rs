//! What a server may say or ask on its own.
#![allow(deprecated, reason = "roots and logging are on their way out, and today's servers still use them")]

use host_surface::{Progress, ProgressSink};
use host_vocab::text;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, Implementation, InitializeRequestParams, ListRootsResult,
    LoggingMessageNotificationParam, NumberOrString, ProgressNotificationParam, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// Calls that wait for progress, by their token.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<NumberOrString, Listener>>);

#[derive(Clone)]
struct Listener {
    sink: ProgressSink,
    beat: Arc<Notify>,
}

impl Listeners {
    /// Listens for one call until the guard is dropped; `beat` is told at each sign of progress.
    pub(crate) fn listen(
        self: &Arc<Self>,
        token: NumberOrString,
        sink: ProgressSink,
        beat: Arc<Notify>,
    ) -> ListenGuard {
        self.map().insert(token.clone(), Listener { sink, beat });
        ListenGuard { listeners: Arc::clone(self), token }
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<NumberOrString, Listener>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Ends the listening of one call.
pub(crate) struct ListenGuard {
    listeners: Arc<Listeners>,
    token: NumberOrString,
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        self.listeners.map().remove(&self.token);
    }
}

/// Answers a server. Elicitation is declined and sampling refused: neither is announced.
pub(crate) struct Handler {
    label: String,
    listeners: Arc<Listeners>,
    list_changed: Arc<Notify>,
    roots: Arc<[PathBuf]>,
}

impl Handler {
    pub(crate) fn new(
        label: String,
        listeners: Arc<Listeners>,
        list_changed: Arc<Notify>,
        roots: Arc<[PathBuf]>,
    ) -> Self {
        Handler { label, listeners, list_changed, roots }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        InitializeRequestParams::new(
            capabilities,
            Implementation::new("mono-agent", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, rmcp::ErrorData> {
        let roots = self.roots.iter().filter_map(|path| {
            let uri = url::Url::from_directory_path(path).ok()?;
            Some(Root::new(uri.as_str().trim_end_matches('/')))
        });
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self.listeners.map().get(&params.progress_token.0).cloned();
        if let Some(Listener { sink, beat }) = listener {
            beat.notify_one();
            sink.tell(Progress {
                message: text::one_line(&params.message.unwrap_or_default(), 300),
                done: Some(params.progress),
                total: params.total,
            });
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let said = text::one_line(&params.data.to_string(), 500);
        tracing::debug!(server = %self.label, level = ?params.level, message = %said, "server logs");
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }
}
