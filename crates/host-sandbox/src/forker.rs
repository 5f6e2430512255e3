//! The process that forks all of our children: a small one, so that a fork doesn't copy the host, and one that
//! ends with the host, however that ends.

use crate::wire::FORKER_WORD;
use rustix::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The helper's program, as `build.rs` made and packed it.
const PACKED_PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper.deflate"));
/// The most descriptors that one order may come with: the kernel takes so many at once.
pub(crate) const DESCRIPTORS_MAX: usize = 253;

/// A process that was forked.
pub(crate) struct Forked {
    pub(crate) pid: u32,
    /// Readable when it is over.
    pub(crate) pidfd: OwnedFd,
}

struct Forker {
    socket: OwnedFd,
    child: Child,
}

static FORKER: Mutex<Option<Forker>> = Mutex::new(None);

/// The helper's program as a file in memory that nobody can change any more.
pub(crate) fn program() -> io::Result<BorrowedFd<'static>> {
    static FILE: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(rustix::fd::AsFd::as_fd(file));
    }
    let name = "mono-agent-helper";
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Older kernels don't know the flag, and need none.
    let file = match rustix::fs::memfd_create(name, flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags)?,
        other => other?,
    };
    let mut file = File::from(file);
    io::copy(&mut flate2::read::DeflateDecoder::new(PACKED_PROGRAM), &mut file)?;
    let file = OwnedFd::from(file);
    rustix::fs::fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(rustix::fd::AsFd::as_fd(FILE.get_or_init(|| file)))
}

/// Has a process forked that finds these descriptors under these numbers, the order among them.
pub(crate) fn fork(descriptors: &[(i32, BorrowedFd<'_>)]) -> io::Result<Forked> {
    if descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::other("a child with too many descriptors"));
    }
    let mut forker = FORKER.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..2 {
        let running = match &mut *forker {
            Some(running) => running,
            none => none.insert(Forker::start()?),
        };
        match running.ask(descriptors) {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
            {
                // Somebody ended it: the next one is as good.
                *forker = None;
            }
            answer => return answer,
        }
    }
    Err(io::Error::other("the process that starts children is ended again and again"))
}

impl Forker {
    fn start() -> io::Result<Self> {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let program = format!("/proc/self/fd/{}", program()?.as_raw_fd());
        let mut command = Command::new(program);
        command.arg0("mono-agent-helper").arg(FORKER_WORD).env_clear().current_dir("/");
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Forker { socket, child: command.spawn()? })
    }

    fn ask(&self, descriptors: &[(i32, BorrowedFd<'_>)]) -> io::Result<Forked> {
        let body: Vec<u8> = descriptors.iter().flat_map(|(number, _)| number.to_le_bytes()).collect();
        let fds: Vec<BorrowedFd<'_>> = descriptors.iter().map(|(_, fd)| *fd).collect();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut rights = SendAncillaryBuffer::new(&mut room);
        rights.push(SendAncillaryMessage::ScmRights(&fds));
        sendmsg(&self.socket, &[IoSlice::new(&body)], &mut rights, SendFlags::NOSIGNAL)?;
        let mut body = [0; 8];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut room);
        let read = loop {
            let mut into = [IoSliceMut::new(&mut body)];
            match recvmsg(&self.socket, &mut into, &mut rights, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                read => break read?,
            }
        };
        if read.bytes != body.len() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let number = |at: usize| i32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let pidfd = rights.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        match (u32::try_from(number(0)), pidfd) {
            (Ok(pid), Some(pidfd)) if pid > 0 => Ok(Forked { pid, pidfd }),
            _ => Err(io::Error::from_raw_os_error(number(4))),
        }
    }
}

impl Drop for Forker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
