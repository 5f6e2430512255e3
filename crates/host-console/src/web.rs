//! One request of a browser and its response, free of any server.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use std::io;

/// A request, its body not read yet.
pub struct WebRequest {
    /// The method.
    pub method: Method,
    /// The path, as it was sent.
    pub path: String,
    /// The query, as it was sent.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: BoxStream<'static, io::Result<Bytes>>,
}

impl WebRequest {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Reads the body up to a bound; `None` = it has more, or broke off.
    pub async fn bytes(&mut self, bytes_max: usize) -> Option<Bytes> {
        use futures_util::StreamExt as _;
        let mut whole = Vec::new();
        while let Some(piece) = self.body.next().await {
            let piece = piece.ok()?;
            if whole.len() + piece.len() > bytes_max {
                return None;
            }
            whole.extend_from_slice(&piece);
        }
        Some(whole.into())
    }
}

/// What a response carries.
pub enum WebBody {
    /// All of it.
    Whole(Bytes),
    /// A stream that may never end.
    Stream(BoxStream<'static, Bytes>),
}

/// A response.
pub struct WebResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: WebBody,
}

impl WebResponse {
    /// Nothing but a status.
    pub fn empty(status: StatusCode) -> Self {
        WebResponse { status, headers: HeaderMap::new(), body: WebBody::Whole(Bytes::new()) }
    }

    /// Bytes of a type.
    pub fn bytes(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Self::empty(status);
        response.body = WebBody::Whole(body.into());
        response.with(header::CONTENT_TYPE, media_type)
    }

    /// JSON that no cache keeps without asking.
    pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self::bytes(status, "application/json", body).with(header::CACHE_CONTROL, "private, no-cache")
    }

    /// The same with a header; one whose value is no header's is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}
