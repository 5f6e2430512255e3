//! What the helper lays on the command just before it starts: bounds, Landlock, the system-call filter.

use super::filter;
use super::order::{FileGrants, Order, Role};
use super::tree;
use crate::identity::Become;
use crate::policy::Limits;
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::BpfProgram;
use std::io;

/// The newest Landlock that we know the meaning of.
const LANDLOCK_ABI: ABI = ABI::V6;

/// Everything built before the fork, so that only system calls are left after it.
pub(super) struct Confinement {
    rlimits: Vec<(Resource, u64)>,
    ruleset: Option<RulesetCreated>,
    filters: Vec<BpfProgram>,
    powerless: bool,
}

impl Confinement {
    /// Builds it; the error is a sentence.
    pub(super) fn build(order: &Order) -> Result<Self, String> {
        let ruleset = match (&order.files, order.scoped) {
            (None, false) => None,
            (None, true) => Some(scopes_only().map_err(|error| format!("Landlock: {error}"))?),
            (Some(grants), _) => Some(files(grants).map_err(|error| format!("Landlock: {error}"))?),
        };
        let filters = match order.filter {
            None => Vec::new(),
            Some(filter) => filter::programs(filter.sockets).map_err(|error| format!("seccomp: {error}"))?,
        };
        Ok(Confinement { rlimits: rlimits(&order.limits), ruleset, filters, powerless: order.powerless })
    }

    /// Lays it on the calling process.
    pub(super) fn apply(&mut self) -> io::Result<()> {
        for (resource, most) in &self.rlimits {
            // A bound that is already lower stays.
            let now = rustix::process::getrlimit(*resource);
            let most = now.maximum.map_or(*most, |hard| hard.min(*most));
            setrlimit(*resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        if self.powerless {
            give_up_capabilities()?;
        }
        if let Some(ruleset) = self.ruleset.take() {
            ruleset.restrict_self().map_err(|_| io::Error::from(rustix::io::Errno::PERM))?;
        }
        for program in &self.filters {
            seccompiler::apply_filter(program).map_err(|_| io::Error::from(rustix::io::Errno::PERM))?;
        }
        Ok(())
    }
}

/// Becomes an ordinary user for good, with no other groups. Every capability goes with root's number.
pub(super) fn become_user(user: Become, role: Role) -> io::Result<()> {
    // SAFETY: system calls on numbers; this process has one thread yet, so none is left behind as root.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user.gid, user.gid, user.gid) == 0
            && libc::setresuid(user.uid, user.uid, user.uid) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    if role == Role::Init {
        // A change of user unties a process from its parent.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    Ok(())
}

/// Gives up every capability, so that root is a name and no power; "no new privileges" keeps it so.
fn give_up_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

fn rlimits(limits: &Limits) -> Vec<(Resource, u64)> {
    let mut list = Vec::new();
    if *limits != Limits::NONE {
        list.push((Resource::Core, 0));
    }
    // Not the address space: JavaScript and WebAssembly reserve far more of it than they use.
    list.extend(limits.memory_bytes_max.map(|most| (Resource::Data, most)));
    list.extend(limits.cpu_seconds_max.map(|most| (Resource::Cpu, most)));
    list.extend(limits.file_bytes_max.map(|most| (Resource::Fsize, most)));
    list.extend(limits.open_files_max.map(|most| (Resource::Nofile, most)));
    list
}

/// Grants on files, and everything that Landlock can keep inside. Hard requirement: an older kernel that
/// can't do the file part fails here.
fn files(grants: &FileGrants) -> Result<RulesetCreated, landlock::RulesetError> {
    let read = AccessFs::from_read(LANDLOCK_ABI);
    let all = AccessFs::from_all(LANDLOCK_ABI);
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()?
        .add_rules(path_beneath_rules(&grants.read, read))?
        .add_rules(path_beneath_rules(&grants.write, all))
}

/// No grants on files: only abstract sockets and signals are kept inside, where the kernel can.
fn scopes_only() -> Result<RulesetCreated, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()
}

/// The line that says which bound the tree is over, if it is.
pub(super) fn over_limit(limits: &Limits, role: Role) -> Option<String> {
    let members = tree::members(role);
    if let Some(most) = limits.pids_max
        && members.len() > most as usize
    {
        return Some(format!("pids {}", members.len()));
    }
    let most = limits.memory_bytes_max?;
    let used = tree::resident_bytes(&members);
    (used > most).then(|| format!("memory {used}"))
}

/// Whether this kernel has a Landlock that can confine files.
pub(crate) fn landlock_abi() -> Option<i32> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))
        .and_then(Ruleset::create);
    ruleset.ok().map(|_| 3)
}
