//! Who is answered, and with what.

use super::kit::*;
use host_console::*;
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

// WEB-4
#[tokio::test]
async fn every_answer_carries_the_policy_and_a_foreign_page_gets_nothing() {
    let kit = Kit::new().await;
    for path in ["/", "/agents/a/chats/x", "/api/v1/bootstrap", "/api/v1/nothing", "/assets/none.js"] {
        let got = kit.send(Method::GET, path, &[("host", "localhost:5050")], vec![]).await;
        let policy = got.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        assert_eq!(got.headers["x-content-type-options"], "nosniff", "{path}");
    }
    let foreign = kit.send(Method::GET, "/api/v1/bootstrap", &[("host", "evil.example")], vec![]).await;
    assert_eq!((foreign.status, &foreign.json()["error"]["code"]), (403, &json!("host_refused")));
    let headers = [("host", "localhost"), ("origin", "http://evil.example"), ("x-mono-agent-console", "1")];
    let foreign = kit.send(Method::POST, "/api/v1/threads", &headers, vec![]).await;
    assert_eq!((foreign.status, &foreign.json()["error"]["code"]), (403, &json!("origin_refused")));
    let form = [("host", "localhost"), ("origin", "http://localhost"), ("content-type", "text/plain")];
    assert_eq!(kit.send(Method::POST, "/api/v1/threads", &form, b"{}".to_vec()).await.status, 403);
    assert_eq!(
        kit.send(Method::OPTIONS, "/api/v1/threads", &[("host", "localhost")], vec![]).await.status,
        403
    );
    assert_eq!(
        kit.send(Method::GET, "/%2e%2e/%2e%2e/etc/passwd", &[("host", "localhost")], vec![]).await.status,
        200
    );
}

// WEB-4, CHN-2
#[tokio::test]
async fn beyond_this_machine_everything_but_the_login_wants_a_login() {
    let token = "0123456789abcdef0123";
    let access = Access::Token(LoginToken::new(token).unwrap());
    let kit = Kit::with(access, Arc::default(), vec![]).await;
    let got = kit.call(Method::GET, "/bootstrap", Value::Null).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (401, &json!("login_required")));
    assert_eq!(kit.post("/login", json!({"token": "wrong"})).await.json()["error"]["code"], "login_failed");
    let logged = kit.post("/login", json!({"token": token})).await;
    assert_eq!(logged.status, 204);
    let cookie = logged.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let headers = [("host", "localhost"), ("cookie", cookie.as_str())];
    assert_eq!(kit.send(Method::GET, "/api/v1/bootstrap", &headers, vec![]).await.status, 200);
    // The page itself is no secret: it shows the form.
    assert_eq!(kit.send(Method::GET, "/", &[("host", "localhost")], vec![]).await.status, 200);
}

// WEB-1: what is written by others is saved, never run.
#[tokio::test]
async fn an_upload_is_bounded_and_comes_back_as_a_download() {
    let kit = Kit::new().await;
    let headers = [
        ("host", "localhost"),
        ("origin", "http://localhost"),
        ("x-mono-agent-console", "1"),
        ("content-type", "text/html"),
        ("x-file-name", "a%22%0d%0aSet-Cookie%3a%20x%2f..%2fy.html"),
    ];
    let got = kit.send(Method::POST, "/api/v1/uploads", &headers, b"<script>".to_vec()).await;
    assert_eq!(got.status, 201, "{:?}", got.body);
    let id = got.json()["id"].as_str().unwrap().to_owned();
    let back = kit.call(Method::GET, &format!("/uploads/{id}?inline=1"), Value::Null).await;
    assert_eq!(back.headers["content-type"], "application/octet-stream", "HTML is never shown inline");
    assert!(back.headers["content-disposition"].to_str().unwrap().starts_with("attachment; filename=\""));
    assert_eq!(back.headers["accept-ranges"], "none");
    let large = kit.send(Method::POST, "/api/v1/uploads", &headers, vec![0; 20 * 1024 * 1024 + 1]).await;
    assert_eq!((large.status, &large.json()["error"]["code"]), (413, &json!("too_large")));
}

// WEB-1: bad input is named, and nothing is done.
#[tokio::test]
async fn bad_input_is_named() {
    let kit = Kit::new().await;
    let thread = kit.thread().await;
    let path = format!("/threads/{thread}/submissions");
    let cases = [
        (json!({"id": "x", "text": "a"}), "id"),
        (json!({"id": submission("")["id"], "text": "  "}), "text"),
        (json!({"id": submission("")["id"], "text": "a".repeat(200_001)}), "text"),
        (json!({"id": submission("")["id"], "text": "a", "attachments": ["none"]}), "attachments"),
        (json!({"id": submission("")["id"], "text": "a", "quote": {"messageId": "m", "text": "q"}}), "quote"),
    ];
    for (body, field) in cases {
        let got = kit.post(&path, body).await;
        assert!(got.status == 400 || got.status == 413, "{field}");
        assert_eq!(got.json()["error"]["field"], field);
    }
    assert_eq!(kit.call(Method::GET, "/threads?cursor=zz", Value::Null).await.status, 400);
    assert_eq!(
        kit.call(Method::PATCH, "/settings", json!({"theme": "pink"})).await.json()["error"]["field"],
        "theme"
    );
    assert_eq!(kit.call(Method::PATCH, "/settings", json!({"nothing": 1})).await.status, 400);
    assert_eq!(kit.call(Method::PATCH, "/settings", json!({"theme": "dark"})).await.json()["theme"], "dark");
    let page = kit.send(Method::GET, "/", &[("host", "localhost")], vec![]).await;
    assert!(String::from_utf8_lossy(&page.body).contains("data-theme=\"dark\""), "before the first paint");
    let tag = page.headers["etag"].to_str().unwrap().to_owned();
    let again = kit.send(Method::GET, "/", &[("host", "localhost"), ("if-none-match", &tag)], vec![]).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
}

// WEB-1
#[tokio::test]
async fn an_agents_views_are_asked_of_the_agent() {
    let kit = Kit::new().await;
    let asked = kit.get("/agents/a/runs/search?q=two%20words&limit=5").await["asked"].clone();
    assert_eq!(asked["view"], "runs");
    assert_eq!((&asked["query"], &asked["limit"]), (&json!("two words"), &json!(5)));
    assert_eq!(kit.get("/agents/a/memory/days/2026-11-30").await["asked"]["date"], "2026-11-30");
    let card = &kit.get("/agents").await["agents"][0];
    assert_eq!((&card["state"], &card["counts"]["ask"]), (&json!("online"), &json!(1)));
}
