//! Ends that were torn off.

use crate::events::*;
use host_store::EventLog;
use proptest::prelude::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const EVENTS: usize = 40;

/// The files of a log that was killed: copied while it was open.
fn killed(to: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    for n in 0..EVENTS {
        append(&log, vec![note(&format!("message {n} ä€😀 {}", "x".repeat(n * 40)))]).unwrap();
    }
    for name in ["log.sqlite", "log.sqlite-wal", "keys/log.key"] {
        std::fs::create_dir_all(to.join("keys")).unwrap();
        std::fs::copy(dir.path().join(name), to.join(name)).unwrap();
    }
    std::fs::create_dir(to.join("openers")).unwrap();
    for folder in ["", "keys", "openers"] {
        std::fs::set_permissions(to.join(folder), Permissions::from_mode(0o700)).unwrap();
    }
    std::fs::write(to.join("openers/dead.lock"), b"").unwrap();
}

/// Opens, appends, opens again; gives the messages of before, and how many bytes were set aside.
fn reopen(dir: &Path) -> (Vec<String>, u64) {
    let log: EventLog = open(dir);
    let report = log.report().clone();
    append(&log, vec![note("after")]).unwrap();
    log.close().unwrap();
    let mut told = messages(dir);
    assert_eq!(told.pop().as_deref(), Some("after"), "the new event is readable");
    if report.unclean {
        let recovery = told.pop().unwrap();
        assert!(recovery.contains(&format!("{} events are there", told.len())), "{recovery}");
        assert_eq!(recovery.contains("kept in the folder 'aside'"), report.torn_bytes > 0, "{recovery}");
    }
    (told, report.torn_bytes)
}

fn assert_prefix(told: &[String]) {
    for (n, message) in told.iter().enumerate() {
        assert!(message.starts_with(&format!("message {n} ä€😀 ")), "{n}: {message}");
        assert_eq!(message.chars().filter(|c| *c == 'x').count(), n * 40);
    }
}

#[test]
fn a_kill_loses_nothing() {
    // T9-01 (c), ENG-7
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path());
    let (told, torn) = reopen(dir.path());
    assert_eq!((told.len(), torn), (EVENTS, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn an_end_cut_anywhere_loses_no_whole_event_before_it_and_swallows_none_after(share in 0.0..1.0_f64, more in prop::collection::vec(any::<u8>(), 0..200)) {
        // T9-01 (a), (b), (d): cut anywhere, even within a character, and with rubbish behind.
        let dir = tempfile::tempdir().unwrap();
        killed(dir.path());
        let path = dir.path().join("log.sqlite-wal");
        let mut wal = std::fs::read(&path).unwrap();
        let size = wal.len();
        let cut = (size as f64 * share) as usize;
        wal.truncate(cut);
        wal.extend(&more);
        std::fs::write(&path, &wal).unwrap();
        let (told, torn) = reopen(dir.path());
        assert_prefix(&told);
        // Whole transactions before the cut are all there: the largest needs some five pages.
        prop_assert!(told.len() + 6 >= EVENTS * cut / size || cut < 32, "{} of {}", told.len(), EVENTS * cut / size);
        if torn > 0 {
            let kept: u64 = std::fs::read_dir(dir.path().join("aside")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
            prop_assert_eq!(kept, torn, "the damaged bytes are kept aside");
        } else {
            prop_assert!(!dir.path().join("aside").exists());
        }
    }
}
