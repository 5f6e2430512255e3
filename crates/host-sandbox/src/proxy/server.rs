//! The threads behind a child's port: the port is inside, the threads are here.

use super::http::Connected;
use super::{EgressLog, http, socks};
use crate::broker::{self, Session};
use crate::network::{Network, is_loopback_name};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections of one child at once.
const CONNECTIONS_MAX: usize = 128;
/// How long a client may take to say what it wants.
const ASK_MAX: Duration = Duration::from_secs(30);
/// How long an open connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// What holds for one child's way out.
pub(crate) struct Rules {
    pub(crate) network: Network,
    pub(crate) log: Arc<dyn EgressLog>,
    /// The secrets that are lent to it.
    pub(crate) session: Option<Arc<Session>>,
}

/// The way out of one child. Dropping it closes the port; what is connected ends with the child.
pub(crate) struct WayOut(Arc<OwnedFd>);

impl Drop for WayOut {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

/// Waits for the port that the helper opens inside, and serves it.
pub(crate) fn serve(rules: Rules, forward: OwnedFd) -> io::Result<WayOut> {
    let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let over = Arc::clone(&stop);
    std::thread::Builder::new().name("egress".to_owned()).spawn(move || {
        if let Some(Ok(listener)) = readable(&forward, &over).then(|| port(&forward)) {
            drop(forward);
            accept(&listener, &Arc::new(rules), &over);
        }
    })?;
    Ok(WayOut(stop))
}

/// Waits until something can be read there; `false` = it is over.
fn readable(fd: &impl rustix::fd::AsFd, over: &OwnedFd) -> bool {
    loop {
        let mut fds = [PollFd::new(fd, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[1].revents().is_empty() => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The port, as the helper hands it out.
fn port(forward: &OwnedFd) -> io::Result<TcpListener> {
    let mut byte = [0; 1];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut room);
    recvmsg(forward, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    let listener = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    // The helper is gone, which its own report explains.
    listener.map(TcpListener::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn accept(listener: &TcpListener, rules: &Arc<Rules>, over: &OwnedFd) {
    let busy = Arc::new(AtomicUsize::new(0));
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while readable(listener, over) {
        let Ok((client, _)) = listener.accept() else { continue };
        if busy.load(Ordering::SeqCst) >= CONNECTIONS_MAX || client.set_nonblocking(false).is_err() {
            continue;
        }
        busy.fetch_add(1, Ordering::SeqCst);
        let (rules, count) = (Arc::clone(rules), Arc::clone(&busy));
        let started = std::thread::Builder::new().name("egress".to_owned()).spawn(move || {
            let _ = answer(client, &rules);
            count.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            busy.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// One client: SOCKS5 if it begins with a 5, HTTP otherwise.
fn answer(mut client: TcpStream, rules: &Rules) -> io::Result<()> {
    client.set_read_timeout(Some(ASK_MAX))?;
    client.set_write_timeout(Some(ASK_MAX))?;
    let mut first = [0; 1];
    client.read_exact(&mut first)?;
    let (network, log) = (&rules.network, rules.log.as_ref());
    let connected = if first[0] == 5 {
        socks::ask(&mut client, network, log)?
    } else {
        http::ask(&mut client, first[0], network, log)?
    };
    let Some(Connected { mut upstream, place, request }) = connected else { return Ok(()) };
    client.set_read_timeout(Some(SILENCE_MAX))?;
    upstream.set_read_timeout(Some(SILENCE_MAX))?;
    let session = rules.session.as_deref().filter(|session| session.covers(&place.host));
    match (session, request) {
        // A secret leaves this machine under TLS alone.
        (Some(session), Some(request)) if is_loopback_name(&place.host) => {
            broker::plain(session, log, &place, &request, &mut client, &mut upstream)
        }
        (Some(session), None) if begins_tls(&client, &upstream)? => {
            broker::intercept(session, log, &place, client, upstream)
        }
        (_, request) => {
            upstream.write_all(&request.unwrap_or_default())?;
            join(client, upstream)
        }
    }
}

/// Whether the client speaks first, and begins TLS (RFC 8446, 5.1).
fn begins_tls(client: &TcpStream, upstream: &TcpStream) -> io::Result<bool> {
    const HANDSHAKE: u8 = 22;
    let mut fds = [PollFd::new(client, PollFlags::IN), PollFd::new(upstream, PollFlags::IN)];
    poll(&mut fds, Some(&crate::spawner::timespec(SILENCE_MAX)))?;
    if fds[0].revents().is_empty() {
        return Ok(false);
    }
    let mut first = [0; 1];
    Ok(client.peek(&mut first)? == 1 && first[0] == HANDSHAKE)
}

fn join(client: TcpStream, upstream: TcpStream) -> io::Result<()> {
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
