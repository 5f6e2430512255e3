//! The system-call filter, as one program that searches its list of calls by halves: the kernel goes through a
//! filter once for every call number when it is laid on, and a long chain takes it as long as starting a program.

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

/// Every flag of `clone` and `unshare` that makes a namespace.
const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP
    | 0x80) as u32; // CLONE_NEWTIME

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

/// What becomes of one call.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    /// Refused with this error.
    Refuse(i32),
    /// Refused with EPERM where an argument has one of these bits.
    RefuseBits { argument: u32, bits: u32 },
    /// Refused with EPERM where an argument is one of these.
    RefuseValues { argument: u32, values: &'static [u32] },
    /// Refused with EPERM unless an argument is one of these.
    AllowValues { argument: u32, values: &'static [u32] },
}

/// One step as `struct sock_filter` lays it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

const LOAD_WORD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
/// Where the kernel puts what a filter looks at (`struct seccomp_data`).
const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
const AT_ARGUMENTS: u32 = 16;
/// The kernel's name of this machine's calls (`AUDIT_ARCH_…`).
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
/// From here on x86-64 has a second numbering of the same calls (x32), which a list of numbers wouldn't see.
const OTHER_NUMBERING: u32 = 0x4000_0000;

/// The program as the kernel takes it.
pub(crate) fn program(sockets: SocketRule) -> Vec<u8> {
    steps(sockets).iter().flat_map(Step::bytes).collect()
}

fn steps(sockets: SocketRule) -> Vec<Step> {
    let mut steps = vec![
        load(AT_ARCHITECTURE),
        Step { code: IF_EQUAL, yes: 1, no: 0, value: ARCHITECTURE },
        // Another machine's calls have other numbers.
        give(libc::SECCOMP_RET_KILL_PROCESS),
        load(AT_NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        steps.push(Step { code: IF_AT_LEAST, yes: 0, no: 1, value: OTHER_NUMBERING });
        steps.push(refuse(libc::ENOSYS));
    }
    steps.extend(search(&verdicts(sockets)));
    steps
}

/// Every call that is looked at, in order of its number.
fn verdicts(sockets: SocketRule) -> Vec<(u32, Verdict)> {
    const ANY: &[u32] =
        &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];
    const NOT_LOCAL: &[u32] = &[libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];
    let families = match sockets {
        SocketRule::Usual => ANY,
        SocketRule::NoLocal => NOT_LOCAL,
        SocketRule::PairsOnly => &[],
    };
    let namespaces = Verdict::RefuseBits { argument: 0, bits: NAMESPACE_FLAGS };
    let terminal = &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
    let mut all: Vec<(u32, Verdict)> = vec![
        (libc::SYS_unshare as u32, namespaces),
        (libc::SYS_clone as u32, namespaces),
        (libc::SYS_socket as u32, Verdict::AllowValues { argument: 0, values: families }),
        (libc::SYS_ioctl as u32, Verdict::RefuseValues { argument: 1, values: terminal }),
    ];
    all.extend(REFUSED.iter().chain(REFUSED_HERE).map(|&call| (call as u32, Verdict::Refuse(libc::EPERM))));
    all.extend(UNKNOWN.iter().map(|&call| (call as u32, Verdict::Refuse(libc::ENOSYS))));
    all.sort_by_key(|(call, _)| *call);
    all.dedup_by_key(|(call, _)| *call);
    all
}

/// Looks for the number in one half or the other.
fn search(calls: &[(u32, Verdict)]) -> Vec<Step> {
    if let [(call, verdict)] = calls {
        let body = verdict.steps();
        let past = body.len() as u8;
        let mut steps = vec![Step { code: IF_EQUAL, yes: 0, no: past, value: *call }];
        steps.extend(body);
        steps.push(give(libc::SECCOMP_RET_ALLOW));
        return steps;
    }
    let (low, high) = calls.split_at(calls.len() / 2);
    let low = search(low);
    let first = high.first().map_or(0, |(call, _)| *call);
    // A jump reaches 255 steps; a test counts them.
    let mut steps = vec![Step { code: IF_AT_LEAST, yes: low.len() as u8, no: 0, value: first }];
    steps.extend(low);
    steps.extend(search(high));
    steps
}

impl Verdict {
    /// What is done once the number is known. What goes past the end is allowed.
    fn steps(self) -> Vec<Step> {
        match self {
            Verdict::Refuse(errno) => vec![refuse(errno)],
            Verdict::RefuseBits { argument, bits } => vec![
                load(AT_ARGUMENTS + 8 * argument),
                Step { code: IF_ANY_BIT, yes: 0, no: 1, value: bits },
                refuse(libc::EPERM),
            ],
            Verdict::RefuseValues { argument, values } => {
                let mut steps = vec![load(AT_ARGUMENTS + 8 * argument)];
                for value in values {
                    steps.push(Step { code: IF_EQUAL, yes: 0, no: 1, value: *value });
                    steps.push(refuse(libc::EPERM));
                }
                steps
            }
            Verdict::AllowValues { argument, values } => {
                let mut steps = vec![load(AT_ARGUMENTS + 8 * argument)];
                for value in values {
                    steps.push(Step { code: IF_EQUAL, yes: 0, no: 1, value: *value });
                    steps.push(give(libc::SECCOMP_RET_ALLOW));
                }
                steps.push(refuse(libc::EPERM));
                steps
            }
        }
    }
}

/// Words are little-endian on both machines that this is for, so the lower half of an argument comes first.
const fn load(at: u32) -> Step {
    Step { code: LOAD_WORD, yes: 0, no: 0, value: at }
}

const fn give(value: u32) -> Step {
    Step { code: RETURN, yes: 0, no: 0, value }
}

const fn refuse(errno: i32) -> Step {
    give(libc::SECCOMP_RET_ERRNO | errno as u32)
}

impl Step {
    fn bytes(&self) -> [u8; 8] {
        let ([a, b], [c, d, e, f]) = (self.code.to_ne_bytes(), self.value.to_ne_bytes());
        [a, b, self.yes, self.no, c, d, e, f]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes through a program as the kernel does.
    fn run(steps: &[Step], architecture: u32, call: u32, arguments: [u32; 2]) -> u32 {
        let (mut at, mut word) = (0, 0);
        for _ in 0..steps.len() {
            let step = steps[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.yes } else { step.no });
            match step.code {
                LOAD_WORD => {
                    word = match step.value {
                        AT_NUMBER => call,
                        AT_ARCHITECTURE => architecture,
                        AT_ARGUMENTS => arguments[0],
                        24 => arguments[1],
                        other => panic!("nothing is at {other}"),
                    }
                }
                IF_EQUAL => at += jump(word == step.value),
                IF_AT_LEAST => at += jump(word >= step.value),
                IF_ANY_BIT => at += jump(word & step.value != 0),
                RETURN => return step.value,
                other => panic!("an unknown step {other:x}"),
            }
        }
        panic!("the program has no end");
    }

    // QUA-4, SBX-2: each call of the lists is refused, every other one is not, whatever the numbers are.
    #[test]
    fn every_listed_call_is_refused_and_no_other() {
        let (eperm, enosys) = (refuse(libc::EPERM).value, refuse(libc::ENOSYS).value);
        for sockets in [SocketRule::Usual, SocketRule::NoLocal, SocketRule::PairsOnly] {
            let steps = steps(sockets);
            let of = |call: i64, arguments| run(&steps, ARCHITECTURE, call as u32, arguments);
            for call in 0..1000 {
                let expected = match call {
                    _ if UNKNOWN.contains(&call) => enosys,
                    _ if REFUSED.contains(&call) || REFUSED_HERE.contains(&call) => eperm,
                    libc::SYS_socket => continue,
                    _ => libc::SECCOMP_RET_ALLOW,
                };
                assert_eq!(of(call, [0, 0]), expected, "{sockets:?} {call}");
            }
            for call in [libc::SYS_clone, libc::SYS_unshare] {
                for flag in (0..32).map(|bit| 1u32 << bit) {
                    let expected = if flag & NAMESPACE_FLAGS != 0 { eperm } else { libc::SECCOMP_RET_ALLOW };
                    assert_eq!(of(call, [flag, 0]), expected, "{call} {flag:x}");
                }
            }
            assert_eq!(of(libc::SYS_ioctl, [0, libc::TIOCSTI as u32]), eperm);
            assert_eq!(of(libc::SYS_ioctl, [0, libc::TIOCLINUX as u32]), eperm);
            assert_eq!(of(libc::SYS_ioctl, [0, libc::FIONREAD as u32]), libc::SECCOMP_RET_ALLOW);
            for family in 0..64 {
                let allowed = match family {
                    libc::AF_UNIX => sockets == SocketRule::Usual,
                    libc::AF_INET | libc::AF_INET6 | libc::AF_NETLINK => sockets != SocketRule::PairsOnly,
                    _ => false,
                };
                let expected = if allowed { libc::SECCOMP_RET_ALLOW } else { eperm };
                assert_eq!(of(libc::SYS_socket, [family as u32, 0]), expected, "{sockets:?} {family}");
            }
            assert_eq!(run(&steps, 0x4000_0003, 1, [0, 0]), libc::SECCOMP_RET_KILL_PROCESS);
            if cfg!(target_arch = "x86_64") {
                assert_eq!(run(&steps, ARCHITECTURE, OTHER_NUMBERING + 39, [0, 0]), enosys);
            }
        }
    }

    #[test]
    fn no_jump_is_too_far() {
        let reach = |calls: &[(u32, Verdict)]| search(&calls[..calls.len() / 2]).len();
        assert!(reach(&verdicts(SocketRule::Usual)) <= usize::from(u8::MAX));
    }
}
