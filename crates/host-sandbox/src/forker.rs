//! The one thread that forks.
//!
//! A child's "end me when my parent ends" follows the thread that forked it, not the process. So all
//! children are forked by one thread that lives as long as the host.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender, SyncSender};

struct Job {
    command: Command,
    reply: SyncSender<io::Result<Child>>,
}

static THREAD: OnceLock<Sender<Job>> = OnceLock::new();

/// Starts a command on the forking thread and waits until it has started. The command, with every descriptor
/// that it holds, is dropped there before this returns.
pub(crate) fn fork(command: Command) -> io::Result<Child> {
    let (reply, answer) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts children is gone");
    thread()?.send(Job { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

fn thread() -> io::Result<&'static Sender<Job>> {
    if let Some(sender) = THREAD.get() {
        return Ok(sender);
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    std::thread::Builder::new().name("forker".to_owned()).spawn(move || {
        for mut job in jobs {
            let child = job.command.spawn();
            drop(job.command);
            let _ = job.reply.send(child);
        }
    })?;
    // Where two threads come here at once, the loser's thread ends with its channel.
    let _ = THREAD.set(sender);
    THREAD.get().ok_or_else(|| io::Error::other("no thread to start children"))
}
