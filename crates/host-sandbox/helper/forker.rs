//! One process forks all of a host's children, so that a fork copies this small program and not the host, and
//! that what is tied to its parent is tied to something that lives as long as the host does.

use crate::wire::{COMPLAINTS, FIRST, ORDER, Order};
use crate::{command, supervise, system};
use std::io;

/// Where the socket to the host is.
const SOCKET: i32 = 3;

/// Waits for orders until the host is gone.
pub(crate) fn main() -> ! {
    system::new_session();
    let ready = ready();
    let Ok(news) = ready else { system::exit_now(crate::USAGE) };
    loop {
        let [order, child] = system::wait_for([SOCKET, news], None);
        if child {
            system::drain_news(news);
            while matches!(system::collect_child(), Ok(Some(_))) {}
        }
        if order {
            match system::receive(SOCKET) {
                Ok(Some((body, fds))) => serve(&body, &fds),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What is tied to us ends with us.
                Ok(None) | Err(_) => system::exit_now(0),
            }
        }
    }
}

/// Leaves open what we need and nothing that we inherited by somebody's carelessness.
fn ready() -> io::Result<i32> {
    system::duplicate(0, SOCKET)?;
    system::close_all(SOCKET + 1, i32::MAX);
    let nothing = std::fs::File::open("/dev/null")?;
    system::duplicate(std::os::fd::AsRawFd::as_raw_fd(&nothing), 0)?;
    drop(nothing);
    system::child_news()
}

/// Forks one tree and says which process it is: its number or 0 and why not, with a hold on it.
fn serve(body: &[u8], fds: &[i32]) {
    let numbers: Vec<i32> =
        body.chunks_exact(4).map(|it| i32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect();
    let forked = if numbers.len() == fds.len() {
        system::fork()
    } else {
        Err(io::Error::from_raw_os_error(24)) // EMFILE: some did not fit
    };
    let answer = match forked {
        Ok(0) => run(&numbers, fds),
        Ok(pid) => system::pidfd(pid).map(|hold| (pid, hold)),
        Err(error) => Err(error),
    };
    let mut out = [0; 8];
    match answer {
        Ok((pid, hold)) => {
            out[..4].copy_from_slice(&pid.to_le_bytes());
            let _ = system::send(SOCKET, &out, Some(hold));
            system::close(hold);
        }
        Err(error) => {
            out[4..].copy_from_slice(&system::errno(&error).to_le_bytes());
            let _ = system::send(SOCKET, &out, None);
        }
    }
    fds.iter().for_each(|&fd| system::close(fd));
}

/// The forked process: the engine, or the root of the tree itself.
fn run(numbers: &[i32], fds: &[i32]) -> ! {
    for (&number, &fd) in numbers.iter().zip(fds) {
        if number < FIRST || fd >= FIRST || system::duplicate(fd, number).is_err() {
            system::exit_now(crate::USAGE);
        }
    }
    let _ = system::duplicate(COMPLAINTS, 2);
    system::close_all(SOCKET, FIRST - 1);
    let order = system::read_whole(ORDER).ok().and_then(|bytes| Order::decode(&bytes));
    let Some(order) = order else { system::exit_now(crate::USAGE) };
    if order.wrap.is_empty() {
        supervise::run(&order);
    }
    system::new_session();
    // The engine has an option for this too, but only from the moment when it reads it.
    let tied = system::end_with_parent();
    system::usual_signals();
    let why = match (tied, command::Program::new(&order.wrap[..1], &order.wrap, &[])) {
        (Ok(()), Some(engine)) => engine.become_it(),
        (Err(error), _) => error,
        (_, None) => io::ErrorKind::InvalidInput.into(),
    };
    eprintln!("the engine could not be started: {why}");
    system::exit_now(127);
}
