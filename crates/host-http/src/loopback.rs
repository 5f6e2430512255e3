//! Request-scoped addresses on the loopback interface (HIS-1).
//!
//! Each has a port, a path of 128 random bits and a bearer of 256, and goes with the request that it was opened for.
//! Whatever lacks one of them, or the exact `Host`, gets one and the same answer, which says nothing. One request a
//! connection; all of it bounded in size and time.

use crate::request::{self, Head};
use host_ports::BoxFuture;
use host_ports::endpoint::{Endpoint, EndpointAnswer, EndpointHandler, OpenEndpoint};
use host_vocab::{Secret, text::hex};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

/// The most connections of one address at a time; further ones wait.
const CONNECTIONS_MAX: usize = 16;
/// How long a client may take to say what it wants.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// What is said to whoever may know nothing.
const NOTHING: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Opens request-scoped addresses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loopback;

impl Endpoint for Loopback {
    fn open(&self, handler: Arc<dyn EndpointHandler>) -> BoxFuture<'_, io::Result<OpenEndpoint>> {
        Box::pin(async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let host = listener.local_addr()?.to_string();
            let (path, bearer) = (format!("/{}", random_hex::<16>()?), random_hex::<32>()?);
            let url = format!("http://{host}{path}");
            let door = Arc::new(Door { host, path, bearer: bearer.clone(), handler });
            let task = tokio::spawn(listen(listener, door));
            Ok(OpenEndpoint::new(url, Secret::new(bearer), Box::new(Closing(task.abort_handle()))))
        })
    }
}

/// Closes an address, and every connection to it, when it is dropped.
struct Closing(AbortHandle);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a request must show, and who answers then.
struct Door {
    host: String,
    path: String,
    bearer: String,
    handler: Arc<dyn EndpointHandler>,
}

async fn listen(listener: TcpListener, door: Arc<Door>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, peer)) if peer.ip().is_loopback() => {
                let door = Arc::clone(&door);
                connections.spawn(async move {
                    // A client that went away has no use for the answer.
                    let _ = door.serve(stream).await;
                    drop(place);
                });
            }
            Ok(_) => {}
            // Too many open files, most likely: wait instead of spinning.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

impl Door {
    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let read = tokio::time::timeout(REQUEST_TIMEOUT, self.read(&mut stream)).await;
        let body = match read {
            Ok(Ok(body)) => body,
            Ok(Err(refusal)) => return finish(&mut stream, refusal).await,
            Err(_) => return finish(&mut stream, NOTHING).await,
        };
        let answer = tokio::select! {
            answer = self.handler.answer(body) => answer,
            () = request::gone(&stream) => return Ok(()),
        };
        match answer {
            EndpointAnswer::Json(json) => document(&mut stream, "200 OK", &json).await,
            EndpointAnswer::Bad(json) => document(&mut stream, "400 Bad Request", &json).await,
            EndpointAnswer::Accepted => {
                finish(
                    &mut stream,
                    b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                )
                .await
            }
            EndpointAnswer::Gone => finish(&mut stream, NOTHING).await,
        }
    }

    /// Reads one request and gives its body; else what is said to it.
    async fn read(&self, stream: &mut TcpStream) -> Result<Vec<u8>, &'static [u8]> {
        let (head, rest) = request::head(stream).await.ok_or(NOTHING)?;
        if !self.admits(&head) {
            return Err(NOTHING);
        }
        if head.method != "POST" {
            return Err(b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
        let Some(length) = head.length else {
            return Err(b"HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        };
        if length > MESSAGE_BYTES_MAX {
            return Err(b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
        request::body(stream, rest, length, head.expects).await.ok_or(NOTHING)
    }

    /// Whether a request shows all that it must: the exact host, path and bearer, and no browser's origin.
    fn admits(&self, head: &Head) -> bool {
        let given = head.bearer.as_deref().unwrap_or_default();
        let same = |a: &str, b: &str| bool::from(a.as_bytes().ct_eq(b.as_bytes()));
        let path = same(&head.path, &self.path);
        let bearer = same(given, &self.bearer);
        head.host.as_deref() == Some(self.host.as_str()) && !head.has_origin && path && bearer
    }
}

async fn document(stream: &mut TcpStream, status: &str, json: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncache-control: no-store\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n",
        json.len()
    );
    stream.write_all(head.as_bytes()).await?;
    finish(stream, json).await
}

async fn finish(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.shutdown().await
}

fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}
