//! Where a browser comes back to after a login: one request to a loopback address (MCP-15).

use axum::Router;
use axum::extract::{Query, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The longest query that is taken, in bytes.
const QUERY_BYTES_MAX: usize = 16 * 1024;
const DONE: &str = "That was all. You can close this page and go back to the terminal.\n";

/// A listening address for one way back. Dropping it closes it.
#[derive(Debug)]
pub struct CallbackListener {
    port: u16,
    came: mpsc::Receiver<String>,
    serving: AbortHandle,
}

impl CallbackListener {
    /// Listens on `127.0.0.1`; port 0 = a free one.
    ///
    /// # Errors
    /// Where the port can't be had.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        let (tell, came) = mpsc::channel(1);
        let app = Router::new().route("/callback", get(back)).with_state((tell, port));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(CallbackListener { port, came, serving: serving.abort_handle() })
    }

    /// The address that the browser is to be sent back to.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Waits for the browser; gives the whole address that it came to.
    pub async fn wait(&mut self) -> Option<String> {
        self.came.recv().await
    }
}

impl Drop for CallbackListener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Only an answer of an authorization server counts: it has a state, and a code or an error. Whether the state is
/// ours is checked by whoever waits.
async fn back(
    State((tell, port)): State<(mpsc::Sender<String>, u16)>,
    headers: HeaderMap,
    Query(parameters): Query<HashMap<String, String>>,
    RawQuery(query): RawQuery,
) -> (StatusCode, &'static str) {
    let query = query.unwrap_or_default();
    let host = headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_answer = parameters.contains_key("code") || parameters.contains_key("error");
    if !is_answer || query.len() > QUERY_BYTES_MAX || !ours.iter().any(|it| it == host) {
        return (StatusCode::BAD_REQUEST, "This is no answer of an authorization server.\n");
    }
    match tell.try_send(format!("http://127.0.0.1:{port}/callback?{query}")) {
        Ok(()) => (StatusCode::OK, DONE),
        Err(_) => (StatusCode::CONFLICT, "An answer came already.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    // MCP-15
    #[tokio::test]
    async fn one_answer_is_taken_and_other_requests_are_not() {
        let mut listener = CallbackListener::bind(0).await.unwrap();
        let port = listener.port;
        let get = async |path: &str, host: &str| {
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
        };
        let ours = format!("127.0.0.1:{port}");
        assert_eq!(get("/", &ours).await, 404);
        assert_eq!(get("/callback", &ours).await, 400);
        assert_eq!(get("/callback?code=x&state=y", "evil.example").await, 400);
        assert_eq!(get("/callback?code=a%20b&state=y", &ours).await, 200);
        assert_eq!(get("/callback?code=again&state=y", &ours).await, 409);
        let came = listener.wait().await.unwrap();
        assert_eq!(came, format!("{}?code=a%20b&state=y", listener.address()));
    }
}
