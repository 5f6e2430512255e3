//! The way out of a network namespace: what connects to a loopback port inside reaches the host's proxy
//! through a socket file, and nothing else does.

use super::order::Forward;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections at once; more wait in the kernel's queue or are closed.
const CONNECTIONS_MAX: usize = 128;

/// A port that is open but not served yet.
pub(super) struct Listening {
    listener: TcpListener,
    socket: PathBuf,
}

/// Opens the port, so that it is there before the command is.
pub(super) fn listen(forward: &Forward) -> io::Result<Listening> {
    let listener = TcpListener::bind(("127.0.0.1", forward.port))?;
    Ok(Listening { listener, socket: forward.socket.clone() })
}

/// Serves it from now on.
pub(super) fn serve(listening: Listening) {
    let open = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for inside in listening.listener.incoming().flatten() {
            if open.load(Ordering::SeqCst) >= CONNECTIONS_MAX {
                continue;
            }
            let Ok(outside) = UnixStream::connect(&listening.socket) else { continue };
            open.fetch_add(1, Ordering::SeqCst);
            let open = Arc::clone(&open);
            std::thread::spawn(move || {
                let _ = join(inside, outside);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
}

/// Copies both ways until both are done.
fn join(inside: TcpStream, outside: UnixStream) -> io::Result<()> {
    let (mut from_inside, mut to_outside) = (inside.try_clone()?, outside.try_clone()?);
    let out = std::thread::spawn(move || {
        let _ = io::copy(&mut from_inside, &mut to_outside);
        let _ = to_outside.shutdown(Shutdown::Write);
    });
    let (mut from_outside, mut to_inside) = (outside, inside);
    let _ = io::copy(&mut from_outside, &mut to_inside);
    let _ = to_inside.shutdown(Shutdown::Write);
    let _ = out.join();
    Ok(())
}
