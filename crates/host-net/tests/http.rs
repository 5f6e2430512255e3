//! The client against real sockets on this machine.

#![allow(clippy::unwrap_used, reason = "tests")]

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use host_net::{Egress, NetHttp, NetSettings, PublicOnly};
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse, Redirects};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn client() -> NetHttp {
    NetHttp::new(NetSettings::default())
}

fn secret_post(url: &str) -> HttpRequest {
    let mut request = HttpRequest::post_json(Url::parse(url).unwrap(), &serde_json::json!({"x": 1}));
    request.headers.insert("authorization", "Bearer TOPSECRET".parse().unwrap());
    request.headers.insert("x-api-key", "TOPSECRET".parse().unwrap());
    request.redirects = Redirects::SameOrigin(3);
    request
}

fn fault(result: Result<HttpResponse, HttpError>) -> HttpError {
    match result {
        Ok(response) => panic!("expected a fault, got {}", response.status),
        Err(error) => error,
    }
}

async fn text(response: HttpResponse) -> String {
    String::from_utf8(response.read_bounded(1 << 20).await.unwrap().bytes).unwrap()
}

// T3-03
#[tokio::test]
async fn a_cross_origin_redirect_reaches_nobody() {
    let hits = Arc::new(AtomicUsize::new(0));
    let seen = hits.clone();
    let target = serve(Router::new().fallback(any(move || {
        seen.fetch_add(1, Ordering::SeqCst);
        async { "got it" }
    })))
    .await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("http://{target}/steal?q=1");
        let first = serve(Router::new().fallback(any(move || {
            let to = to.clone();
            async move { (StatusCode::from_u16(status).unwrap(), [("location", to)]) }
        })))
        .await;
        let error = fault(client().send(secret_post(&format!("http://{first}/mcp"))).await);
        let said = error.to_string();
        assert!(matches!(error, HttpError::RedirectRefused { .. }), "{said}");
        assert!(said.contains(&target.to_string()), "names the target: {said}");
        assert!(!said.contains("TOPSECRET") && !said.contains("steal"), "{said}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

// T3-03
#[tokio::test]
async fn a_same_origin_redirect_keeps_method_headers_and_body_and_is_bounded() {
    async fn echo(headers: HeaderMap, body: Bytes) -> String {
        format!("{} {}", headers["x-api-key"].to_str().unwrap(), String::from_utf8_lossy(&body))
    }
    let app = Router::new()
        .route("/a", any(|| async { (StatusCode::PERMANENT_REDIRECT, [("location", "/b")]) }))
        .route("/b", any(|| async { (StatusCode::TEMPORARY_REDIRECT, [("location", "end")]) }))
        .route("/end", any(echo))
        .route("/loop", any(|| async { (StatusCode::TEMPORARY_REDIRECT, [("location", "/loop")]) }));
    let at = serve(app).await;
    let response = client().send(secret_post(&format!("http://{at}/a"))).await.unwrap();
    assert_eq!(text(response).await, r#"TOPSECRET {"x":1}"#);
    let error = fault(client().send(secret_post(&format!("http://{at}/loop"))).await);
    assert!(error.to_string().contains("more than 3 times"), "{error}");
    let mut as_is = secret_post(&format!("http://{at}/a"));
    as_is.redirects = Redirects::Return;
    assert_eq!(client().send(as_is).await.unwrap().status, 308);
}

#[tokio::test]
async fn no_connection_and_a_broken_one_are_told_apart() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let error = fault(client().send(secret_post(&format!("http://{closed}/"))).await);
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut some = [0; 64];
            let _ = socket.read(&mut some).await;
        }
    });
    let error = fault(client().send(secret_post(&format!("http://{at}/?key=TOPSECRET"))).await);
    assert!(matches!(error, HttpError::Broken { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("TOPSECRET"));

    // TLS with somebody who speaks none: nothing was sent.
    let plain = serve(Router::new()).await;
    let error = fault(client().send(secret_post(&format!("https://{plain}/"))).await);
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");
    let error = fault(client().send(secret_post("ftp://example.com/")).await);
    assert!(error.to_string().contains("use http: or https:"), "{error}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_and_not_an_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut some = [0; 512];
        let _ = socket.read(&mut some).await;
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    });
    let mut response = client().send(secret_post(&format!("http://{at}/"))).await.unwrap();
    assert_eq!(response.body.next().await.unwrap().unwrap(), "abc");
    assert!(matches!(response.body.next().await, Some(Err(HttpError::Broken { .. }))));
    assert!(response.body.next().await.is_none());
}

#[tokio::test]
async fn head_and_idle_time_outs() {
    async fn slow() -> &'static str {
        tokio::time::sleep(Duration::from_secs(30)).await;
        "late"
    }
    async fn stalls() -> Response {
        let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"one"))]);
        Body::from_stream(first.chain(stream::pending())).into_response()
    }
    let at = serve(Router::new().route("/slow", any(slow)).route("/stalls", any(stalls))).await;
    let mut request = secret_post(&format!("http://{at}/slow"));
    request.head_timeout = Duration::from_millis(80);
    let error = fault(client().send(request).await);
    assert!(matches!(error, HttpError::Timeout { .. }), "{error:?}");

    let mut request = secret_post(&format!("http://{at}/stalls"));
    request.idle_timeout = Some(Duration::from_millis(80));
    let mut response = client().send(request).await.unwrap();
    assert_eq!(response.body.next().await.unwrap().unwrap(), "one");
    assert!(matches!(response.body.next().await, Some(Err(HttpError::Timeout { .. }))));
}

#[tokio::test]
async fn connections_are_used_again_and_nothing_is_remembered() {
    let peers = Arc::new(Mutex::new(Vec::new()));
    let cookies = Arc::new(AtomicUsize::new(0));
    let (seen, with_cookie) = (peers.clone(), cookies.clone());
    let app = Router::new().fallback(any(
        move |axum::extract::ConnectInfo(peer): axum::extract::ConnectInfo<SocketAddr>,
              headers: HeaderMap| {
            seen.lock().unwrap().push(peer);
            with_cookie.fetch_add(usize::from(headers.contains_key("cookie")), Ordering::SeqCst);
            async { ([("set-cookie", "id=1; Path=/")], "ok") }
        },
    ));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await
    });
    let client = client();
    for _ in 0..3 {
        let response = client.send(secret_post(&format!("http://{at}/"))).await.unwrap();
        assert_eq!(text(response).await, "ok");
    }
    let peers = peers.lock().unwrap();
    assert!(peers.iter().all(|peer| *peer == peers[0]), "{peers:?}");
    assert_eq!(cookies.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut some = [0; 4096];
        let _ = socket.read(&mut some).await;
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\nabc").await.unwrap();
        socket.read(&mut some).await.unwrap_or(0)
    });
    drop(client().send(secret_post(&format!("http://{at}/"))).await.unwrap());
    let left = tokio::time::timeout(Duration::from_secs(5), server).await.unwrap().unwrap();
    assert_eq!(left, 0, "the server sees the end");
}

// TOO-4
#[tokio::test]
async fn a_confined_client_refuses_inside_addresses_however_they_are_written() {
    let hits = Arc::new(AtomicUsize::new(0));
    let seen = hits.clone();
    let at = serve(Router::new().fallback(any(move || {
        seen.fetch_add(1, Ordering::SeqCst);
        async { "inside" }
    })))
    .await;
    let confined = NetHttp::confined(Arc::new(PublicOnly::default()));
    for host in
        ["127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"]
    {
        let error = fault(confined.send(secret_post(&format!("http://{host}:{}/", at.port()))).await);
        assert!(matches!(error, HttpError::Denied { .. }), "{host}: {error:?}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let listed = NetHttp::confined(Arc::new(PublicOnly::except(["localhost".to_owned()])));
    let response = listed.send(secret_post(&format!("http://localhost:{}/", at.port()))).await.unwrap();
    assert_eq!(text(response).await, "inside");
}

/// Lets a name resolve inside on the first look only.
struct Rebinding(AtomicUsize);

impl Egress for Rebinding {
    fn host(&self, host: &str, _port: u16) -> Result<(), String> {
        if host == "blocked.test" { Err("blocked.test is not listed".to_owned()) } else { Ok(()) }
    }

    fn address(&self, _host: &str, _address: IpAddr) -> Result<(), String> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

// TOO-4
#[tokio::test]
async fn the_checked_addresses_are_the_ones_connected_to() {
    let at = serve(Router::new().fallback(any(|| async { "ok" }))).await;
    let rule = Arc::new(Rebinding(AtomicUsize::new(0)));
    let client = NetHttp::confined(rule.clone());
    let url = format!("http://localhost:{}/", at.port());
    text(client.send(secret_post(&url)).await.unwrap()).await;
    let looks = rule.0.load(Ordering::SeqCst);
    assert!(looks >= 1);
    text(client.send(secret_post(&url)).await.unwrap()).await;
    assert_eq!(rule.0.load(Ordering::SeqCst), looks, "a kept connection is not looked up again");
    let error = fault(client.send(secret_post("http://blocked.test/")).await);
    assert_eq!(
        error.to_string(),
        "http://blocked.test is refused by the network policy: blocked.test is not listed"
    );
}
