//! Power cuts (ENG-7): `full` keeps every acknowledged event, the default may lose the newest ones, and
//! neither is ever damaged.

use crate::events::*;
use crate::power_vfs::{self, Unsynced};
use host_store::{Durability, EventLog, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is left after a cut, opened as usual.
fn after_cut(dir: &Path, unsynced: Unsynced) -> Vec<String> {
    let left = tempfile::tempdir().unwrap();
    power_vfs::cut(dir, left.path(), unsynced);
    std::fs::create_dir(left.path().join("keys")).unwrap();
    std::fs::copy(dir.join("keys/log.key"), left.path().join("keys/log.key")).unwrap();
    for (name, mode) in [("keys", 0o700), ("log.sqlite", 0o600), ("log.sqlite-wal", 0o600)] {
        let path = left.path().join(name);
        if path.exists() {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    messages(left.path())
}

fn filler(n: usize) -> String {
    format!("{n} {}", "x".repeat(n % 7 * 900))
}

/// Appends, and cuts the power at many moments, between appends and within them. Gives how many
/// acknowledged events the cuts lost in all.
fn cuts(durability: Durability) -> usize {
    power_vfs::register();
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).close().unwrap();
    let options = OpenOptions { search: false, vfs: Some(power_vfs::NAME), ..OpenOptions::new(dir.path()) };
    let log = EventLog::open(options.durability(durability)).unwrap();
    let acknowledged = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..400 {
                append(&log, vec![note(&filler(n))]).unwrap();
                acknowledged.store(n + 1, Ordering::SeqCst);
                if n % 90 == 60 {
                    log.checkpoint().unwrap();
                }
            }
        });
        let mut lost = 0;
        let mut seed = 1;
        while !writer.is_finished() {
            for unsynced in [Unsynced::Lost, Unsynced::Mixed(seed)] {
                let before = acknowledged.load(Ordering::SeqCst);
                let left = after_cut(dir.path(), unsynced);
                for (n, message) in left.iter().enumerate() {
                    assert_eq!(*message, filler(n), "{durability:?}, {unsynced:?}");
                }
                lost += before.saturating_sub(left.len());
            }
            seed += 1;
        }
        writer.join().unwrap();
        for seed in 0..5 {
            let left = after_cut(dir.path(), Unsynced::Mixed(seed)).len();
            lost += 400_usize.saturating_sub(left);
        }
        lost
    })
}

#[test]
fn full_durability_keeps_every_acknowledged_event() {
    // ENG-7
    assert_eq!(cuts(Durability::Full), 0);
}

#[test]
fn the_default_may_lose_the_newest_events_and_nothing_else() {
    // ENG-7. That it does lose some shows that the cut is one.
    assert!(cuts(Durability::Process) > 0);
}
