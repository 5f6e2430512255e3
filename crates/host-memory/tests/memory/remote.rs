//! Servers that speak well or badly: embedders and the remote store.

use bytes::Bytes;
use host_memory::{
    Breaker, BreakerConfig, CompletedTurn, CosineScale, EmbedError, Embedder, Purpose, Refusal, RemoteConfig,
    RemoteEmbedder, RemoteKind, Speaker, Supermemory, SupermemoryConfig,
};
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse};
use host_ports::memory::{OMITTED, Recall as _, RecallError};
use host_vocab::Secret;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Answers by path and keeps what it was asked.
#[derive(Default)]
struct Server {
    answers: Vec<(&'static str, u16, String)>,
    asked: Mutex<Vec<(String, Option<String>, Value)>>,
}

impl Server {
    fn new(answers: &[(&'static str, u16, Value)]) -> Arc<Self> {
        let answers = answers.iter().map(|(path, status, body)| (*path, *status, body.to_string())).collect();
        Arc::new(Server { answers, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<(String, Option<String>, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Http for Server {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        let path = request.url.path().to_owned();
        let key = request.headers.get("authorization").map(|it| {
            assert!(it.is_sensitive());
            it.to_str().unwrap().to_owned()
        });
        let body = serde_json::from_slice(&request.body).unwrap();
        self.asked.lock().unwrap().push((path.clone(), key, body));
        let found = self.answers.iter().find(|it| it.0 == path).cloned();
        Box::pin(async move {
            let Some((_, status, body)) = found else {
                return Err(HttpError::Connect { origin: "http://x".into(), why: "refused".into() });
            };
            let pieces = vec![Ok(Bytes::from(body))];
            Ok(HttpResponse {
                status: http::StatusCode::from_u16(status).unwrap(),
                headers: http::HeaderMap::new(),
                body: Box::pin(futures_util::stream::iter(pieces)),
            })
        })
    }
}

fn embedder(server: Arc<Server>, kind: RemoteKind, endpoint: &str, model: &str) -> RemoteEmbedder {
    let config = RemoteConfig {
        kind,
        endpoint: endpoint.parse().unwrap(),
        model: model.into(),
        dim: 2,
        key: Some(Secret::new("sk-key")),
        timeout: Duration::from_secs(5),
        scale: CosineScale::default(),
    };
    RemoteEmbedder::new(server, config)
}

// REC-2
#[tokio::test]
async fn both_forms_are_spoken() {
    let texts = ["a".to_owned(), "b".to_owned()];
    // The order is the index, not the place.
    let answer = json!({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1.5, 0]}]});
    for endpoint in ["http://localhost:1234", "http://localhost:1234/v1/", "http://localhost:1234/v1"] {
        let server = Server::new(&[("/v1/embeddings", 200, answer.clone())]);
        let it = embedder(server.clone(), RemoteKind::OpenAi, endpoint, "text-embedding-3-small");
        assert_eq!(it.embed(&texts, Purpose::Fact).await, Ok(vec![vec![1.5, 0.0], vec![0.0, 1.0]]));
        let (_, key, body) = server.asked().remove(0);
        assert_eq!(key.as_deref(), Some("Bearer sk-key"));
        assert_eq!(body, json!({"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 2}));
    }
    let server = Server::new(&[("/api/embed", 200, json!({"embeddings": [[1, 2], [3, 4]]}))]);
    let it = embedder(server.clone(), RemoteKind::Ollama, "http://localhost:11434", "nomic-embed-text:v1.5");
    assert_eq!(it.embed(&texts, Purpose::Query).await, Ok(vec![vec![1.0, 2.0], vec![3.0, 4.0]]));
    assert_eq!(server.asked()[0].2["input"][0], "search_query: a");
}

// REC-2
#[tokio::test]
async fn odd_answers_are_no_vectors() {
    let texts = ["a".to_owned()];
    for (status, body) in [
        (500, json!({})),
        (200, json!({})),
        (200, json!({"data": []})),
        (200, json!({"data": [{"embedding": [1]}]})),
        (200, json!({"data": [{"embedding": [1, "x"]}]})),
        (200, json!({"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]})),
        (200, json!({"data": [{"index": 7, "embedding": [1, 2]}]})),
        (200, json!("text")),
    ] {
        let server = Server::new(&[("/v1/embeddings", status, body.clone())]);
        let it = embedder(server, RemoteKind::LmStudio, "http://localhost:1234", "m");
        assert!(it.embed(&texts, Purpose::Fact).await.is_err(), "{body}");
    }
    let it = embedder(Server::new(&[]), RemoteKind::LmStudio, "http://localhost:1234", "m");
    assert_eq!(it.embed(&texts, Purpose::Fact).await, Err(EmbedError::Unreachable));
}

/// A clock whose steady time moves by hand.
struct Steady(Instant, AtomicU64);

impl Clock for Steady {
    fn now_ms(&self) -> i64 {
        0
    }
    fn instant(&self) -> Instant {
        self.0 + Duration::from_secs(self.1.load(Ordering::SeqCst))
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

// REC-2
#[tokio::test]
async fn a_server_that_is_down_is_left_alone() {
    let server = Server::new(&[]);
    let clock = Arc::new(Steady(Instant::now(), AtomicU64::new(0)));
    let inner = Arc::new(embedder(server.clone(), RemoteKind::LmStudio, "http://localhost:1234", "m"));
    let it = Breaker::new(inner, BreakerConfig::default(), clock.clone());
    let texts = ["a".to_owned()];
    for _ in 0..3 {
        assert_eq!(it.embed(&texts, Purpose::Fact).await, Err(EmbedError::Unreachable));
    }
    assert_eq!(it.embed(&texts, Purpose::Fact).await, Err(EmbedError::Open));
    assert_eq!(EmbedError::Open.to_string(), "embedding_circuit_open");
    assert_eq!(server.asked().len(), 3);
    clock.1.store(30, Ordering::SeqCst);
    assert_eq!(it.embed(&texts, Purpose::Fact).await, Err(EmbedError::Unreachable));
    assert_eq!(it.embed(&texts, Purpose::Fact).await, Err(EmbedError::Open));
    assert_eq!(server.asked().len(), 4);
}

fn remote(server: Arc<Server>) -> Supermemory {
    let config = SupermemoryConfig {
        base_url: "http://127.0.0.1:6767/".parse().unwrap(),
        container: Some("ada".into()),
        key: Some(Secret::new("sm-key")),
        timeout: Duration::from_secs(5),
    };
    Supermemory::new(server, Refusal::new(Arc::default(), [("DB_PASSWORD", "Tr0ub4dor")]), config)
}

// REC-2, T10-05
#[tokio::test]
async fn the_remote_store_recalls_safe_lines() {
    let results = json!({"results": [
        {"id": "m1", "memory": "Ada\nprefers tea", "similarity": 0.8, "updatedAt": "2026-09-03T10:00:00Z"},
        {"id": "m2", "memory": "hidden\u{202e}order", "similarity": 0.7},
        {"id": "m3", "memory": "it is Tr0ub4dor", "similarity": 3},
        {"id": "m4"},
    ]});
    let server = Server::new(&[("/v4/search", 200, results)]);
    let hits = remote(server.clone()).recall("tea", 5).await.unwrap().hits;
    let texts: Vec<_> = hits.iter().map(|it| (it.text.as_str(), it.score)).collect();
    assert_eq!(texts, [("Ada prefers tea", 0.8), (OMITTED, 0.7), (OMITTED, 1.0)]);
    assert_eq!(hits[0].created_at, "2026-09-03T10:00:00.000Z");
    let (_, key, body) = server.asked().remove(0);
    assert_eq!((key.as_deref(), &body["containerTag"]), (Some("Bearer sm-key"), &json!("ada")));

    let old =
        json!({"results": [{"documentId": "d1", "chunks": [{"content": "Bob likes figs", "score": 0.6}]}]});
    let server = Server::new(&[("/v4/search", 404, json!({})), ("/v3/search", 200, old)]);
    assert_eq!(remote(server).recall("figs", 5).await.unwrap().hits[0].text, "Bob likes figs");
    let server = Server::new(&[("/v4/search", 500, json!({"error": "secret path /srv"}))]);
    let failed = remote(server).recall("figs", 5).await.unwrap_err();
    assert!(matches!(failed, RecallError::Unavailable { .. }) && !failed.to_string().contains("/srv"));
}

// T10-07
#[tokio::test]
async fn the_remote_store_is_handed_no_secret() {
    let server = Server::new(&[("/v3/documents", 200, json!({"id": "d"}))]);
    let turn = CompletedTurn {
        run: "run-1".into(),
        speaker: Speaker::HumanTurn,
        label: "User".into(),
        said: "my password is hunter2. I like tea.".into(),
        answer: "Noted, Tr0ub4dor.".into(),
    };
    remote(server.clone()).ingest(&turn).await.unwrap();
    let sent = server.asked()[0].2.to_string();
    assert!(sent.contains("I like tea") && sent.contains("run-1"), "{sent}");
    assert!(!sent.contains("hunter2") && !sent.contains("Tr0ub4dor"), "{sent}");
}
