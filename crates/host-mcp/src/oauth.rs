//! OAuth 2.1 for remote servers (MCP-15): tokens that were granted at a login, kept fresh, and the login itself.
//!
//! The protocol's steps (discovery by RFC 9728 and RFC 8414, PKCE, registration, the `iss` check of RFC 9207) are
//! `rmcp`'s; what goes out, what is kept and who is asked is ours. A server whose entry configures a credential
//! never comes here (T3-11).

mod http;
mod vault;

pub use vault::{MemoryVault, TokenVault};

use crate::fault::line_of;
use host_ports::BoxFuture;
use host_ports::http::{Http, HttpRequest, HttpResponse};
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadataSource, OAuthClientConfig,
    WWWAuthenticateParams,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;
use vault::{Kept, KeptStore};

/// How often one connection's life may lead to a login.
const LOGINS_MAX: u32 = 3;
/// A token is renewed this long before it expires.
const RENEW_BEFORE: u64 = 60;
/// The name under which the host registers itself.
const CLIENT_NAME: &str = "mono-agent";

/// The person who grants access, in a browser.
pub trait Consent: Send + Sync {
    /// Where the browser is sent back to.
    fn redirect_uri(&self) -> String;
    /// Shows an address, and gives the address at which the browser came back.
    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<String, String>>;
}

/// Who the host is to an authorization server, where that is known beforehand.
#[derive(Clone, Default)]
pub struct OAuthIdentity {
    /// A client id that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// The address of a client metadata document (`https`), for servers that take one.
    pub metadata_url: Option<String>,
    /// Scopes to ask for instead of those that the server names.
    pub scopes: Vec<String>,
}

/// A way out for what concerns the server at an address.
pub type HttpFor = Arc<dyn Fn(&Url) -> Arc<dyn Http> + Send + Sync>;

/// What OAuth needs of the world.
#[derive(Clone)]
pub struct OAuthPorts {
    /// Where tokens are kept, owner-only.
    pub vault: Arc<dyn TokenVault>,
    /// What discovery and token requests for a server go out by. It should refuse addresses that a public server
    /// has no business to send a client to.
    pub http: HttpFor,
    /// Who the host is.
    pub identity: OAuthIdentity,
    /// Who can be sent to a browser when a server wants it in the middle of work; none = `mcp login` is named.
    pub consent: Option<Arc<dyn Consent>>,
}

/// Why there is no token. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OAuthError(pub String);

impl From<AuthError> for OAuthError {
    fn from(error: AuthError) -> Self {
        OAuthError(line_of(&error.to_string()))
    }
}

/// The tokens of one server.
pub(crate) struct OAuth {
    url: Url,
    ports: OAuthPorts,
    store: KeptStore,
    fresh: Mutex<Option<Fresh>>,
    /// One renewal at a time; the others take what it brought.
    flight: tokio::sync::Mutex<()>,
    logins: AtomicU32,
}

#[derive(Clone)]
struct Fresh {
    token: String,
    /// Seconds since 1970; none = it doesn't say.
    until: Option<u64>,
}

impl Fresh {
    fn is_good(&self) -> bool {
        self.until.is_none_or(|until| now() + RENEW_BEFORE < until)
    }
}

impl OAuth {
    pub(crate) fn new(url: Url, ports: OAuthPorts) -> Self {
        let store = KeptStore::new(Arc::clone(&ports.vault), &url);
        OAuth {
            url,
            ports,
            store,
            fresh: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
            logins: AtomicU32::new(0),
        }
    }

    /// A token that is good now; none = nobody logged in.
    ///
    /// # Errors
    /// Where a token is kept and could not be renewed.
    pub(crate) async fn token(&self) -> Result<Option<String>, OAuthError> {
        if let Some(fresh) = self.fresh().filter(Fresh::is_good) {
            return Ok(Some(fresh.token));
        }
        let Some(kept) = self.store.read().await? else { return Ok(None) };
        match kept_token(&kept) {
            Some(fresh) if fresh.is_good() => Ok(Some(self.take(fresh))),
            Some(stale) => {
                let _flight = self.flight.lock().await;
                self.renewed(&stale.token).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// What to do about a refusal: whether the same request is worth another try now.
    ///
    /// # Errors
    /// Why no token could be had.
    pub(crate) async fn refused(
        &self,
        used: Option<&str>,
        status: u16,
        challenge: Option<&str>,
    ) -> Result<bool, OAuthError> {
        let wants_scope =
            challenge.is_some_and(|it| WWWAuthenticateParams::parse(it, &self.url).is_insufficient_scope());
        if status == 403 && !wants_scope {
            return Ok(false);
        }
        let _flight = self.flight.lock().await;
        let kept = self.store.read().await?;
        if let (Some(kept), Some(used)) = (kept.as_ref().and_then(kept_token), used)
            && kept.token != used
        {
            self.take(kept);
            return Ok(true);
        }
        if let Some(used) = used.filter(|_| status == 401)
            && self.renewed(used).await.is_ok()
        {
            return Ok(true);
        }
        let Some(consent) = self.ports.consent.clone() else { return Ok(false) };
        if self.logins.fetch_add(1, Ordering::Relaxed) >= LOGINS_MAX {
            return Ok(false);
        }
        self.grant(consent.as_ref(), challenge).await?;
        Ok(true)
    }

    /// A login that somebody asked for.
    ///
    /// # Errors
    /// Why nothing was granted.
    pub(crate) async fn login(
        &self,
        consent: &dyn Consent,
        challenge: Option<&str>,
    ) -> Result<(), OAuthError> {
        let _flight = self.flight.lock().await;
        self.grant(consent, challenge).await
    }

    /// A new token for one that is used up. The lock on the vault keeps other processes from spending the same
    /// refresh token.
    async fn renewed(&self, stale: &str) -> Result<String, OAuthError> {
        let _alone = self.store.lock().await?;
        let kept = self.store.read().await?.ok_or_else(|| OAuthError("nobody is logged in".to_owned()))?;
        if let Some(other) = kept_token(&kept).filter(|it| it.token != stale && it.is_good()) {
            return Ok(self.take(other));
        }
        let mut manager = self.manager().await?;
        manager.set_metadata(kept.metadata.clone());
        manager.configure_client(kept.client())?;
        manager.refresh_token().await?;
        let kept = self.store.read().await?.as_ref().and_then(kept_token);
        kept.map(|fresh| self.take(fresh)).ok_or_else(|| OAuthError("no token came back".to_owned()))
    }

    /// The whole way to a grant: discovery, who we are, the browser, the exchange.
    async fn grant(&self, consent: &dyn Consent, challenge: Option<&str>) -> Result<(), OAuthError> {
        let before = self.store.read().await?;
        let mut manager = self.manager().await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err(OAuthError(
                "the server publishes no OAuth metadata, so nobody can log in to it".to_owned(),
            ));
        }
        let metadata = found.metadata;
        manager.set_metadata(metadata.clone());
        let scopes = self.scopes(&manager, before.as_ref(), challenge).await;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let known = before.filter(|kept| {
            kept.metadata.issuer == metadata.issuer && kept.redirect_uri == consent.redirect_uri()
        });
        let client = self.client(&mut manager, &metadata, known.as_ref(), consent, &scopes).await?;
        manager.configure_client(client.clone())?;
        let address = manager.get_authorization_url(&scopes).await?;
        let address =
            Url::parse(&address).map_err(|_| OAuthError("the authorization address is none".to_owned()))?;
        let back = consent.authorize(address).await.map_err(|why| OAuthError(line_of(&why)))?;
        let callback = callback(&back)?;
        self.store.begin(Kept::new(&self.url, &client, metadata)).await?;
        let issuer = callback.issuer.as_deref();
        manager.exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer).await?;
        let kept = self.store.read().await?.as_ref().and_then(kept_token);
        let fresh = kept.ok_or_else(|| OAuthError("no token came back".to_owned()))?;
        self.take(fresh);
        Ok(())
    }

    /// What is asked for: what was granted and what the refusal names, or what the server says at first.
    async fn scopes(
        &self,
        manager: &AuthorizationManager,
        before: Option<&Kept>,
        challenge: Option<&str>,
    ) -> Vec<String> {
        if !self.ports.identity.scopes.is_empty() {
            return self.ports.identity.scopes.clone();
        }
        let params = challenge.map(|it| WWWAuthenticateParams::parse(it, &self.url));
        let granted = before.map(Kept::granted).unwrap_or_default();
        match params.filter(WWWAuthenticateParams::is_insufficient_scope).and_then(|it| it.scope) {
            Some(wanted) => {
                let mut all = granted;
                for scope in wanted.split_whitespace() {
                    if !all.iter().any(|it| it == scope) {
                        all.push(scope.to_owned());
                    }
                }
                all
            }
            None => manager.select_initial_scopes(&[]).await,
        }
    }

    /// Who we are to this authorization server: registered by hand, known from last time, described by a document,
    /// or registered now.
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &rmcp::transport::auth::AuthorizationMetadata,
        known: Option<&Kept>,
        consent: &dyn Consent,
        scopes: &[&str],
    ) -> Result<OAuthClientConfig, OAuthError> {
        let identity = &self.ports.identity;
        let redirect = consent.redirect_uri();
        let owned: Vec<String> = scopes.iter().map(|it| (*it).to_owned()).collect();
        let named = |id: &str| OAuthClientConfig::new(id, redirect.clone()).with_scopes(owned.clone());
        if let Some(id) = &identity.client_id {
            return Ok(match &identity.client_secret {
                Some(secret) => named(id).with_client_secret(secret.clone()),
                None => named(id),
            });
        }
        if let Some(kept) = known {
            return Ok(kept.client().with_scopes(owned));
        }
        let takes_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
        if let (Some(document), Some(true)) =
            (&identity.metadata_url, takes_documents.and_then(|it| it.as_bool()))
        {
            return Ok(named(document));
        }
        Ok(manager.register_client(CLIENT_NAME, &redirect, scopes).await?)
    }

    async fn manager(&self) -> Result<AuthorizationManager, OAuthError> {
        let http = Arc::new(http::OverPort((self.ports.http)(&self.url)));
        let mut manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http).await?;
        manager.set_credential_store(self.store.clone());
        Ok(manager)
    }

    fn fresh(&self) -> Option<Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, fresh: Fresh) -> String {
        let token = fresh.token.clone();
        *self.fresh.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
        token
    }
}

/// Whether a header of an entry is a credential, so that no login stands in for it.
pub fn is_credential_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
}

/// Takes a person through a login to the server at an address.
///
/// # Errors
/// Why nothing was granted.
pub async fn oauth_login(url: &Url, ports: OAuthPorts, consent: &dyn Consent) -> Result<(), OAuthError> {
    let challenge = challenge_of((ports.http)(url).as_ref(), url).await;
    OAuth::new(url.clone(), ports).login(consent, challenge.as_deref()).await
}

/// Forgets what was granted for the server at an address. Gives whether there was anything.
///
/// # Errors
/// Where it could not be taken away.
pub async fn oauth_forget(url: &Url, vault: Arc<dyn TokenVault>) -> Result<bool, OAuthError> {
    let store = KeptStore::new(vault, url);
    let had = store.read().await?.is_some();
    store.clear_all().await?;
    Ok(had)
}

/// What a server says when it is asked something without a token; none = it does not refuse, or can't be reached.
async fn challenge_of(http: &dyn Http, url: &Url) -> Option<String> {
    let ping = serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "ping"});
    let mut request = HttpRequest::post_json(url.clone(), &ping);
    request.headers.insert(
        ::http::header::ACCEPT,
        ::http::HeaderValue::from_static("application/json, text/event-stream"),
    );
    request.head_timeout = Duration::from_secs(15);
    let answer = http.send(request).await.ok()?;
    let refused = matches!(answer.status.as_u16(), 401 | 403);
    challenge(&answer).filter(|_| refused)
}

/// The challenge of a refusal.
pub(crate) fn challenge(answer: &HttpResponse) -> Option<String> {
    let all = answer.headers.get_all(::http::header::WWW_AUTHENTICATE);
    let all: Vec<&str> = all.iter().filter_map(|it| it.to_str().ok()).collect();
    let bearer = all.iter().find(|it| it.to_ascii_lowercase().trim_start().starts_with("bearer"));
    bearer.or(all.first()).map(|it| (*it).to_owned())
}

fn kept_token(kept: &Kept) -> Option<Fresh> {
    let (token, until) = kept.token()?;
    Some(Fresh { token, until })
}

/// What the browser brought back.
fn callback(back: &str) -> Result<AuthorizationCallback, OAuthError> {
    let url = Url::parse(back.trim()).map_err(|_| OAuthError("what came back is no address".to_owned()))?;
    let of = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if let Some(error) = of("error") {
        let why = of("error_description").unwrap_or_default();
        return Err(OAuthError(line_of(&format!("the authorization server refused: {error} {why}"))));
    }
    Ok(AuthorizationCallback::from_redirect_url(url.as_str())?)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
