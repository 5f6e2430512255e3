//! The system-call filter.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketRule {
    /// Internet, netlink and local ones: a network namespace confines them.
    Usual,
    /// Internet and netlink, but no local ones: nothing else would confine those.
    NoLocal,
    /// None but pairs.
    PairsOnly,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Every flag of `clone` and `unshare` that makes a namespace.
const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Calls that no command of an agent needs, and that widen what it can do to the kernel, to other processes or
/// to its own confinement: refused with EPERM.
const REFUSED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // keys, programs in the kernel, measurement
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // mounts and namespaces
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // the machine
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Calls that programs fall back from when the kernel doesn't know them: refused with ENOSYS. `clone3` hides its
/// flags from a filter.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// The programs as the kernel takes them, in the order in which they are to be laid on. They are compiled once.
/// The error is a sentence.
pub(crate) fn programs(sockets: SocketRule) -> Result<Vec<Vec<u8>>, String> {
    static COMPILED: [OnceLock<Result<Vec<Vec<u8>>, String>>; 3] = [const { OnceLock::new() }; 3];
    let place = match sockets {
        SocketRule::Usual => &COMPILED[0],
        SocketRule::NoLocal => &COMPILED[1],
        SocketRule::PairsOnly => &COMPILED[2],
    };
    let compiled = place.get_or_init(|| {
        let programs = compile_all(sockets).map_err(|error| format!("seccomp: {error}"))?;
        Ok(programs.iter().map(|program| program.iter().flat_map(bytes).collect()).collect())
    });
    compiled.clone()
}

/// One step as `struct sock_filter` lays it out.
fn bytes(step: &sock_filter) -> [u8; 8] {
    let mut out = [0; 8];
    out[..2].copy_from_slice(&step.code.to_ne_bytes());
    out[2] = step.jt;
    out[3] = step.jf;
    out[4..].copy_from_slice(&step.k.to_ne_bytes());
    out
}

fn compile_all(sockets: SocketRule) -> Result<Vec<BpfProgram>, BackendError> {
    let mut refused: Rules = REFUSED.iter().chain(REFUSED_HERE).map(|&call| (call, Vec::new())).collect();
    let namespaces = NAMESPACE_FLAGS
        .iter()
        .map(|&flag| rule(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag as u64), flag as u64))
        .collect::<Result<Vec<_>, _>>()?;
    refused.insert(libc::SYS_unshare, namespaces.clone());
    refused.insert(libc::SYS_clone, namespaces);
    refused.insert(libc::SYS_socket, socket_rules(sockets)?);
    let ioctls = [libc::TIOCSTI, libc::TIOCLINUX];
    let ioctls = ioctls.iter().map(|&request| rule(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request));
    refused.insert(libc::SYS_ioctl, ioctls.collect::<Result<_, _>>()?);
    let unknown: Rules = UNKNOWN.iter().map(|&call| (call, Vec::new())).collect();
    let mut programs = vec![compile(unknown, libc::ENOSYS)?, compile(refused, libc::EPERM)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(other_numbering());
    }
    Ok(programs)
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?;
    filter.try_into()
}

fn rule(
    argument: u8,
    width: SeccompCmpArgLen,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, width, compare, value)?])
}

/// A socket is refused unless its family is one of these.
fn socket_rules(sockets: SocketRule) -> Result<Vec<SeccompRule>, BackendError> {
    let allowed: &[i32] = match sockets {
        SocketRule::Usual => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        SocketRule::NoLocal => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        SocketRule::PairsOnly => &[],
    };
    if allowed.is_empty() {
        return Ok(Vec::new());
    }
    let others = allowed
        .iter()
        .map(|&family| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(vec![SeccompRule::new(others)?])
}

/// x86-64 has a second numbering of the same calls (x32), which a list of numbers wouldn't see.
fn other_numbering() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_AT_LEAST, 0, 1, 0x4000_0000),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
