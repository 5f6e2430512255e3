//! HIS-1: an address for one request: random, loopback alone, opaque, gone with what opened it.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests stand outside the rules of the host's own code"
)]

use host_http::{Loopback, MESSAGE_BYTES_MAX};
use host_ports::BoxFuture;
use host_ports::endpoint::{Endpoint, EndpointAnswer, EndpointHandler, OpenEndpoint};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Default)]
struct Echo(AtomicUsize);

impl EndpointHandler for Echo {
    fn answer(&self, body: Vec<u8>) -> BoxFuture<'_, EndpointAnswer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match body.as_slice() {
                b"gone" => EndpointAnswer::Gone,
                b"note" => EndpointAnswer::Accepted,
                b"slow" => std::future::pending().await,
                _ => EndpointAnswer::Json(body),
            }
        })
    }
}

struct Place {
    endpoint: OpenEndpoint,
    host: String,
    path: String,
    echo: Arc<Echo>,
}

async fn place() -> Place {
    let echo = Arc::new(Echo::default());
    let endpoint = Loopback.open(Arc::clone(&echo) as _).await.unwrap();
    let rest = endpoint.url.strip_prefix("http://").unwrap().to_owned();
    let (host, path) = rest.split_once('/').unwrap();
    Place { host: host.to_owned(), path: format!("/{path}"), endpoint, echo }
}

impl Place {
    fn request(&self, body: &str) -> String {
        self.with("POST", &self.path, &self.host, self.endpoint.bearer.expose(), "", body)
    }

    fn with(&self, method: &str, path: &str, host: &str, bearer: &str, more: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {bearer}\r\n{more}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    async fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut answer))
            .await
            .unwrap()
            .unwrap();
        answer
    }
}

const NOTHING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_request_with_all_it_needs_is_answered() {
    let place = place().await;
    assert!(place.host.starts_with("127.0.0.1:") && place.path.len() == 33);
    let answer = place.send(&place.request("{\"a\":1}")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n{\"a\":1}"), "{answer}");
    assert!(place.send(&place.request("note")).await.starts_with("HTTP/1.1 202 "));
    assert_eq!(place.send(&place.request("gone")).await, NOTHING, "what is over looks like what never was");
    let expecting = place.with(
        "POST",
        &place.path,
        &place.host,
        place.endpoint.bearer.expose(),
        "Expect: 100-continue\r\n",
        "",
    );
    assert!(place.send(&expecting).await.starts_with("HTTP/1.1 200"));
}

// Every failure of who is allowed looks the same, and reaches nobody.
#[tokio::test]
async fn whoever_lacks_anything_learns_nothing() {
    let place = place().await;
    let (path, host, bearer) =
        (place.path.clone(), place.host.clone(), place.endpoint.bearer.expose().to_owned());
    let port = host.rsplit(':').next().unwrap();
    let other = place2_bearer().await;
    for request in [
        place.with("POST", "/", &host, &bearer, "", "x"),
        place.with("POST", &format!("{path}x"), &host, &bearer, "", "x"),
        place.with("POST", &path.to_uppercase(), &host, &bearer, "", "x"),
        place.with("POST", &path, &host, "", "", "x"),
        place.with("POST", &path, &host, &bearer[..63], "", "x"),
        place.with("POST", &path, &host, &other, "", "x"),
        place.with("POST", &path, &format!("localhost:{port}"), &bearer, "", "x"),
        place.with("POST", &path, &format!("evil.example:{port}"), &bearer, "", "x"),
        place.with("POST", &path, "127.0.0.1", &bearer, "", "x"),
        place.with("POST", &path, &host, &bearer, "Host: evil.example\r\n", "x"),
        place.with("POST", &path, &host, &bearer, "Origin: http://evil.example\r\n", "x"),
        place.with("POST", &path, &host, &bearer, &format!("Authorization: Bearer {bearer}\r\n"), "x"),
        place.with("GET", "/", &host, &bearer, "", ""),
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\n\r\nx"),
        "nonsense\r\n\r\n".to_owned(),
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "y".repeat(40_000)),
    ] {
        let answer = place.send(&request).await;
        assert_eq!(answer, NOTHING, "{}", &request[..request.len().min(300)]);
    }
    assert_eq!(place.echo.0.load(Ordering::SeqCst), 0);
}

async fn place2_bearer() -> String {
    place().await.endpoint.bearer.expose().to_owned()
}

#[tokio::test]
async fn who_may_ask_is_told_what_is_wrong() {
    let place = place().await;
    let (path, host, bearer) =
        (place.path.clone(), place.host.clone(), place.endpoint.bearer.expose().to_owned());
    for method in ["GET", "DELETE"] {
        assert!(
            place.send(&place.with(method, &path, &host, &bearer, "", "")).await.starts_with("HTTP/1.1 405 ")
        );
    }
    let long = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {bearer}\r\nContent-Length: {}\r\n\r\n",
        MESSAGE_BYTES_MAX + 1
    );
    assert!(place.send(&long).await.starts_with("HTTP/1.1 413 "));
    let endless = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {bearer}\r\n\r\n");
    assert!(place.send(&endless).await.starts_with("HTTP/1.1 411 "));
}

// Gone at cleanup: the port is closed, and a call that is underway is dropped.
#[tokio::test]
async fn it_goes_with_what_opened_it() {
    let place = place().await;
    let request = place.request("slow");
    let mut stream = TcpStream::connect(&place.host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    while place.echo.0.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (host, echo) = (place.host.clone(), Arc::clone(&place.echo));
    drop(place);
    let mut rest = Vec::new();
    let _reset = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(&host).await.is_err());
    assert_eq!(Arc::strong_count(&echo), 1, "nothing holds it any more");
}

// A crowd of silent clients keeps nobody out for long.
#[tokio::test(start_paused = false)]
async fn silent_clients_are_let_go() {
    let place = place().await;
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(TcpStream::connect(&place.host).await.unwrap());
    }
    let answer = place.send(&place.request("x")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
