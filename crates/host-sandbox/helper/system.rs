//! The operating system's calls that the standard library doesn't have, each behind a safe function.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::io;
use std::time::Duration;

mod c {
    use super::*;

    #[repr(C)]
    pub(super) struct PollFd {
        pub(super) fd: c_int,
        pub(super) events: i16,
        pub(super) revents: i16,
    }

    #[repr(C)]
    pub(super) struct IoVec {
        pub(super) base: *mut c_void,
        pub(super) len: usize,
    }

    #[repr(C)]
    pub(super) struct MsgHdr {
        pub(super) name: *mut c_void,
        pub(super) name_len: c_uint,
        pub(super) iov: *mut IoVec,
        pub(super) iov_len: usize,
        pub(super) control: *mut c_void,
        pub(super) control_len: usize,
        pub(super) flags: c_int,
    }

    #[repr(C)]
    pub(super) struct RLimit {
        pub(super) current: u64,
        pub(super) maximum: u64,
    }

    #[repr(C)]
    pub(super) struct FilterProgram {
        pub(super) len: u16,
        pub(super) filter: *const c_void,
    }

    unsafe extern "C" {
        pub(super) fn fork() -> c_int;
        pub(super) fn _exit(code: c_int) -> !;
        pub(super) fn execve(
            path: *const c_char,
            argv: *const *const c_char,
            env: *const *const c_char,
        ) -> c_int;
        pub(super) fn setsid() -> c_int;
        pub(super) fn kill(pid: c_int, signal: c_int) -> c_int;
        pub(super) fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
        pub(super) fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
        pub(super) fn close(fd: c_int) -> c_int;
        pub(super) fn dup2(from: c_int, to: c_int) -> c_int;
        pub(super) fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
        pub(super) fn read(fd: c_int, into: *mut c_void, len: usize) -> isize;
        pub(super) fn pread(fd: c_int, into: *mut c_void, len: usize, at: i64) -> isize;
        pub(super) fn write(fd: c_int, from: *const c_void, len: usize) -> isize;
        pub(super) fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
        pub(super) fn recvmsg(fd: c_int, message: *mut MsgHdr, flags: c_int) -> isize;
        pub(super) fn sendmsg(fd: c_int, message: *const MsgHdr, flags: c_int) -> isize;
        pub(super) fn setgroups(count: usize, list: *const c_uint) -> c_int;
        pub(super) fn setresgid(r: c_uint, e: c_uint, s: c_uint) -> c_int;
        pub(super) fn setresuid(r: c_uint, e: c_uint, s: c_uint) -> c_int;
        pub(super) fn getrlimit(resource: c_int, limit: *mut RLimit) -> c_int;
        pub(super) fn setrlimit(resource: c_int, limit: *const RLimit) -> c_int;
        pub(super) fn sigprocmask(how: c_int, set: *const [u64; 16], old: *mut [u64; 16]) -> c_int;
        pub(super) fn signalfd(fd: c_int, set: *const [u64; 16], flags: c_int) -> c_int;
        pub(super) fn signal(number: c_int, handler: usize) -> usize;
        pub(super) fn syscall(number: c_long, ...) -> c_long;
        pub(super) fn sysconf(name: c_int) -> c_long;
    }
}

pub(crate) const SIGKILL: c_int = 9;
pub(crate) const SIGTERM: c_int = 15;
pub(crate) const SIGSTOP: c_int = 19;
const SIGPIPE: c_int = 13;
const SIGCHLD: c_int = 17;

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Code(c_int),
    Signal(c_int),
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The number of the last error of a fresh result.
pub(crate) fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

/// Forks; `0` = this is the child.
pub(crate) fn fork() -> io::Result<c_int> {
    // SAFETY: this program has one thread, so the child is whole.
    checked(unsafe { c::fork() })
}

/// Ends this process at once.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: it takes a number and does not come back.
    unsafe { c::_exit(code) }
}

/// Becomes a program; comes back with the reason where that fails. The lists must end with a null, and all
/// texts with a NUL.
pub(crate) fn execve(path: &std::ffi::CStr, argv: &[*const c_char], env: &[*const c_char]) -> io::Error {
    debug_assert!(argv.last().is_some_and(|it| it.is_null()) && env.last().is_some_and(|it| it.is_null()));
    // SAFETY: the lists end with a null and live as long as the call.
    unsafe { c::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Leaves the session and terminal of whoever started us.
pub(crate) fn new_session() {
    // SAFETY: it takes nothing.
    unsafe { c::setsid() };
}

/// Sends a signal; `-1` = everybody who can be reached but us.
pub(crate) fn kill(pid: c_int, signal: c_int) {
    // SAFETY: numbers.
    unsafe { c::kill(pid, signal) };
}

/// A child that is over, if there is one; the error says that there are no children.
pub(crate) fn collect_child() -> io::Result<Option<(c_int, End)>> {
    const NO_HANG: c_int = 1;
    let mut status = 0;
    // SAFETY: the pointer leads to a number that lives long enough.
    let pid = checked(unsafe { c::waitpid(-1, &raw mut status, NO_HANG) })?;
    let end = if status & 0x7f == 0 { End::Code(status >> 8 & 0xff) } else { End::Signal(status & 0x7f) };
    Ok((pid != 0).then_some((pid, end)))
}

fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: every option used here takes numbers.
    checked(unsafe { c::prctl(option, value, 0, 0, 0) }).map(|_| ())
}

/// Ends this process when the thread that forked it ends.
pub(crate) fn end_with_parent() -> io::Result<()> {
    prctl(1, SIGKILL as c_ulong)
}

/// Lets nobody look at this process's memory and descriptors.
pub(crate) fn not_to_be_looked_at() -> io::Result<()> {
    prctl(4, 0)
}

/// Takes orphans of this tree.
pub(crate) fn take_orphans() -> io::Result<()> {
    prctl(36, 1)
}

/// Gains no privilege from any program from now on.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    prctl(38, 1)
}

/// Lays on a system-call filter.
pub(crate) fn filter(program: &[u8]) -> io::Result<()> {
    let len = u16::try_from(program.len() / 8).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = c::FilterProgram { len, filter: program.as_ptr().cast() };
    // SAFETY: the kernel copies the program before the call is over.
    checked(unsafe { c::prctl(22, 2, (&raw const program) as c_ulong, 0, 0) }).map(|_| ())
}

/// Lays on a Landlock ruleset.
pub(crate) fn landlock(ruleset: c_int) -> io::Result<()> {
    // SAFETY: numbers.
    let done = unsafe { c::syscall(446, ruleset, 0 as c_uint) };
    checked(done as c_int).map(|_| ())
}

/// Gives up every capability.
pub(crate) fn no_capabilities() -> io::Result<()> {
    #[cfg(target_arch = "x86_64")]
    const CAPSET: c_long = 126;
    #[cfg(not(target_arch = "x86_64"))]
    const CAPSET: c_long = 91;
    let header: [u32; 2] = [0x2008_0522, 0];
    let data = [0u32; 6];
    // SAFETY: both are as large as version 3 of the call reads.
    let done = unsafe { c::syscall(CAPSET, header.as_ptr(), data.as_ptr()) };
    checked(done as c_int).map(|_| ())
}

/// Becomes an ordinary user for good, with no other groups.
pub(crate) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: numbers, and an empty list.
    unsafe {
        checked(c::setgroups(0, std::ptr::null()))?;
        checked(c::setresgid(gid, gid, gid))?;
        checked(c::setresuid(uid, uid, uid))?;
    }
    Ok(())
}

/// Lowers a bound; one that is lower already stays.
pub(crate) fn lower_limit(resource: c_int, most: u64) -> io::Result<()> {
    let mut now = c::RLimit { current: 0, maximum: 0 };
    // SAFETY: the pointers lead to a structure that lives long enough.
    unsafe {
        checked(c::getrlimit(resource, &raw mut now))?;
        let most = most.min(now.maximum);
        checked(c::setrlimit(resource, &c::RLimit { current: most, maximum: most }))?;
    }
    Ok(())
}

/// Closes a descriptor.
pub(crate) fn close(fd: c_int) {
    // SAFETY: the callers speak of numbers that the wire gives them and that nothing else here owns.
    unsafe { c::close(fd) };
}

/// Closes all descriptors from one number to another.
pub(crate) fn close_all(from: c_int, to: c_int) {
    // SAFETY: as for `close`.
    unsafe { c::syscall(436, from as c_uint, to as c_uint, 0 as c_uint) };
}

/// Marks every descriptor but the three streams to be closed on exec.
pub(crate) fn close_on_exec() -> io::Result<()> {
    const CLOEXEC: c_uint = 4;
    // SAFETY: numbers; nothing is closed before exec.
    let done = unsafe { c::syscall(436, 3 as c_uint, c_uint::MAX, CLOEXEC) };
    checked(done as c_int).map(|_| ())
}

/// Makes a descriptor known by another number too, kept over exec.
pub(crate) fn duplicate(from: c_int, to: c_int) -> io::Result<()> {
    // SAFETY: numbers.
    checked(unsafe { c::dup2(from, to) }).map(|_| ())
}

/// A pipe that is closed on exec: the reading and the writing end.
pub(crate) fn pipe() -> io::Result<(c_int, c_int)> {
    const CLOEXEC: c_int = 0o2_000_000;
    let mut fds = [0; 2];
    // SAFETY: there is room for two numbers.
    checked(unsafe { c::pipe2(fds.as_mut_ptr(), CLOEXEC) })?;
    Ok((fds[0], fds[1]))
}

/// Reads once.
pub(crate) fn read(fd: c_int, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: there is as much room as is said.
    let n = unsafe { c::read(fd, into.as_mut_ptr().cast(), into.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Reads a whole file from its start, wherever somebody else left it.
pub(crate) fn read_whole(fd: c_int) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        // SAFETY: there is as much room as is said.
        let n = unsafe { c::pread(fd, chunk.as_mut_ptr().cast(), chunk.len(), out.len() as i64) };
        match usize::try_from(n) {
            Ok(0) => return Ok(out),
            Ok(n) => out.extend_from_slice(&chunk[..n]),
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// Writes once; what can't be written is nobody's loss.
pub(crate) fn write(fd: c_int, from: &[u8]) {
    // SAFETY: there is as much to read as is said.
    unsafe { c::write(fd, from.as_ptr().cast(), from.len()) };
}

/// Waits until something can be read from some of these; `None` = no bound. Which ones are ready.
pub(crate) fn wait_for<const N: usize>(fds: [c_int; N], most: Option<Duration>) -> [bool; N] {
    let mut places = fds.map(|fd| c::PollFd { fd, events: 1, revents: 0 });
    let timeout = most.map_or(-1, |most| c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX));
    // SAFETY: there are as many as is said.
    unsafe { c::poll(places.as_mut_ptr(), N as c_ulong, timeout) };
    places.map(|place| place.revents != 0)
}

/// Keeps the news of ended children back, and gives a descriptor that is readable when there are some.
pub(crate) fn child_news() -> io::Result<c_int> {
    const BLOCK: c_int = 0;
    const FLAGS: c_int = 0o2_000_000 | 0o4000;
    let mut set = [0u64; 16];
    set[0] = 1 << (SIGCHLD - 1);
    // SAFETY: the set is as large as any C library's.
    unsafe {
        checked(c::sigprocmask(BLOCK, &raw const set, std::ptr::null_mut()))?;
        checked(c::signalfd(-1, &raw const set, FLAGS))
    }
}

/// Takes the news in.
pub(crate) fn drain_news(fd: c_int) {
    let mut room = [0; 1024];
    while matches!(read(fd, &mut room), Ok(n) if n == room.len()) {}
}

/// Signals as a fresh program expects them.
pub(crate) fn usual_signals() {
    const SET: c_int = 2;
    let none = [0u64; 16];
    // SAFETY: the set is as large as any C library's; 0 is the default handling.
    unsafe {
        c::sigprocmask(SET, &raw const none, std::ptr::null_mut());
        c::signal(SIGPIPE, 0);
    }
}

/// A hold on a process that nobody collected yet.
pub(crate) fn pidfd(pid: c_int) -> io::Result<c_int> {
    // SAFETY: numbers.
    let fd = unsafe { c::syscall(434, pid, 0 as c_uint) };
    checked(fd as c_int)
}

/// The size of a page of memory, in bytes.
pub(crate) fn page_bytes() -> u64 {
    const PAGE_SIZE: c_int = 30;
    // SAFETY: a number.
    u64::try_from(unsafe { c::sysconf(PAGE_SIZE) }).unwrap_or(4096)
}

/// The most descriptors that the kernel puts into one message.
const DESCRIPTORS_MAX: usize = 253;
/// What comes before the descriptors of a message: a length, a level, a kind.
const HEAD_BYTES: usize = size_of::<usize>() + 8;
const SOCKET_LEVEL: i32 = 1;
const RIGHTS: i32 = 1;

/// A message and the descriptors that came with it; nothing = the other end is gone.
pub(crate) fn receive(socket: c_int) -> io::Result<Option<(Vec<u8>, Vec<c_int>)>> {
    const CLOEXEC: c_int = 0x4000_0000;
    let mut body = vec![0u8; 4096];
    // Words, so that the head is where the processor wants it.
    let mut control = vec![0u64; (HEAD_BYTES + DESCRIPTORS_MAX * 4).div_ceil(8)];
    let mut iov = c::IoVec { base: body.as_mut_ptr().cast(), len: body.len() };
    let mut message = c::MsgHdr {
        name: std::ptr::null_mut(),
        name_len: 0,
        iov: &raw mut iov,
        iov_len: 1,
        control: control.as_mut_ptr().cast(),
        control_len: control.len() * 8,
        flags: 0,
    };
    // SAFETY: every pointer leads to as much room as is said.
    let n = unsafe { c::recvmsg(socket, &raw mut message, CLOEXEC) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    body.truncate(n);
    let control: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let head = control.get(..message.control_len).filter(|it| it.len() >= HEAD_BYTES);
    let fds = head.map_or_else(Vec::new, |all| {
        let mut length = [0; size_of::<usize>()];
        length.copy_from_slice(&all[..size_of::<usize>()]);
        let length = usize::from_ne_bytes(length).min(all.len());
        all[HEAD_BYTES..length]
            .chunks_exact(4)
            .map(|it| c_int::from_ne_bytes([it[0], it[1], it[2], it[3]]))
            .collect()
    });
    Ok((n > 0).then_some((body, fds)))
}

/// Sends a message, with a descriptor if there is one.
pub(crate) fn send(socket: c_int, body: &[u8], fd: Option<c_int>) -> io::Result<()> {
    const NO_SIGNAL: c_int = 0x4000;
    let mut control = [0u64; 4];
    let mut iov = c::IoVec { base: body.as_ptr().cast_mut().cast(), len: body.len() };
    if let Some(fd) = fd {
        control[0] = (HEAD_BYTES + 4) as u64;
        control[1] = u64::from_ne_bytes(pair(SOCKET_LEVEL, RIGHTS));
        control[2] = u64::from_ne_bytes(pair(fd, 0));
    }
    let message = c::MsgHdr {
        name: std::ptr::null_mut(),
        name_len: 0,
        iov: &raw mut iov,
        iov_len: 1,
        control: if fd.is_some() { control.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        control_len: if fd.is_some() { HEAD_BYTES + 8 } else { 0 },
        flags: 0,
    };
    // SAFETY: every pointer leads to as much as is said; the body is only read.
    let n = unsafe { c::sendmsg(socket, &raw const message, NO_SIGNAL) };
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn pair(a: i32, b: i32) -> [u8; 8] {
    let (a, b) = (a.to_ne_bytes(), b.to_ne_bytes());
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}
