//! The socket files and the threads behind them.

use super::{EgressLog, http, socks};
use crate::network::Network;
use crate::scratch::Scratch;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Connections of one sandbox at once.
const CONNECTIONS_MAX: usize = 128;
/// How long a client may take to say what it wants.
const ASK_MAX: Duration = Duration::from_secs(30);
/// How long an open connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// The proxies that are in use, one for each network rule.
pub(crate) struct Proxies {
    log: Arc<dyn EgressLog>,
    open: Mutex<Vec<(Network, Weak<Server>)>>,
}

/// A use of a proxy.
pub(crate) struct ProxySocket(Arc<Server>);

struct Server {
    _folder: Scratch,
    socket: PathBuf,
    over: Arc<AtomicBool>,
}

impl ProxySocket {
    /// The socket file.
    pub(crate) fn path(&self) -> &Path {
        &self.0.socket
    }
}

impl Proxies {
    pub(crate) fn new(log: Arc<dyn EgressLog>) -> Self {
        Proxies { log, open: Mutex::default() }
    }

    /// The proxy for a rule, started if it isn't there.
    pub(crate) fn open(&self, network: &Network) -> io::Result<ProxySocket> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, server)| server.strong_count() > 0);
        let known = open.iter().find(|(rule, _)| rule == network).and_then(|(_, server)| server.upgrade());
        if let Some(server) = known {
            return Ok(ProxySocket(server));
        }
        let server = Arc::new(Server::start(network.clone(), Arc::clone(&self.log))?);
        open.push((network.clone(), Arc::downgrade(&server)));
        Ok(ProxySocket(server))
    }
}

impl Server {
    fn start(network: Network, log: Arc<dyn EgressLog>) -> io::Result<Self> {
        let folder = Scratch::make("")?;
        let socket = folder.path().join("proxy.sock");
        let listener = UnixListener::bind(&socket)?;
        // The folder lets nobody in but us; inside a sandbox the socket alone is shown, to whoever the child is.
        std::fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let busy = Arc::new(AtomicUsize::new(0));
        std::thread::Builder::new().name("egress".to_owned()).spawn(move || {
            for client in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(client) = client else { continue };
                if busy.load(Ordering::SeqCst) >= CONNECTIONS_MAX {
                    continue;
                }
                busy.fetch_add(1, Ordering::SeqCst);
                let (network, log, busy) = (network.clone(), Arc::clone(&log), Arc::clone(&busy));
                std::thread::spawn(move || {
                    let _ = serve(client, &network, log.as_ref());
                    busy.fetch_sub(1, Ordering::SeqCst);
                });
            }
        })?;
        Ok(Server { _folder: folder, socket, over })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread, so that it sees that it is over.
        let _ = UnixStream::connect(&self.socket);
    }
}

/// One client: SOCKS5 if it begins with a 5, HTTP otherwise.
fn serve(mut client: UnixStream, network: &Network, log: &dyn EgressLog) -> io::Result<()> {
    client.set_read_timeout(Some(ASK_MAX))?;
    client.set_write_timeout(Some(ASK_MAX))?;
    let mut first = [0; 1];
    client.read_exact(&mut first)?;
    let upstream = if first[0] == 5 {
        socks::ask(&mut client, network, log)?
    } else {
        http::ask(&mut client, first[0], network, log)?
    };
    match upstream {
        Some(upstream) => join(client, upstream),
        None => Ok(()),
    }
}

fn join(client: UnixStream, upstream: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(SILENCE_MAX))?;
    upstream.set_read_timeout(Some(SILENCE_MAX))?;
    let (mut from_client, mut to_upstream) = (client.try_clone()?, upstream.try_clone()?);
    let up = std::thread::spawn(move || {
        let _ = copy(&mut from_client, &mut to_upstream);
        let _ = to_upstream.shutdown(Shutdown::Write);
    });
    let (mut from_upstream, mut to_client) = (upstream, client);
    let _ = copy(&mut from_upstream, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Both);
    let _ = from_upstream.shutdown(Shutdown::Both);
    let _ = up.join();
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    io::copy(from, to).map(|_| ())
}
