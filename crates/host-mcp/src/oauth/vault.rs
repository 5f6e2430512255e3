//! Where tokens are kept, and the form in which they are.

use super::OAuthError;
use host_ports::BoxFuture;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, CredentialStore, OAuthClientConfig, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use url::Url;

/// Where tokens outlive the process. What is kept is secret: a file must be its owner's alone.
pub trait TokenVault: Send + Sync {
    /// What is kept under a key (hexadecimal digits).
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>>;
    /// Keeps it in one step.
    fn save<'a>(&'a self, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>>;
    /// Forgets it.
    fn clear<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), String>>;
    /// Holds other processes off a key for as long as what it gives lives.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>, String>>;
}

/// A vault that ends with the process.
#[derive(Default)]
pub struct MemoryVault(Mutex<HashMap<String, Vec<u8>>>);

impl MemoryVault {
    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenVault for MemoryVault {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        let found = self.map().get(key).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn save<'a>(&'a self, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        self.map().insert(key.to_owned(), bytes);
        Box::pin(async { Ok(()) })
    }

    fn clear<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.map().remove(key);
        Box::pin(async { Ok(()) })
    }

    fn lock<'a>(&'a self, _key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>, String>> {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }
}

/// A grant, with what renewing it takes: bound to its server's address and its issuer.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    url: String,
    client_id: String,
    client_secret: Option<String>,
    pub(super) redirect_uri: String,
    pub(super) metadata: AuthorizationMetadata,
    credentials: Option<StoredCredentials>,
}

impl Kept {
    pub(super) fn new(url: &Url, client: &OAuthClientConfig, metadata: AuthorizationMetadata) -> Self {
        Kept {
            url: url.to_string(),
            client_id: client.client_id.clone(),
            client_secret: client.client_secret.clone(),
            redirect_uri: client.redirect_uri.clone(),
            metadata,
            credentials: None,
        }
    }

    pub(super) fn client(&self) -> OAuthClientConfig {
        let client = OAuthClientConfig::new(self.client_id.clone(), self.redirect_uri.clone());
        match &self.client_secret {
            Some(secret) => client.with_client_secret(secret.clone()),
            None => client,
        }
    }

    pub(super) fn granted(&self) -> Vec<String> {
        self.credentials.as_ref().map(|it| it.granted_scopes.clone()).unwrap_or_default()
    }

    /// The access token, and until when it is good in seconds since 1970.
    pub(super) fn token(&self) -> Option<(String, Option<u64>)> {
        let credentials = self.credentials.as_ref()?;
        let answer = serde_json::to_value(credentials.token_response.as_ref()?).ok()?;
        let token = answer.get("access_token")?.as_str()?.to_owned();
        let lives = answer.get("expires_in").and_then(serde_json::Value::as_u64);
        let until = credentials.token_received_at.zip(lives).map(|(from, lives)| from.saturating_add(lives));
        Some((token, until))
    }
}

/// The kept grant of one server, as `rmcp` wants to see it.
#[derive(Clone)]
pub(super) struct KeptStore {
    vault: Arc<dyn TokenVault>,
    key: String,
    url: String,
    /// A login that is underway: what it found out, until the first token comes.
    begun: Arc<Mutex<Option<Kept>>>,
}

impl KeptStore {
    pub(super) fn new(vault: Arc<dyn TokenVault>, url: &Url) -> Self {
        let key = host_vocab::text::hex(&Sha256::digest(url.as_str().as_bytes())[..16]);
        KeptStore { vault, key, url: url.to_string(), begun: Arc::default() }
    }

    /// What is kept; what can't be read counts as nothing.
    pub(super) async fn read(&self) -> Result<Option<Kept>, OAuthError> {
        let bytes = self.vault.load(&self.key).await.map_err(OAuthError)?;
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        Ok(kept.filter(|kept| kept.url == self.url))
    }

    pub(super) async fn lock(&self) -> Result<Box<dyn Send>, OAuthError> {
        self.vault.lock(&self.key).await.map_err(OAuthError)
    }

    pub(super) async fn clear_all(&self) -> Result<(), OAuthError> {
        self.vault.clear(&self.key).await.map_err(OAuthError)
    }

    /// Holds what a login found out ready for its first token.
    pub(super) async fn begin(&self, kept: Kept) -> Result<(), OAuthError> {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(())
    }

    async fn write(&self, kept: &Kept) -> Result<(), AuthError> {
        let failed = |why: String| AuthError::CredentialStoreError(why);
        let bytes = serde_json::to_vec(kept).map_err(|error| failed(error.to_string()))?;
        self.vault.save(&self.key, bytes).await.map_err(failed)
    }
}

#[async_trait::async_trait]
impl CredentialStore for KeptStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.read().await.map_err(|error| AuthError::CredentialStoreError(error.0))?;
        Ok(kept.and_then(|kept| kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let kept = match begun {
            Some(kept) => Some(kept),
            None => self.read().await.map_err(|error| AuthError::CredentialStoreError(error.0))?,
        };
        let mut kept =
            kept.ok_or_else(|| AuthError::CredentialStoreError("no login was begun".to_owned()))?;
        kept.credentials = Some(credentials);
        self.write(&kept).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.vault.clear(&self.key).await.map_err(AuthError::CredentialStoreError)
    }
}
