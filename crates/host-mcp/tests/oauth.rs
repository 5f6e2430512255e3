//! OAuth against a local authorization server (MCP-15).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use host_mcp::{
    Consent, McpPool, McpServerConfig, MemoryVault, OAuthIdentity, OAuthPorts, PoolOptions, TokenVault,
    oauth_forget, oauth_login,
};
use host_net::{NetHttp, NetSettings};
use host_ports::BoxFuture;
use host_surface::How;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::guarded::Guarded;
use support::*;
use url::Url;

struct Yes(Arc<Guarded>);

impl Consent for Yes {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<String, String>> {
        let back = self.0.browse(&address);
        Box::pin(async move { Ok(back) })
    }
}

fn ports(vault: &Arc<MemoryVault>) -> OAuthPorts {
    OAuthPorts {
        vault: Arc::clone(vault) as _,
        http: Arc::new(|_: &Url| Arc::new(NetHttp::new(NetSettings::default())) as _),
        identity: OAuthIdentity::default(),
        consent: None,
    }
}

fn pool_of(guarded: &Guarded, vault: &Arc<MemoryVault>) -> McpPool {
    let mut config = McpServerConfig::http(server_name("g"), guarded.url());
    config.timeout = Duration::from_secs(10);
    pool_with(vec![config], PoolOptions { oauth: Some(ports(vault)), ..options() })
}

async fn log_in(guarded: &Arc<Guarded>, vault: &Arc<MemoryVault>) -> Result<(), String> {
    let done = oauth_login(&guarded.url(), ports(vault), &Yes(Arc::clone(guarded))).await;
    done.map_err(|error| error.to_string())
}

// MCP-15
#[tokio::test]
async fn without_a_login_the_way_to_one_is_named_and_nothing_is_looked_up() {
    let guarded = Guarded::start().await;
    let pool = pool_of(&guarded, &Arc::default());
    let (_, why) = withheld(&surface(&pool).await, "mcp__g__*").unwrap();
    assert!(why.contains("mcp login"), "{why}");
    assert!(
        guarded.seen.lock().unwrap().iter().all(|path| path == "/mcp"),
        "no discovery without being asked"
    );
    pool.shutdown().await;
}

// MCP-15: discovery, registration, PKCE, the exchange; the token is used, and a forgotten one is not.
#[tokio::test]
async fn a_login_is_used_from_then_on() {
    let (guarded, vault) = (Guarded::start().await, Arc::default());
    log_in(&guarded, &vault).await.unwrap();
    assert_eq!(guarded.registered.load(Ordering::SeqCst), 1);
    let pool = pool_of(&guarded, &vault);
    let settled = call(&surface(&pool).await, "mcp__g__ping", json!({})).await;
    assert_eq!((settled.how, settled.text().as_str()), (How::Done, "Bearer t1"));
    pool.shutdown().await;
    assert!(oauth_forget(&guarded.url(), Arc::clone(&vault) as Arc<dyn TokenVault>).await.unwrap());
    let pool = pool_of(&guarded, &vault);
    assert!(withheld(&surface(&pool).await, "mcp__g__*").is_some());
    pool.shutdown().await;
}

// MCP-15: one renewal, however many ask; and a token that the server takes no more is renewed once.
#[tokio::test]
async fn a_token_is_renewed_once_for_all() {
    let (guarded, vault) = (Guarded::start().await, Arc::default());
    guarded.lives.store(30, Ordering::SeqCst);
    log_in(&guarded, &vault).await.unwrap();
    guarded.lives.store(3600, Ordering::SeqCst);
    let pool = pool_of(&guarded, &vault);
    let surface = surface(&pool).await;
    let calls = (0..8).map(|_| call(&surface, "mcp__g__ping", json!({})));
    for settled in futures_util::future::join_all(calls).await {
        assert_eq!((settled.how, settled.text().as_str()), (How::Done, "Bearer t2"));
    }
    assert_eq!(guarded.refreshed.load(Ordering::SeqCst), 1);
    // The server forgets t2: eight calls, one renewal.
    guarded.tokens.fetch_add(1, Ordering::SeqCst);
    let settled = call(&surface, "mcp__g__ping", json!({})).await;
    assert_eq!(settled.code.as_str(), "mcp_unauthorized", "r2 is not the newest, so it can't be renewed");
    pool.shutdown().await;
}

// MCP-15: an answer of another issuer, or of none where one is promised, is no grant.
#[tokio::test]
async fn the_issuer_of_the_answer_is_checked() {
    for (iss, good) in [("right", true), ("wrong", false), ("none", false)] {
        let (guarded, vault) = (Guarded::start().await, Arc::default());
        *guarded.iss.lock().unwrap() = iss;
        let done = log_in(&guarded, &vault).await;
        assert_eq!(done.is_ok(), good, "{iss}: {done:?}");
        assert_eq!(guarded.tokens.load(Ordering::SeqCst), usize::from(good), "{iss}: no code is spent");
    }
}
