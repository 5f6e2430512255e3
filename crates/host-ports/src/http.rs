//! Outbound HTTP.

use crate::BoxFuture;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use std::time::Duration;
use url::Url;

/// One request. Nothing is added to it but what the protocol needs.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: http::Method,
    /// The address.
    pub url: Url,
    /// The headers; mark secret values with `HeaderValue::set_sensitive`.
    pub headers: http::HeaderMap,
    /// The body; empty = none.
    pub body: Bytes,
    /// How long it may take until the response's head is there.
    pub head_timeout: Duration,
    /// How long the body may be silent between two pieces; `None` = as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// What to do with a redirect.
    pub redirects: Redirects,
}

/// What to do with a 3xx answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Give it back as it is.
    Return,
    /// Follow 307 and 308 to the same origin, at most this often; refuse every other.
    SameOrigin(u8),
}

impl HttpRequest {
    /// A request with a head time-out of 60 s, no idle time-out, and redirects given back.
    pub fn new(method: http::Method, url: Url) -> Self {
        HttpRequest {
            method,
            url,
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
            head_timeout: Duration::from_secs(60),
            idle_timeout: None,
            redirects: Redirects::Return,
        }
    }

    /// A POST of JSON.
    pub fn post_json(url: Url, body: &serde_json::Value) -> Self {
        let mut request = HttpRequest::new(http::Method::POST, url);
        request
            .headers
            .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        request.body = Bytes::from(body.to_string());
        request
    }
}

/// A response whose body is still coming.
pub struct HttpResponse {
    /// The status.
    pub status: http::StatusCode,
    /// The headers.
    pub headers: http::HeaderMap,
    /// The body in pieces, decoded from its content encoding. Dropping it closes the connection.
    pub body: BoxStream<'static, Result<Bytes, HttpError>>,
}

impl HttpResponse {
    /// Reads the body up to a bound; what is over it is dropped and said.
    ///
    /// # Errors
    /// Where the body broke off.
    pub async fn read_bounded(mut self, bytes_max: usize) -> Result<BoundedBody, HttpError> {
        use futures_util::StreamExt as _;
        let mut bytes = Vec::new();
        while let Some(piece) = self.body.next().await {
            let piece = piece?;
            let room = bytes_max - bytes.len();
            if piece.len() > room {
                bytes.extend_from_slice(&piece[..room]);
                return Ok(BoundedBody { bytes, cut: true });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(BoundedBody { bytes, cut: false })
    }
}

/// A body that was read up to a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedBody {
    /// What was read.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
}

/// Why a request came to nothing. No variant holds a header value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// No connection: name resolution, TCP or TLS. Nothing was sent.
    #[error("no connection to {origin}: {why}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// The cause, in words.
        why: String,
    },
    /// The connection broke after something may have been sent.
    #[error("the connection to {origin} broke: {why}")]
    Broken {
        /// Scheme, host and port.
        origin: String,
        /// The cause, in words.
        why: String,
    },
    /// A time-out of the request passed.
    #[error("{origin} did not answer within {after:?}")]
    Timeout {
        /// Scheme, host and port.
        origin: String,
        /// The time-out.
        after: Duration,
    },
    /// A redirect that the rule does not follow.
    #[error("{origin} redirects to {target}, which is not followed")]
    RedirectRefused {
        /// Scheme, host and port.
        origin: String,
        /// Scheme, host and port of the target.
        target: String,
    },
    /// The network policy refuses the address.
    #[error("{origin} is refused by the network policy: {why}")]
    Denied {
        /// Scheme, host and port.
        origin: String,
        /// The rule.
        why: String,
    },
}

/// A client.
pub trait Http: Send + Sync {
    /// Sends one request and gives the response as soon as its head is there. Dropping the future, or the
    /// body, closes the request.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>>;
}
