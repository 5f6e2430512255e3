//! One request to a provider, from its head to its last frame.

use crate::failure;
use crate::frame::{Frame, Framer};
use crate::link::Link;
use crate::sse::SseDecoder;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse};
use host_ports::model::{ModelError, ModelEvent};
use host_turn::FailureKind;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of one answer's body.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most bytes of an error's body that are read.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How long an error's body, and the end of a finished stream, may take.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
const LAST_BYTES_TIMEOUT: Duration = Duration::from_millis(20);

/// Turns frames into events. Parts are given at the end, all at once: nothing half ever becomes one.
pub(crate) trait Decoder: Send {
    /// Reads one frame.
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The body has ended (or broke). Gives the parts and [`ModelEvent::Finished`] if the provider had said
    /// how the answer stopped; otherwise the answer was cut off (T12-07).
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Whether the end mark was seen and nothing more is to come.
    fn complete(&self) -> bool;
}

/// How a wire frames its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Sse,
    EventStream,
}

/// The error for an answer that stopped without its end mark.
pub(crate) fn cut_off(detail: &str) -> ModelError {
    ModelError::new(FailureKind::StreamTerminated, format!("the answer broke off before its end ({detail})"))
}

/// A frame as JSON.
pub(crate) fn json(frame: &Frame) -> Result<serde_json::Value, ModelError> {
    serde_json::from_str(&frame.data).map_err(|_| {
        let start = host_vocab::text::one_line(&frame.data, 80);
        ModelError::new(
            FailureKind::ServerError,
            format!("the provider sent a frame that is no JSON: {start}"),
        )
    })
}

/// Sends a request and gives its events. Dropping the stream closes the connection.
pub(crate) fn exchange(
    http: Arc<dyn Http>,
    link: Arc<Link>,
    request: HttpRequest,
    framing: Framing,
    decoder: Box<dyn Decoder>,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let state = Exchange {
        http,
        link,
        request: Some(request),
        framing,
        framer: None,
        body: None,
        decoder,
        queue: VecDeque::new(),
        over: false,
        bytes: 0,
        request_id: None,
    };
    stream::unfold(state, |mut state| async move { state.next().await.map(|item| (item, state)) }).boxed()
}

struct Exchange {
    http: Arc<dyn Http>,
    link: Arc<Link>,
    request: Option<HttpRequest>,
    framing: Framing,
    framer: Option<Framer>,
    body: Option<BoxStream<'static, Result<Bytes, HttpError>>>,
    decoder: Box<dyn Decoder>,
    queue: VecDeque<Result<ModelEvent, ModelError>>,
    over: bool,
    bytes: u64,
    request_id: Option<String>,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            if self.over {
                return None;
            }
            if let Some(request) = self.request.take() {
                if let Err(error) = self.open(request).await {
                    self.fail(error);
                }
            } else {
                self.read().await;
            }
        }
    }

    async fn open(&mut self, request: HttpRequest) -> Result<(), ModelError> {
        let is_keyed = failure::is_keyed(&request.headers);
        let response = self.http.send(request).await.map_err(|error| failure::of_http(&error))?;
        self.request_id = failure::request_id(&response.headers);
        if !response.status.is_success() {
            return Err(refusal(response, is_keyed, self.link.now_ms()).await);
        }
        let media =
            response.headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
        let media = media.to_ascii_lowercase();
        if media.starts_with("text/html") {
            let kind = FailureKind::ProviderUnavailable;
            return Err(ModelError::new(kind, "the address answers with a web page; check the base URL"));
        }
        self.framer = Some(match self.framing {
            Framing::EventStream => Framer::EventStream(Default::default()),
            Framing::Sse if media.starts_with("application/json") => Framer::Whole(Vec::new()),
            Framing::Sse => Framer::Sse(SseDecoder::default()),
        });
        self.body = Some(response.body);
        Ok(())
    }

    async fn read(&mut self) {
        let piece = match &mut self.body {
            Some(body) => body.next().await,
            None => None,
        };
        match piece {
            Some(Ok(piece)) => {
                if let Err(error) = self.take(&piece) {
                    self.fail(error);
                } else if self.decoder.complete() {
                    // The connection can be used again only when its body was read to the end.
                    if let Some(body) = &mut self.body {
                        let _ = tokio::time::timeout(LAST_BYTES_TIMEOUT, body.next()).await;
                    }
                    self.finish(None);
                }
            }
            Some(Err(error)) => self.finish(Some(error)),
            None => self.finish(None),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), ModelError> {
        self.bytes += piece.len() as u64;
        let too_much = |why: String| {
            ModelError::new(FailureKind::ServerError, format!("the provider's answer is unreadable: {why}"))
        };
        if self.bytes > BODY_BYTES_MAX {
            return Err(too_much(format!("it is longer than {BODY_BYTES_MAX} bytes")));
        }
        let mut frames = Vec::new();
        let fed = match &mut self.framer {
            Some(framer) => framer.feed(piece, &mut frames),
            None => Ok(()),
        };
        for frame in &frames {
            if !self.decoder.complete() {
                self.frame(frame)?;
            }
        }
        fed.map_err(|fault| too_much(fault.0))
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), ModelError> {
        let mut events = Vec::new();
        let result = self.decoder.frame(frame, &mut events);
        self.queue.extend(events.into_iter().map(Ok));
        result
    }

    fn finish(&mut self, fault: Option<HttpError>) {
        if let Some(last) = self.framer.take().and_then(Framer::finish).filter(|_| !self.decoder.complete())
            && let Err(error) = self.frame(&last)
        {
            self.fail(error);
            return;
        }
        let mut events = Vec::new();
        match self.decoder.end(&mut events) {
            Ok(()) => {
                self.queue.extend(events.into_iter().map(|event| Ok(self.link.priced(event))));
                self.close();
            }
            Err(error) => self.fail(fault.map_or(error, |fault| failure::of_broken_body(&fault))),
        }
    }

    fn fail(&mut self, mut error: ModelError) {
        error.message = self.link.scrub(&error.message);
        error.request_id = error.request_id.or_else(|| self.request_id.clone());
        self.queue.push_back(Err(error));
        self.close();
    }

    fn close(&mut self) {
        self.over = true;
        self.body = None;
    }
}

/// Reads a refused request's body and says what it means; `is_keyed` = a key went with the request.
pub(crate) async fn refusal(response: HttpResponse, is_keyed: bool, now_ms: i64) -> ModelError {
    let (status, headers) = (response.status, response.headers.clone());
    let body =
        response.read_bounded(ERROR_BYTES_MAX).map(|read| read.map(|body| body.bytes).unwrap_or_default());
    let body = tokio::time::timeout(ERROR_BODY_TIMEOUT, body).await.unwrap_or_default();
    let error = failure::of_status(status, &headers, &body, now_ms);
    if is_keyed { error } else { failure::without_key(error) }
}
