//! The processes below a helper, found in `/proc`.

use crate::system;
use crate::wire::{Order, Role};

/// Everybody below this process. In a namespace that is everybody but us.
fn members(role: Role) -> Vec<i32> {
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

/// Asks everybody below this process to end.
pub(crate) fn ask_to_end(role: Role) {
    match role {
        Role::Init => system::kill(-1, system::SIGTERM),
        Role::Subreaper => members(role).into_iter().for_each(|pid| system::kill(pid, system::SIGTERM)),
    }
}

/// Ends everybody below this process.
pub(crate) fn kill_all(role: Role) {
    let members = members(role);
    // First still, so that nobody forks while we go through the list.
    for signal in [system::SIGSTOP, system::SIGKILL] {
        members.iter().for_each(|&pid| system::kill(pid, signal));
    }
}

/// The line that says which bound the tree is over, if it is.
pub(crate) fn over_limit(order: &Order) -> Option<String> {
    let members = members(order.role);
    if order.pids_max.is_some_and(|most| members.len() as u64 > most) {
        return Some(format!("pids {}", members.len()));
    }
    let most = order.memory_bytes_max?;
    let used = resident_bytes(&members);
    (used > most).then(|| format!("memory {used}"))
}

/// Resident memory of these processes together, in bytes.
fn resident_bytes(members: &[i32]) -> u64 {
    let page = system::page_bytes();
    let pages = members.iter().filter_map(|pid| {
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut fields = statm.split(' ').skip(1).map(|field| field.trim().parse::<u64>());
        let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
        Some(resident.saturating_sub(shared))
    });
    pages.sum::<u64>() * page
}
