//! The processes below a helper, found in `/proc`.

use super::order::Role;
use rustix::process::{Pid, Signal};

/// Everybody below this process. In a namespace that is everybody but us.
pub(super) fn members(role: Role) -> Vec<i32> {
    match role {
        Role::Init => numbered("/proc").filter(|&pid| pid != 1).collect(),
        Role::Subreaper => {
            let mut found = children_of("self");
            let mut next = 0;
            while next < found.len() {
                for pid in children_of(&found[next].to_string()) {
                    if !found.contains(&pid) {
                        found.push(pid);
                    }
                }
                next += 1;
            }
            found
        }
    }
}

fn numbered(folder: &str) -> impl Iterator<Item = i32> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
}

fn children_of(process: &str) -> Vec<i32> {
    let mut children = Vec::new();
    for thread in numbered(&format!("/proc/{process}/task")) {
        let list = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
        children
            .extend(list.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    children
}

/// Sends a signal to everybody below this process.
pub(super) fn signal_all(role: Role, signal: Signal) {
    let members = members(role);
    if signal == Signal::KILL {
        // First still, so that nobody forks while we go through the list.
        send(&members, Signal::STOP);
    }
    send(&members, signal);
}

fn send(members: &[i32], signal: Signal) {
    for pid in members.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Resident memory of these processes together, in bytes.
pub(super) fn resident_bytes(members: &[i32]) -> u64 {
    let page = rustix::param::page_size() as u64;
    members
        .iter()
        .filter_map(|pid| {
            let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
            let mut fields = statm.split(' ').skip(1).map(|field| field.trim().parse::<u64>());
            let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
            Some(resident.saturating_sub(shared) * page)
        })
        .sum()
}
