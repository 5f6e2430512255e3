//! The web console over this user's agents: its store, its uploads, and the way to each agent's socket.

mod hosts;
mod link;
mod uploads;

use crate::clock::SystemClock;
use host_console::{Access, Console, ConsoleParts, LoginToken};
use host_files::state;
use host_http::{HostEntry, HostRegistry};
use host_store::{ConsoleOpenError, ConsoleRows};
use hosts::{Hosts, SocketHosts};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uploads::UploadFolder;

/// Which agents a console shows.
#[derive(Debug, Clone)]
pub enum ConsoleAgents {
    /// All of the user whose home this is.
    OfHome(PathBuf),
    /// One.
    One(HostEntry),
}

/// How a console is opened.
#[derive(Debug, Clone)]
pub struct ConsoleOptions {
    /// Its own folder: rows, uploads, login token.
    pub folder: PathBuf,
    /// The agents.
    pub agents: ConsoleAgents,
    /// Whether it listens beyond this machine, so that a login is needed.
    pub needs_login: bool,
    /// Names besides the loopback ones that it is reached by.
    pub names: Vec<String>,
    /// Its own name.
    pub name: String,
}

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// Its store.
    #[error(transparent)]
    Store(#[from] ConsoleOpenError),
    /// Its rows.
    #[error("the console's store can't be read: {0}")]
    Rows(#[from] host_console::StoreError),
    /// Its folder.
    #[error(transparent)]
    Folder(#[from] state::StateError),
    /// The login token.
    #[error("{} holds no token of at least 16 characters; remove the file, and a new one is made", .0.display())]
    Token(PathBuf),
    /// No random number.
    #[error("the system gave no random number for the login token")]
    Random,
}

/// Where the login token of a console is.
pub fn token_file(folder: &Path) -> PathBuf {
    folder.join("token")
}

/// Opens a console. Nothing listens yet.
///
/// # Errors
/// See [`ConsoleError`].
pub fn open_console(options: &ConsoleOptions) -> Result<Arc<Console>, ConsoleError> {
    state::ensure_private_dir(&options.folder)?;
    let store = ConsoleRows::open(&options.folder)?;
    let access = if options.needs_login {
        Access::Token(token(&token_file(&options.folder))?)
    } else {
        Access::Loopback
    };
    let hosts = match &options.agents {
        ConsoleAgents::OfHome(home) => Hosts::Registry(HostRegistry::of_home(home)),
        ConsoleAgents::One(entry) => Hosts::One(entry.clone()),
    };
    Ok(Console::open(ConsoleParts {
        store: Arc::new(store),
        hosts: Arc::new(SocketHosts::new(hosts)),
        uploads: Arc::new(UploadFolder::new(options.folder.join("uploads"))),
        clock: Arc::new(SystemClock),
        access,
        names: options.names.clone(),
        name: options.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })?)
}

/// The login token: what the file holds, else a new one.
fn token(file: &Path) -> Result<LoginToken, ConsoleError> {
    let text = match state::read_bounded(file, 4096) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) if error.is_not_found() => {
            let mut random = [0_u8; 24];
            getrandom::fill(&mut random).map_err(|_| ConsoleError::Random)?;
            let made = host_vocab::text::hex(&random);
            state::write_atomic(file, format!("{made}\n").as_bytes(), 0o600)?;
            made
        }
        Err(error) => return Err(error.into()),
    };
    LoginToken::new(&text).ok_or_else(|| ConsoleError::Token(file.to_owned()))
}

fn no_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}
