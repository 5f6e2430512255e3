//! An authorization server and the MCP server that it guards, in this process.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use url::Url;

/// Both servers on one port. Tokens are `t1`, `t2` …; the newest alone is good.
pub struct Guarded {
    pub base: Url,
    /// What the callback says of the issuer: `right`, `wrong` or `none`.
    pub iss: Mutex<&'static str>,
    /// Seconds that a token lives.
    pub lives: AtomicUsize,
    pub registered: AtomicUsize,
    pub refreshed: AtomicUsize,
    pub tokens: AtomicUsize,
    /// Paths that were asked for, in order.
    pub seen: Mutex<Vec<String>>,
    /// The challenge of each code.
    codes: Mutex<HashMap<String, String>>,
}

impl Guarded {
    pub async fn start() -> Arc<Guarded> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let guarded = Arc::new(Guarded {
            base,
            iss: Mutex::new("right"),
            lives: AtomicUsize::new(3600),
            registered: AtomicUsize::new(0),
            refreshed: AtomicUsize::new(0),
            tokens: AtomicUsize::new(0),
            seen: Mutex::default(),
            codes: Mutex::default(),
        });
        let app = Router::new().fallback(any(answer)).with_state(Arc::clone(&guarded));
        tokio::spawn(async move { axum::serve(listener, app).await });
        guarded
    }

    pub fn url(&self) -> Url {
        self.base.join("mcp").unwrap()
    }

    fn at(&self, path: &str) -> String {
        self.base.join(path).unwrap().to_string()
    }

    fn issuer(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// What a browser would do at the authorization address: say yes at once.
    pub fn browse(&self, address: &Url) -> String {
        let of = |name: &str| {
            address.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        assert_eq!(of("code_challenge_method").as_deref(), Some("S256"));
        assert_eq!(of("resource").as_deref(), Some(self.url().as_str()));
        let code = format!("code{}", self.codes.lock().unwrap().len());
        self.codes.lock().unwrap().insert(code.clone(), of("code_challenge").unwrap());
        let mut back = Url::parse(&of("redirect_uri").unwrap()).unwrap();
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &of("state").unwrap());
        match *self.iss.lock().unwrap() {
            "right" => back.query_pairs_mut().append_pair("iss", &self.issuer()),
            "wrong" => back.query_pairs_mut().append_pair("iss", "https://evil.example"),
            _ => back.query_pairs_mut().append_pair("x", "y"),
        };
        back.to_string()
    }

    fn token(&self, form: &HashMap<String, String>) -> Response {
        let refused = |error: &str| json_response(400, &json!({"error": error}));
        match form.get("grant_type").map(String::as_str) {
            Some("authorization_code") => {
                let challenge =
                    self.codes.lock().unwrap().remove(form.get("code").map_or("", String::as_str));
                let verifier = form.get("code_verifier").cloned().unwrap_or_default();
                let digest = Sha256::digest(verifier.as_bytes());
                let made = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest);
                if challenge != Some(made) {
                    return refused("invalid_grant");
                }
            }
            Some("refresh_token") => {
                let newest = format!("r{}", self.tokens.load(Ordering::SeqCst));
                if form.get("refresh_token") != Some(&newest) {
                    return refused("invalid_grant");
                }
                self.refreshed.fetch_add(1, Ordering::SeqCst);
            }
            _ => return refused("unsupported_grant_type"),
        }
        let number = self.tokens.fetch_add(1, Ordering::SeqCst) + 1;
        json_response(
            200,
            &json!({"access_token": format!("t{number}"), "token_type": "Bearer", "refresh_token": format!("r{number}"),
                "expires_in": self.lives.load(Ordering::SeqCst)}),
        )
    }
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(body.to_string().into())
        .unwrap()
}

async fn answer(State(guarded): State<Arc<Guarded>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    guarded.seen.lock().unwrap().push(parts.uri.path().to_owned());
    match parts.uri.path() {
        "/.well-known/oauth-protected-resource/mcp" => json_response(
            200,
            &json!({"resource": guarded.url(), "authorization_servers": [guarded.issuer()], "scopes_supported": ["use"]}),
        ),
        "/.well-known/oauth-authorization-server" => json_response(
            200,
            &json!({"issuer": guarded.issuer(), "authorization_endpoint": guarded.at("authorize"),
                "token_endpoint": guarded.at("token"), "registration_endpoint": guarded.at("register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true}),
        ),
        "/register" => {
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let number = guarded.registered.fetch_add(1, Ordering::SeqCst);
            json_response(
                201,
                &json!({"client_id": format!("c{number}"), "redirect_uris": asked["redirect_uris"]}),
            )
        }
        "/token" => {
            let form: HashMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
            guarded.token(&form)
        }
        "/mcp" => mcp(&guarded, parts.headers.get("authorization").and_then(|it| it.to_str().ok()), &body),
        _ => json_response(404, &json!({})),
    }
}

fn mcp(guarded: &Guarded, authorization: Option<&str>, body: &[u8]) -> Response {
    let newest = format!("Bearer t{}", guarded.tokens.load(Ordering::SeqCst));
    if authorization != Some(newest.as_str()) {
        let challenge = format!(
            "Bearer resource_metadata=\"{}\"",
            guarded.at(".well-known/oauth-protected-resource/mcp")
        );
        return Response::builder()
            .status(401)
            .header("www-authenticate", challenge)
            .body("".into())
            .unwrap();
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let result = match body["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "g", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": authorization}]}),
        _ if body.get("id").is_none() => return Response::builder().status(202).body("".into()).unwrap(),
        _ => {
            return json_response(
                200,
                &json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32601, "message": "no"}}),
            );
        }
    };
    json_response(200, &json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
}
