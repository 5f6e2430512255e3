//! What a server may say or ask on its own.
#![allow(deprecated, reason = "roots and logging are on their way out, and today's servers still use them")]

use crate::elicitation::{Asker, roots_result};
use host_surface::{Progress, ProgressSink};
use host_vocab::text;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability,
    Implementation, InitializeRequestParams, ListRootsResult, LoggingMessageNotificationParam,
    NumberOrString, ProgressNotificationParam, RootsCapabilities, SamplingCapability,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// Calls that wait for progress and answer questions.
#[derive(Default)]
pub(crate) struct Listeners {
    calls: Mutex<HashMap<u64, Listener>>,
    next: AtomicU64,
}

#[derive(Clone)]
struct Listener {
    /// The call's progress token, once it was sent.
    token: Option<NumberOrString>,
    sink: ProgressSink,
    beat: Arc<Notify>,
    asker: Asker,
}

impl Listeners {
    /// Listens for one call until the guard is dropped; `beat` is told at each sign of progress. This begins
    /// before the call is sent: a quick server asks before the sender knows that the request is out.
    pub(crate) fn listen(
        self: &Arc<Self>,
        sink: ProgressSink,
        beat: Arc<Notify>,
        asker: Asker,
    ) -> ListenGuard {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        self.map().insert(key, Listener { token: None, sink, beat, asker });
        ListenGuard { listeners: Arc::clone(self), key }
    }

    /// The call with a progress token; one that was sent this moment does not know its own yet.
    fn of_token(&self, token: &NumberOrString) -> Option<Listener> {
        let map = self.map();
        if let Some(known) = map.values().find(|listener| listener.token.as_ref() == Some(token)) {
            return Some(known.clone());
        }
        let mut unnamed = map.values().filter(|listener| listener.token.is_none());
        let only = unnamed.next()?;
        unnamed.next().is_none().then(|| only.clone())
    }

    /// Who answers a question of the server: the one run that has calls in flight.
    fn asker(&self) -> Option<Asker> {
        let map = self.map();
        let mut all = map.values().map(|listener| &listener.asker);
        let first = all.next()?;
        all.all(|other| first.same_run(other)).then(|| first.clone())
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Listener>> {
        self.calls.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Ends the listening of one call.
pub(crate) struct ListenGuard {
    listeners: Arc<Listeners>,
    key: u64,
}

impl ListenGuard {
    /// The call's token, now that it was sent.
    pub(crate) fn named(&self, token: NumberOrString) {
        if let Some(listener) = self.listeners.map().get_mut(&self.key) {
            listener.token = Some(token);
        }
    }
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        self.listeners.map().remove(&self.key);
    }
}

/// Answers a server. Elicitation is declined where nobody can be asked, and not announced then; sampling is refused and
/// not announced where the server is not listed for it.
pub(crate) struct Handler {
    label: String,
    listeners: Arc<Listeners>,
    list_changed: Arc<Notify>,
    roots: Arc<[PathBuf]>,
    elicits: bool,
    samples: bool,
}

impl Handler {
    pub(crate) fn new(
        label: String,
        listeners: Arc<Listeners>,
        list_changed: Arc<Notify>,
        roots: Arc<[PathBuf]>,
        elicits: bool,
        samples: bool,
    ) -> Self {
        Handler { label, listeners, list_changed, roots, elicits, samples }
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

    async fn sample(&self, params: &Value) -> Result<Value, rmcp::ErrorData> {
        let error = |code, words: String| rmcp::ErrorData::new(code, words, None);
        if !self.samples {
            let method = "sampling/createMessage".to_owned();
            return Err(error(rmcp::model::ErrorCode::METHOD_NOT_FOUND, method));
        }
        let asker = self.listeners.asker().ok_or_else(|| {
            let words = "no call of one single run is in flight that this could belong to";
            error(rmcp::model::ErrorCode::INVALID_REQUEST, words.to_owned())
        })?;
        asker.sample(params).await.map_err(|why| error(rmcp::model::ErrorCode::INTERNAL_ERROR, why))
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
        if self.samples {
            capabilities.sampling = Some(SamplingCapability::default());
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

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, rmcp::ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.sample(&params).await?;
        serde_json::from_value(answer)
            .map_err(|_| rmcp::ErrorData::internal_error("the answer could not be written", None))
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
        if request.method == "sampling/createMessage" {
            return self.sample(&request.params.unwrap_or_default()).await.map(CustomResult::new);
        }
        Err(rmcp::ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(Listener { sink, beat, .. }) = self.listeners.of_token(&params.progress_token.0) {
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
