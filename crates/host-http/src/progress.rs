//! The loopback address to which servers post how far they are: `POST /v1/progress` (CTX-4).
//!
//! This end speaks HTTP and nothing else: who a bearer is, and where a post goes, [`ProgressLedger`] knows. A
//! bearer is looked up before the body is read and again after it, so that a post that stalled while its run
//! ended reaches nobody.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// The largest body, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long a body may take.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// The most posts at once; further ones are turned away.
const POSTS_MAX: usize = 64;

/// How far a server is, in its own words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProgressPost {
    /// Names the line, so that a later post can replace it.
    #[serde(default)]
    pub key: String,
    /// The words.
    pub message: String,
    /// `done`, `failed`, or anything else for working.
    #[serde(default)]
    pub state: String,
}

/// Who may post, and where it goes.
pub trait ProgressLedger: Send + Sync + 'static {
    /// Whether a bearer is good right now.
    fn knows(&self, bearer: &str) -> bool;
    /// Takes a post. False = the bearer is not good any more.
    fn take(&self, bearer: &str, post: ProgressPost) -> bool;
}

/// A listening address. Dropping it closes it.
#[derive(Debug)]
pub struct ProgressBridge {
    address: SocketAddr,
    serving: AbortHandle,
}

impl ProgressBridge {
    /// Listens on a free port of `127.0.0.1`.
    ///
    /// # Errors
    /// Where no port can be had.
    pub async fn start(ledger: Arc<dyn ProgressLedger>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared =
            Shared { ledger, places: Arc::new(tokio::sync::Semaphore::new(POSTS_MAX)), port: address.port() };
        let app = Router::new().route("/v1/progress", post(take)).with_state(shared);
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(ProgressBridge { address, serving: serving.abort_handle() })
    }

    /// Where to post.
    pub fn url(&self) -> String {
        format!("http://{}/v1/progress", self.address)
    }
}

impl Drop for ProgressBridge {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Clone)]
struct Shared {
    ledger: Arc<dyn ProgressLedger>,
    places: Arc<tokio::sync::Semaphore>,
    port: u16,
}

async fn take(State(shared): State<Shared>, request: Request) -> Response {
    let Ok(_place) = shared.places.try_acquire() else { return refuse(429, "too many posts at once") };
    let (parts, body) = request.into_parts();
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    // A page in a browser can reach this port under another name, and says where it comes from.
    let host = header("host").unwrap_or_default();
    let ours = [format!("127.0.0.1:{}", shared.port), format!("localhost:{}", shared.port)];
    if !ours.iter().any(|it| it == host) || header("origin").is_some() {
        return refuse(403, "this address is for servers of this host alone");
    }
    let bearer = header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let Some(bearer) = bearer.filter(|bearer| shared.ledger.knows(bearer)) else {
        return refuse(401, "the bearer is not good");
    };
    let body: Bytes =
        match tokio::time::timeout(BODY_TIME_MAX, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => return refuse(413, "the body is too large, or broke off"),
            Err(_) => return refuse(408, "the body did not come in time"),
        };
    let post = match serde_json::from_slice::<ProgressPost>(&body) {
        Ok(post) if !post.message.trim().is_empty() => post,
        _ => return refuse(400, "send {\"key\": …, \"message\": …, \"state\": …} as JSON"),
    };
    if shared.ledger.take(&bearer, post) {
        (axum::http::StatusCode::ACCEPTED, axum::Json(json!({"ok": true}))).into_response()
    } else {
        refuse(401, "the bearer is not good any more")
    }
}

fn refuse(status: u16, why: &str) -> Response {
    let status = axum::http::StatusCode::from_u16(status).unwrap_or(axum::http::StatusCode::BAD_REQUEST);
    (status, axum::Json(json!({"ok": false, "error": why}))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    #[derive(Default)]
    struct Ledger {
        good: Mutex<Vec<String>>,
        taken: Mutex<Vec<ProgressPost>>,
    }

    impl ProgressLedger for Ledger {
        fn knows(&self, bearer: &str) -> bool {
            self.good.lock().unwrap().iter().any(|it| it == bearer)
        }

        fn take(&self, bearer: &str, post: ProgressPost) -> bool {
            let good = self.knows(bearer);
            if good {
                self.taken.lock().unwrap().push(post);
            }
            good
        }
    }

    async fn bridge() -> (ProgressBridge, Arc<Ledger>) {
        let ledger = Arc::new(Ledger::default());
        ledger.good.lock().unwrap().push("tok".to_owned());
        (ProgressBridge::start(Arc::clone(&ledger) as _).await.unwrap(), ledger)
    }

    fn head(bridge: &ProgressBridge, path: &str, more: &str, length: usize) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n",
            bridge.address
        )
    }

    async fn send(bridge: &ProgressBridge, head: &str, body: &str) -> u16 {
        let mut stream = TcpStream::connect(bridge.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        status(stream).await
    }

    async fn status(mut stream: TcpStream) -> u16 {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap().parse().unwrap()
    }

    // CTX-4
    #[tokio::test]
    async fn a_good_bearer_posts_and_nothing_else_is_there() {
        let (bridge, ledger) = bridge().await;
        let body = r#"{"key": "k", "message": "half", "state": "working", "conversationId": "web:other"}"#;
        let auth = "Authorization: Bearer tok\r\n";
        assert_eq!(send(&bridge, &head(&bridge, "/v1/progress", auth, body.len()), body).await, 202);
        assert_eq!(ledger.taken.lock().unwrap()[0].message, "half");
        for (path, more, body, wanted) in [
            ("/v1/progress", "", body, 401),
            ("/v1/progress", "Authorization: Bearer other\r\n", body, 401),
            ("/v1/progress", "Authorization: Basic tok\r\n", body, 401),
            ("/v1/progress", auth, "{}", 400),
            ("/v1/progress", auth, "no json", 400),
            ("/v1/progress", "Authorization: Bearer tok\r\nOrigin: https://evil.example\r\n", body, 403),
            ("/v1/asks", auth, body, 404),
            ("/v1/asks/x", auth, body, 404),
        ] {
            let head = head(&bridge, path, more, body.len());
            assert_eq!(send(&bridge, &head, body).await, wanted, "{path} {more} {body}");
        }
        let huge = "x".repeat(BODY_BYTES_MAX + 1);
        assert_eq!(send(&bridge, &head(&bridge, "/v1/progress", auth, huge.len()), &huge).await, 413);
        let foreign = "POST /v1/progress HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer tok\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        assert_eq!(send(&bridge, foreign, "").await, 403);
        assert_eq!(ledger.taken.lock().unwrap().len(), 1);
    }

    // CTX-4: a post that stalls across the end of its run is rejected.
    #[tokio::test]
    async fn a_bearer_is_checked_again_after_the_body() {
        let (bridge, ledger) = bridge().await;
        let body = r#"{"message": "late"}"#;
        let mut stream = TcpStream::connect(bridge.address).await.unwrap();
        let head = head(&bridge, "/v1/progress", "Authorization: Bearer tok\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body.as_bytes()[..5]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        ledger.good.lock().unwrap().clear();
        stream.write_all(&body.as_bytes()[5..]).await.unwrap();
        assert_eq!(status(stream).await, 401);
        assert!(ledger.taken.lock().unwrap().is_empty());
    }
}
