//! What a server may say or ask on its own.
#![allow(deprecated, reason = "roots and logging are on their way out, and today's servers still use them")]

use crate::elicitation::{Asker, roots_result};
use host_surface::{Progress, ProgressSink};
use host_vocab::text;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, InitializeRequestParams,
    ListRootsResult, LoggingMessageNotificationParam, NumberOrString, ProgressNotificationParam,
    RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
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
    asker: Asker,
}

impl Listeners {
    /// Listens for one call until the guard is dropped; `beat` is told at each sign of progress.
    pub(crate) fn listen(
        self: &Arc<Self>,
        token: NumberOrString,
        sink: ProgressSink,
        beat: Arc<Notify>,
        asker: Asker,
    ) -> ListenGuard {
        self.map().insert(token.clone(), Listener { sink, beat, asker });
        ListenGuard { listeners: Arc::clone(self), token }
    }

    /// Who answers a question of the server: the one run that has calls in flight.
    fn asker(&self) -> Option<Asker> {
        let map = self.map();
        let mut all = map.values().map(|listener| &listener.asker);
        let first = all.next()?;
        all.all(|other| first.same_run(other)).then(|| first.clone())
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

/// Answers a server. Elicitation is declined where nobody can be asked, and not announced then; sampling is
/// refused.
pub(crate) struct Handler {
    label: String,
    listeners: Arc<Listeners>,
    list_changed: Arc<Notify>,
    roots: Arc<[PathBuf]>,
    elicits: bool,
}

impl Handler {
    pub(crate) fn new(
        label: String,
        listeners: Arc<Listeners>,
        list_changed: Arc<Notify>,
        roots: Arc<[PathBuf]>,
        elicits: bool,
    ) -> Self {
        Handler { label, listeners, list_changed, roots, elicits }
    }
}

impl Handler {
    async fn elicit(&self, params: &Value) -> Value {
        let Some(asker) = self.listeners.asker() else { return json!({"action": "decline"}) };
        tokio::select! {
            answer = asker.elicit(params) => answer,
            () = asker.cancel().cancelled() => json!({"action": "cancel"}),
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.elicits {
            let form = FormElicitationCapability::default();
            let url = UrlElicitationCapability::default();
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
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
        serde_json::from_value(roots_result(&self.roots)).or_else(|_| Ok(ListRootsResult::default()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.elicit(&params).await;
        serde_json::from_value(answer).or_else(|_| Ok(ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, rmcp::ErrorData> {
        // A form that rmcp's own types can't read comes this way.
        if request.method == "elicitation/create" {
            return Ok(CustomResult::new(self.elicit(&request.params.unwrap_or_default()).await));
        }
        Err(rmcp::ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self.listeners.map().get(&params.progress_token.0).cloned();
        if let Some(Listener { sink, beat, .. }) = listener {
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
