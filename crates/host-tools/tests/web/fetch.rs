//! Where `WebFetch` goes, and what it does when things go wrong.

use crate::place::*;
use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use host_net::PublicOnly;
use host_surface::Tool;
use host_tools::{WebFetchTool, WebReach};
use serde_json::json;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

// TOO-4
#[tokio::test]
async fn a_wrong_call_is_refused_before_anything_is_sent() {
    let site = Site::new(|_, _| reply(200, "text/plain", "x")).await;
    let url = site.url("/");
    for (arguments, code) in [
        (json!({"url": "example.org"}), "invalid_url"),
        (json!({"url": ""}), "invalid_url"),
        (json!({"url": format!("https://a.example/{}", "x".repeat(5000))}), "invalid_url"),
        (json!({"url": "http://"}), "invalid_url"),
        (json!({"url": "file:///etc/passwd"}), "unsupported_protocol"),
        (json!({"url": "ftp://a.example/"}), "unsupported_protocol"),
        (json!({"url": "javascript:alert(1)"}), "unsupported_protocol"),
        (json!({"url": "data:text/html,x"}), "unsupported_protocol"),
        (json!({"url": "http://user:pass@127.0.0.1/"}), "url_credentials_rejected"),
        (json!({"url": "http://user@127.0.0.1/"}), "url_credentials_rejected"),
        (json!({"url": url, "headers": {"Cookie": "a=b"}}), "header_rejected"),
        (json!({"url": url, "headers": {"authorization": "x"}}), "header_rejected"),
        (json!({"url": url, "headers": {"Host": "inside"}}), "header_rejected"),
        (json!({"url": url, "headers": {"Accept": "a\r\nX-Evil: 1"}}), "header_rejected"),
        (json!({"url": url, "headers": {"Accept": "a", "accept": "b"}}), "header_rejected"),
        (json!({"url": url, "format": "html"}), "invalid_format"),
        (json!({"url": url, "start_line": 0}), "invalid_range"),
        (json!({"url": url, "max_lines": 10_001}), "invalid_range"),
        (json!({"url": url, "max_output_chars": -1}), "invalid_range"),
        (json!({"url": url, "render": "sometimes"}), "invalid_render_mode"),
        (json!({"url": url, "render": "always", "format": "raw"}), "invalid_render_format"),
        (json!({"url": url, "render": "auto", "format": "raw"}), "invalid_render_format"),
        (json!({"url": url, "render": "always"}), "browser_render_failed"),
        (json!({"url": url, "cookies": "x"}), "invalid_arguments"),
    ] {
        let settled = fetch(arguments.clone()).await;
        assert_eq!(settled.code.as_str(), code, "{arguments}: {}", settled.text());
    }
    assert_eq!(site.count(), 0);
}

// TOO-4
#[tokio::test]
async fn addresses_inside_are_refused_in_every_spelling() {
    let site = Site::new(|_, _| reply(200, "text/plain", "secret")).await;
    let surface = fetcher(confined(Arc::new(PublicOnly::default())), quick()).await;
    let port = site.port;
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "[fd00::1]",
        "[fe80::1]",
        "100.100.100.200",
        "①②⑦.⓪.⓪.①",
    ] {
        let url = format!("http://{host}:{port}/");
        let settled = surface.call("WebFetch", json!({"url": url})).await;
        assert_eq!(settled.code.as_str(), "network_denied", "{host}: {}", settled.text());
    }
    assert_eq!(site.count(), 0);
}

// TOO-4
#[tokio::test]
async fn a_redirect_inside_is_refused_and_nothing_is_sent_there() {
    let inside = Site::new(|_, _| reply(200, "text/plain", "secret")).await;
    let target = format!("http://localhost:{}/", inside.port);
    for status in [301, 302, 303, 307, 308] {
        let to = target.clone();
        let site = Site::new(move |_, _| redirect(status, &to)).await;
        let settled = fetch(json!({"url": site.url("/")})).await;
        assert_eq!(settled.code.as_str(), "redirect_network_denied", "{status}: {}", settled.text());
    }
    for (to, code) in [
        ("file:///etc/passwd", "unsupported_protocol"),
        ("http://u:p@127.0.0.1/", "url_credentials_rejected"),
        ("//169.254.169.254/latest", "redirect_network_denied"),
        ("http://[::1]/", "redirect_network_denied"),
        ("http://", "request_failed"),
    ] {
        let site = Site::new(move |_, _| redirect(302, to)).await;
        let settled = fetch(json!({"url": site.url("/")})).await;
        assert_eq!(settled.code.as_str(), code, "{to}: {}", settled.text());
    }
    assert_eq!(inside.count(), 0);
}

// TOO-4: the policy's list is asked again at every hop.
#[tokio::test]
async fn every_hop_must_be_on_the_list() {
    let site = Site::new(|seen, _| match seen.path.as_str() {
        "/on" => redirect(302, "/there"),
        "/off" => redirect(302, "http://other.example/"),
        _ => reply(200, "text/plain", "arrived"),
    })
    .await;
    let mut settings = quick();
    settings.reach = WebReach::Allowlist(Arc::new(Only(vec!["127.0.0.1"])));
    let surface = fetcher(listed(), settings).await;
    let settled = surface.call("WebFetch", json!({"url": site.url("/on")})).await;
    assert!(settled.text().contains("arrived"), "{}", settled.text());
    assert_eq!(settled.outcome.as_ref().unwrap()["redirectCount"], 1);
    assert!(settled.text().contains("/there"), "the frame names where the text came from");
    let settled = surface.call("WebFetch", json!({"url": site.url("/off")})).await;
    assert_eq!(settled.code.as_str(), "redirect_network_denied");
    let settled = surface.call("WebFetch", json!({"url": "http://other.example/"})).await;
    assert_eq!(settled.code.as_str(), "network_denied");
    assert!(settled.text().contains("sandbox.network"));
}

// TOO-4
#[tokio::test]
async fn five_redirects_are_followed_and_no_sixth() {
    let site = Site::new(|seen, _| {
        let left: u32 = seen.path.trim_start_matches('/').parse().unwrap();
        if left == 0 { reply(200, "text/plain", "end") } else { redirect(302, &format!("/{}", left - 1)) }
    })
    .await;
    assert!(fetch(json!({"url": site.url("/5")})).await.text().contains("end"));
    let settled = fetch(json!({"url": site.url("/6")})).await;
    assert_eq!(settled.code.as_str(), "request_failed");
    assert!(settled.text().contains("more than 5 times"));
}

// TOO-4: the check that counts is the one at the connection, made anew for each.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let site = Site::new(|_, _| {
        let mut response = redirect(302, "/again");
        response.headers_mut().insert("connection", "close".parse().unwrap());
        response
    })
    .await;
    let http = confined(Arc::new(Rebinding { left: Mutex::new(1) }));
    let surface = fetcher(http, quick()).await;
    let settled = surface.call("WebFetch", json!({"url": format!("http://127.0.0.1:{}/", site.port)})).await;
    assert_eq!(settled.code.as_str(), "redirect_network_denied", "{}", settled.text());
    assert_eq!(site.count(), 1);
}

// TOO-4
#[tokio::test]
async fn a_body_over_the_bound_is_not_read_on() {
    let site = Site::new(|seen, _| {
        let endless =
            futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![b'a'; 65_536])));
        match seen.path.as_str() {
            "/endless" => reply(200, "text/plain", Body::from_stream(endless)),
            "/bomb" => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                for _ in 0..64 {
                    gzip.write_all(&vec![b'a'; 1 << 20]).unwrap();
                }
                let mut response = reply(200, "text/plain", gzip.finish().unwrap());
                response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
                response
            }
            _ => {
                let mut response = reply(200, "text/plain", Body::from_stream(endless));
                response.headers_mut().insert("content-length", "99999999999".parse().unwrap());
                response
            }
        }
    })
    .await;
    for path in ["/endless", "/bomb", "/announced"] {
        let settled = fetch(json!({"url": site.url(path)})).await;
        assert_eq!(settled.code.as_str(), "request_failed", "{path}: {}", settled.text());
        assert!(settled.text().contains("20971520 bytes"), "{path}");
        assert!(settled.text().contains("Range"), "{path}");
    }
    assert_eq!(site.count(), 3, "a body that is too large is not asked for again");
}

// TOO-4: a coding that was not asked for is said, not shown as text.
#[tokio::test]
async fn a_foreign_content_encoding_is_named() {
    let site = Site::new(|_, _| {
        let mut response =
            reply(200, "text/plain", vec![0x8b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03]);
        response.headers_mut().insert("content-encoding", "br".parse().unwrap());
        response
    })
    .await;
    let settled = fetch(json!({"url": site.url("/page")})).await;
    assert_eq!(settled.code.as_str(), "unsupported_content_type", "{}", settled.text());
    assert!(settled.text().contains("\"br\""), "{}", settled.text());
}

// TOO-4
#[tokio::test]
async fn slow_bodies_end_with_the_request_and_the_call() {
    let site = Site::new(|_, _| {
        let drip = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        reply(200, "text/plain", Body::from_stream(drip.boxed()))
    })
    .await;
    let mut settings = quick();
    settings.limits.request = Duration::from_millis(150);
    let begun = Instant::now();
    let surface = fetcher(listed(), settings.clone()).await;
    let settled = surface.call("WebFetch", json!({"url": site.url("/")})).await;
    assert_eq!(settled.code.as_str(), "request_failed", "{}", settled.text());
    assert_eq!(settled.outcome.unwrap()["attempts"], 3);
    settings.limits.total = Duration::from_millis(200);
    let surface = fetcher(listed(), settings).await;
    let settled = surface.call("WebFetch", json!({"url": site.url("/")})).await;
    assert_eq!(settled.code.as_str(), "deadline_exceeded");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

// TOO-4
#[tokio::test]
async fn faults_that_pass_are_tried_again_and_others_are_not() {
    for (status, tries) in [(500, 3), (503, 3), (429, 3), (408, 3), (425, 3), (404, 1), (400, 1), (410, 1)] {
        let site = Site::new(move |_, _| reply(status, "text/html", "<p>sorry, <b>no</b></p>")).await;
        let settled = fetch(json!({"url": site.url("/")})).await;
        assert_eq!(settled.code.as_str(), format!("http_{status}"));
        assert_eq!(site.count(), tries, "{status}");
        let text = settled.text();
        assert!(text.contains("BEGIN UNTRUSTED WEB CONTENT") && text.contains("sorry, **no**"), "{text}");
        assert_eq!(settled.outcome.unwrap()["retryable"], tries == 3);
    }
    let site = Site::new(
        |_, before| {
            if before < 2 { reply(503, "", "") } else { reply(200, "text/plain", "at last") }
        },
    )
    .await;
    let settled = fetch(json!({"url": site.url("/")})).await;
    assert!(settled.text().contains("at last"));
    assert_eq!(settled.outcome.unwrap()["attempts"], 3);
    // Nobody listens there.
    let settled = fetch(json!({"url": "http://127.0.0.1:9/"})).await;
    assert_eq!(settled.code.as_str(), "request_failed");
}

// TOO-4
#[tokio::test]
async fn retry_after_is_kept_up_to_its_bound() {
    let wait = |seconds: &'static str| {
        Site::new(move |_, before| {
            let mut response = if before == 0 { reply(429, "", "") } else { reply(200, "text/plain", "ok") };
            response.headers_mut().insert("retry-after", seconds.parse().unwrap());
            response
        })
    };
    let site = wait("1").await;
    let begun = Instant::now();
    assert!(!fetch(json!({"url": site.url("/")})).await.is_error());
    assert!(begun.elapsed() >= Duration::from_secs(1));
    for long in ["60", "Wed, 21 Oct 2065 07:28:00 GMT"] {
        let site = wait(long).await;
        assert_eq!(fetch(json!({"url": site.url("/")})).await.code.as_str(), "http_429");
        assert_eq!(site.count(), 1, "{long}");
    }
}

// TOO-4
#[tokio::test]
async fn only_harmless_headers_are_sent() {
    let site = Site::new(|_, _| reply(200, "text/plain", "x")).await;
    let headers =
        json!({"accept-language": "de", "Range": "bytes=0-9", "User-Agent": "me", "Accept": "text/plain"});
    fetch(json!({"url": site.url("/a?b=1#frag"), "headers": headers})).await;
    let seen = site.seen.lock().unwrap()[0].clone();
    assert_eq!(seen.path, "/a?b=1");
    let mut names: Vec<&str> =
        seen.headers.keys().map(|it| it.as_str()).filter(|it| *it != "accept-encoding").collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-language", "host", "range", "user-agent"]);
    assert_eq!(seen.headers["user-agent"], "me");
}

// TOO-4
#[tokio::test]
async fn gates_are_named_and_never_forced() {
    for (status, body, code) in [
        (401, "<p>log in", "authentication_required"),
        (407, "", "authentication_required"),
        (403, "<p>Verify you are human</p>", "access_challenge"),
        (503, "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", "access_challenge"),
        (200, "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", "access_challenge"),
        (403, "<p>Not for you</p>", "http_403"),
    ] {
        let site = Site::new(move |_, _| reply(status, "text/html", body)).await;
        let settled = fetch(json!({"url": site.url("/")})).await;
        assert_eq!(settled.code.as_str(), code, "{status} {body}: {}", settled.text());
    }
    // A page that writes about captchas is no captcha.
    let article = format!(
        "<article><h1>captcha</h1><p>{}</p></article>",
        "All about captcha and _cf_chl_opt. ".repeat(40)
    );
    let site = Site::new(move |_, _| reply(200, "text/html", article.clone())).await;
    assert!(!fetch(json!({"url": site.url("/")})).await.is_error());
}

// TOO-4
#[tokio::test]
async fn a_long_page_is_gone_on_with_without_another_request() {
    let text: String = (1..=300).map(|it| format!("line {it}\n")).collect();
    let site = Site::new(move |_, _| reply(200, "text/plain", text.clone())).await;
    let surface = fetcher(listed(), quick()).await;
    let url = site.url("/");
    let first = surface.call("WebFetch", json!({"url": url, "max_lines": 100})).await;
    assert!(first.text().contains("lines 1–100 of 300; go on with start_line 101"), "{}", first.text());
    assert!(first.truncated);
    let second = surface.call("WebFetch", json!({"url": url, "start_line": 101, "max_lines": 1})).await;
    assert!(second.text().contains("line 101\n") && !second.text().contains("line 102\n"));
    assert_eq!(second.outcome.unwrap()["cacheHit"], true);
    assert_eq!(site.count(), 1);
    let beyond = surface.call("WebFetch", json!({"url": url, "start_line": 301})).await;
    assert_eq!(beyond.code.as_str(), "invalid_range");
    surface.call("WebFetch", json!({"url": url})).await;
    assert_eq!(site.count(), 2, "from the start it is fetched anew");
}

// TOO-4
#[tokio::test]
async fn the_same_call_twice_at_once_is_one_request() {
    let site = Site::new(|_, _| {
        let late = futures_util::stream::once(async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, std::io::Error>(Bytes::from_static(b"x"))
        });
        reply(200, "text/plain", Body::from_stream(late))
    })
    .await;
    let surface = fetcher(listed(), quick()).await;
    let ask = || surface.call("WebFetch", json!({"url": site.url("/")}));
    let (a, b) = tokio::join!(ask(), ask());
    assert!(!a.is_error() && !b.is_error());
    assert_eq!(site.count(), 1);
}

// TOO-4: nothing of the address is in the record of the outcome.
#[tokio::test]
async fn the_outcome_says_nothing_of_where() {
    let site = Site::new(|_, _| reply(200, "text/html", "<p>hello there</p>")).await;
    let settled = fetch(json!({"url": site.url("/secret?token=abc")})).await;
    let record = settled.outcome.unwrap().to_string();
    assert!(
        !record.contains("secret") && !record.contains("abc") && !record.contains("127.0.0.1"),
        "{record}"
    );
    assert!(host_vocab::may_run_together(WebFetchTool::DECL.effects));
}
