//! Live prompt state at rest, encrypted (ENG-7).

use crate::failure::log_error;
use crate::held::Held;
use crate::key::{self, Key};
use crate::store_core::{blocking, lock};
use crate::{Durability, OpenError, connection, folder, schema};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use host_ports::BoxFuture;
use host_ports::sessions::{Loaded, PromptState, SessionError, Sessions};
use host_vocab::ConversationId;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// `monP`: stored prompts of mono-agent.
const APPLICATION_ID: i32 = 0x6d6f_6e50;
const VERSION: i64 = 1;
/// The largest prompt that is kept, in bytes of JSON.
const PROMPT_BYTES_MAX: usize = 64 * 1024 * 1024;

const TABLES: &str = "
CREATE TABLE prompts(
  id BLOB PRIMARY KEY,
  updated_at INTEGER NOT NULL,
  nonce BLOB NOT NULL,
  sealed BLOB NOT NULL
) STRICT;
";

/// The prompts of all conversations, each sealed with XChaCha20-Poly1305 under an owner-only key and bound
/// to its conversation. Conversations stand in the file as digests; these need no key, so that a prompt whose
/// key is lost is still known to be there.
#[derive(Clone)]
pub struct PromptVault {
    inner: Arc<Inner>,
}

struct Inner {
    conn: Mutex<Option<Connection>>,
    cipher: XChaCha20Poly1305,
    /// The file before this one could not be read, and was kept under another name.
    replaced: AtomicBool,
    /// Last: it goes after the connection.
    _held: Held,
}

impl PromptVault {
    /// Opens the vault below the store's folder, or makes it. A damaged key or file is kept aside under
    /// another name, and what it held is reported as unreadable: the sessions are then reseeded.
    ///
    /// # Errors
    /// Names the file: a key or file that others can read, one of a newer program, or no room.
    pub fn open(dir: &Path, durability: Durability) -> Result<Self, OpenError> {
        folder::private_folder(dir)?;
        let gate = dir.join("sessions.lock");
        let gate = crate::lock::LockFile::wait(&gate).map_err(|e| OpenError::io(&gate, e))?;
        let key_path = key::path(dir, "sessions.key");
        let key = sound_key(&key_path)?;
        if durability == Durability::Full {
            key::sync(&key_path)?;
        }
        let path = dir.join("sessions.sqlite");
        let ((conn, held), replaced) = match open_file(&path, durability) {
            Err(OpenError::Damaged { .. }) => {
                keep_aside(&path)?;
                (open_file(&path, durability)?, true)
            }
            opened => (opened?, false),
        };
        drop(gate);
        Ok(PromptVault {
            inner: Arc::new(Inner {
                conn: Mutex::new(Some(conn)),
                cipher: XChaCha20Poly1305::new((&subkey(&key, "mono-agent.sessions.seal")).into()),
                replaced: AtomicBool::new(replaced),
                _held: held,
            }),
        })
    }

    /// Closes the file in order. Later calls fail.
    pub fn close(&self) {
        drop(lock(&self.inner.conn).take());
    }
}

/// The key. One that can't be a key is kept aside: nothing can be opened with it anyway.
fn sound_key(path: &Path) -> Result<Key, OpenError> {
    match key::read_or_create(path) {
        Err(OpenError::Key { .. }) => {
            tracing::warn!(
                "the key of the stored prompts is damaged; it is kept aside and a new one is made"
            );
            rename_aside(path)?;
            key::read_or_create(path)
        }
        read => read,
    }
}

fn keep_aside(path: &Path) -> Result<(), OpenError> {
    tracing::warn!("the file of stored prompts is damaged; it is kept aside and a new one is made");
    for end in ["-wal", "-shm", ""] {
        let part = schema::suffixed(path, end);
        if part.exists() {
            rename_aside(&part)?;
        }
    }
    Ok(())
}

fn rename_aside(path: &Path) -> Result<(), OpenError> {
    let tag = key::random_hex(4).map_err(|e| OpenError::io(path, e))?;
    let aside = schema::suffixed(path, &format!(".damaged-{tag}"));
    std::fs::rename(path, aside).map_err(|e| OpenError::io(path, e))
}

fn open_file(path: &Path, durability: Durability) -> Result<(Connection, Held), OpenError> {
    let sql = |e| OpenError::sql(path, e);
    // An empty file is one whose making was cut short: it never held anything.
    let fresh = folder::private_file(path)?.is_none_or(|stat| stat.st_size == 0);
    if !path.exists() {
        drop(folder::create_private(path)?);
    }
    if !fresh {
        schema::check_header(path, APPLICATION_ID, VERSION)?;
    }
    let held = Held::of(path);
    let conn = connection::open(path, None).map_err(sql)?;
    if fresh {
        if durability == Durability::Process {
            // There is nothing to lose yet, so a start need not wait for the disk.
            connection::pragma(&conn, "PRAGMA synchronous = OFF").map_err(sql)?;
        }
        connection::pragma(&conn, "PRAGMA auto_vacuum = INCREMENTAL").map_err(sql)?;
        connection::pragma(&conn, &format!("PRAGMA application_id = {APPLICATION_ID}")).map_err(sql)?;
    }
    connection::pragma(&conn, "PRAGMA journal_mode = WAL").map_err(sql)?;
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sql)?;
    if version == 0 {
        let make = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
        conn.execute_batch(&make).map_err(sql)?;
    } else {
        conn.query_row(
            "SELECT count(*) FROM (SELECT id, updated_at, nonce, sealed FROM prompts LIMIT 1)",
            [],
            |_| Ok(()),
        )
        .map_err(|e| match e.sqlite_error_code() {
            Some(rusqlite::ErrorCode::Unknown) => OpenError::damaged(path, "its table is missing"),
            _ => sql(e),
        })?;
    }
    connection::prepare_writer(&conn, durability).map_err(sql)?;
    // No append path stands behind this file: it may checkpoint by itself.
    connection::pragma(&conn, "PRAGMA wal_autocheckpoint = 1000").map_err(sql)?;
    Ok((conn, held))
}

fn subkey(key: &Key, purpose: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key[..]).expect("HMAC takes a key of any length");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

/// What stands for a conversation in the file.
fn name_of(conversation: &ConversationId) -> [u8; 32] {
    let mut sha = Sha256::new();
    sha.update(b"mono-agent.sessions.name\0");
    sha.update(conversation.as_str());
    sha.finalize().into()
}

/// A prompt as it stands in the file.
struct Sealed {
    nonce: Vec<u8>,
    bytes: Vec<u8>,
}

impl Inner {
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, SessionError> {
        let conn = lock(&self.conn);
        let conn = conn.as_ref().ok_or_else(|| SessionError("the store is closed".to_owned()))?;
        work(conn).map_err(|error| {
            // The log's words, about another file.
            SessionError(log_error(&error).to_string().replace("the log", "the store of prompts"))
        })
    }

    fn load(&self, conversation: &ConversationId) -> Loaded {
        let name = name_of(conversation);
        let found = self.with(|conn| {
            conn.prepare_cached("SELECT nonce, sealed FROM prompts WHERE id = ?1")?
                .query_row([&name[..]], |row| Ok(Sealed { nonce: row.get(0)?, bytes: row.get(1)? }))
                .optional()
        });
        match found {
            Err(error) => Loaded::Unreadable(error.0),
            Ok(None) => self.absent(),
            Ok(Some(sealed)) => self.unseal(conversation, &sealed),
        }
    }

    fn absent(&self) -> Loaded {
        if self.replaced.load(Ordering::Relaxed) {
            return Loaded::Unreadable("the file of stored prompts was damaged; it is kept aside".to_owned());
        }
        Loaded::Nothing
    }

    fn unseal(&self, conversation: &ConversationId, sealed: &Sealed) -> Loaded {
        let Ok(nonce) = <[u8; 24]>::try_from(&sealed.nonce[..]) else {
            return Loaded::Unreadable("the stored prompt is damaged".to_owned());
        };
        let payload = Payload { msg: &sealed.bytes, aad: conversation.as_str().as_bytes() };
        let Ok(json) = self.cipher.decrypt(&XNonce::from(nonce), payload).map(Zeroizing::new) else {
            return Loaded::Unreadable(
                "the stored prompt can't be opened: damaged, or sealed with another key".to_owned(),
            );
        };
        match serde_json::from_slice(&json) {
            Ok(state) => Loaded::State(state),
            Err(_) => {
                Loaded::Unreadable("the stored prompt has a form that this program does not know".to_owned())
            }
        }
    }

    fn save(&self, conversation: &ConversationId, state: &PromptState) -> Result<(), SessionError> {
        let json = serde_json::to_vec(state)
            .map(Zeroizing::new)
            .map_err(|_| SessionError("it can't be written as JSON".to_owned()))?;
        if json.len() > PROMPT_BYTES_MAX {
            return Err(SessionError(format!(
                "{} bytes are over the limit of {PROMPT_BYTES_MAX}",
                json.len()
            )));
        }
        let mut nonce = [0u8; 24];
        key::random(&mut nonce).map_err(|_| SessionError("there is no randomness".to_owned()))?;
        let payload = Payload { msg: &json, aad: conversation.as_str().as_bytes() };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SessionError("it could not be sealed".to_owned()))?;
        let name = name_of(conversation);
        self.with(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO prompts(id, updated_at, nonce, sealed) VALUES(?1, ?2, ?3, ?4)",
            )?
            .execute(params![&name[..], state.updated_at, &nonce[..], sealed])
        })?;
        Ok(())
    }

    fn clear(&self) -> Result<(u64, u64), SessionError> {
        let counted = self.with(|conn| {
            conn.execute_batch("BEGIN IMMEDIATE")?;
            let cleared = conn
                .query_row("SELECT count(*), coalesce(sum(length(sealed)), 0) FROM prompts", [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .and_then(|counted| {
                    conn.execute("DELETE FROM prompts", [])?;
                    conn.execute_batch("COMMIT")?;
                    Ok(counted)
                });
            if cleared.is_err() && !conn.is_autocommit() {
                let _ = conn.execute_batch("ROLLBACK");
            }
            let counted = cleared?;
            // The sealed bytes leave the files too, where no other process reads just now.
            connection::pragma(conn, "PRAGMA incremental_vacuum")?;
            connection::pragma(conn, "PRAGMA wal_checkpoint(TRUNCATE)")?;
            Ok(counted)
        })?;
        self.replaced.store(false, Ordering::Relaxed);
        Ok(counted)
    }
}

fn stopped() -> SessionError {
    SessionError("the runtime stopped under it".to_owned())
}

impl Sessions for PromptVault {
    fn load(&self, conversation: &ConversationId) -> BoxFuture<'_, Loaded> {
        let (inner, conversation) = (self.inner.clone(), conversation.clone());
        Box::pin(async move {
            let loaded = blocking(move || Ok(inner.load(&conversation)), stopped).await;
            loaded.unwrap_or_else(|error: SessionError| Loaded::Unreadable(error.0))
        })
    }

    fn save(
        &self,
        conversation: &ConversationId,
        state: &PromptState,
    ) -> BoxFuture<'_, Result<(), SessionError>> {
        let (inner, conversation, state) = (self.inner.clone(), conversation.clone(), state.clone());
        Box::pin(blocking(move || inner.save(&conversation, &state), stopped))
    }

    fn forget(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), SessionError>> {
        let (inner, name) = (self.inner.clone(), name_of(conversation));
        let work = move || {
            inner.with(|conn| conn.execute("DELETE FROM prompts WHERE id = ?1", [&name[..]])).map(|_| ())
        };
        Box::pin(blocking(work, stopped))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(u64, u64), SessionError>> {
        let inner = self.inner.clone();
        Box::pin(blocking(move || inner.clear(), stopped))
    }
}
