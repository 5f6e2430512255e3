//! A program in the background, and what it said at its start.

use rustix::fs::MemfdFlags;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// The most of what it said that is read, in bytes.
const SAID_BYTES_MAX: usize = 256 * 1024;

/// A program that was started in the background. It goes on when this goes.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    said: File,
}

/// Starts a program detached from this terminal and session. Its standard error is appended to `log`; its
/// standard output goes into memory and can be read here, so that the reason of a failure is known although no
/// disk takes it.
///
/// # Errors
/// Where it can't be started.
pub fn start_detached(program: &Path, args: &[OsString], log: File) -> std::io::Result<Detached> {
    let said = File::from(rustix::fs::memfd_create("mono-agent-start", MemfdFlags::CLOEXEC)?);
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(log);
    // SAFETY: the closure runs between fork and exec and only makes one system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    Ok(Detached { child: command.spawn()?, said })
}

impl Detached {
    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, once it has.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What it and its children wrote to standard output until now, bounded.
    pub fn said(&self) -> String {
        let mut bytes = vec![0; SAID_BYTES_MAX];
        let mut n = 0;
        while let Ok(more @ 1..) = self.said.read_at(&mut bytes[n..], n as u64) {
            n += more;
        }
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    }
}
