//! What a log refuses to open, and that it leaves it exactly as it is.

use crate::events::*;
use host_store::{Break, EventLog, OpenError, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A log with some events, closed.
fn store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    for n in 0..20 {
        append(&log, vec![note(&format!("message {n}"))]).unwrap();
    }
    log.close().unwrap();
    dir
}

fn refusal(dir: &Path) -> OpenError {
    let path = dir.join("log.sqlite");
    let before = std::fs::read(&path).ok();
    let error = EventLog::open(OpenOptions::new(dir)).err().expect("it must be refused");
    assert_eq!(std::fs::read(&path).ok(), before, "a refused file is left as it is");
    assert!(error.to_string().contains(dir.to_str().unwrap()), "names no file: {error}");
    error
}

fn edit(dir: &Path, sql: &str) {
    rusqlite::Connection::open(dir.join("log.sqlite")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn an_unreadable_file_is_never_recreated() {
    let whole = std::fs::read(store().path().join("log.sqlite")).unwrap();
    let mut no_magic = whole.clone();
    no_magic[0] = b'X';
    let mut scrambled = whole.clone();
    scrambled[4096..].fill(0xA5);
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", Vec::new()),
        ("short", whole[..50].to_vec()),
        ("no magic", no_magic),
        ("scrambled", scrambled),
        ("cut", whole[..4096].to_vec()),
    ];
    for (name, bytes) in cases {
        let dir = store();
        std::fs::write(dir.path().join("log.sqlite"), bytes).unwrap();
        let error = refusal(dir.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains("Restore"), "{name}: {error}");
    }
}

#[test]
fn a_foreign_database_and_a_newer_schema_are_told_apart() {
    let dir = store();
    edit(dir.path(), "PRAGMA application_id = 1");
    assert!(matches!(refusal(dir.path()), OpenError::Foreign { .. }));
    edit(
        dir.path(),
        "PRAGMA application_id = 0x6d6f6e4c; PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)",
    );
    let newer = refusal(dir.path());
    assert!(matches!(newer, OpenError::Newer { found: 99, known: 3, .. }), "{newer:?}");
    edit(dir.path(), "PRAGMA user_version = 3; PRAGMA wal_checkpoint(TRUNCATE)");
    open(dir.path());
}

#[test]
fn the_key_must_be_there_and_be_the_right_one_and_nobody_elses() {
    let dir = store();
    let key = dir.path().join("keys/log.key");
    let right = std::fs::read(&key).unwrap();
    for (name, bytes) in [("short", vec![1; 31]), ("long", vec![1; 33]), ("another", vec![1; 32])] {
        std::fs::write(&key, bytes).unwrap();
        let error = refusal(dir.path());
        assert!(matches!(error, OpenError::Key { .. }), "{name}: {error:?}");
    }
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Key { .. }));
    assert!(!key.exists(), "no new key is made for an old log");
    std::fs::write(&key, &right).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(refusal(dir.path()).to_string().contains("chmod 600"));
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&elsewhere, &right).unwrap();
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::remove_file(&key).unwrap();
    symlink(&elsewhere, &key).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Unsafe { .. }));
    std::fs::remove_file(&key).unwrap();
    std::fs::hard_link(&elsewhere, &key).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Unsafe { .. }));
}

#[test]
fn links_and_rights_of_others_are_refused() {
    let dir = store();
    let log = dir.path().join("log.sqlite");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o604)).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Unsafe { .. }));
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&log, dir.path().join("real")).unwrap();
    symlink(dir.path().join("real"), &log).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Unsafe { .. }));
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Unsafe { .. }));
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(dir.path().join("real"), &log).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o770)).unwrap();
    assert!(refusal(dir.path()).to_string().contains("chmod 700"));
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    open(dir.path());
    assert_eq!(std::fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700, "taken away");
}

#[test]
fn a_write_ahead_file_of_a_log_that_is_gone_is_not_played_into_a_new_one() {
    let dir = store();
    std::fs::rename(dir.path().join("log.sqlite"), dir.path().join("away")).unwrap();
    std::fs::write(dir.path().join("log.sqlite-wal"), b"left over").unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Damaged { .. }));
    std::fs::remove_file(dir.path().join("log.sqlite-wal")).unwrap();
    let log = open(dir.path());
    assert!(log.report().created, "moved away whole, a new one begins");
}

#[test]
fn tampering_is_found_and_named() {
    // AUD-1
    let cases = [
        (
            "UPDATE events SET body = '{\"code\":\"test\",\"message\":\"changed\"}' WHERE seq = 7",
            7,
            Break::Content,
        ),
        ("UPDATE events SET at = at + 1 WHERE seq = 3", 3, Break::Content),
        ("UPDATE events SET logical = 'web:b' WHERE seq = 3", 3, Break::Content),
        ("UPDATE events SET checksum = x'00' WHERE seq = 3", 3, Break::Content),
        ("DELETE FROM events WHERE seq = 9", 10, Break::Missing),
        ("DELETE FROM events WHERE seq = 1", 2, Break::Missing),
        ("UPDATE events SET prev_hash = zeroblob(32) WHERE seq = 5", 5, Break::Link),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 20", 20, Break::Key),
    ];
    for (sql, seq, what) in cases {
        let dir = store();
        let log = open(dir.path());
        edit(dir.path(), sql);
        let broken = log.check_full().unwrap().chain.broken.expect(sql);
        assert_eq!((broken.seq, broken.what), (seq, what), "{sql}");
        drop(log);
        let error = refusal(dir.path());
        assert!(error.to_string().contains(&format!("event {seq} ")), "{sql}: {error}");
    }
}

#[test]
fn old_damage_is_for_the_full_check_and_a_read_of_it_fails() {
    // What is far behind is not looked at on every start.
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let scope = host_event::Scope::of_run(&conversation("web:a"), &run("old"));
    append(&log, vec![event(&warning("old"), scope, 1)]).unwrap();
    append(&log, (0..1100).map(|n| note(&n.to_string())).collect()).unwrap();
    log.close().unwrap();
    edit(dir.path(), "UPDATE events SET body = '{\"code\":\"test\",\"message\":\"new\"}' WHERE seq = 1");
    let log = open(dir.path());
    assert_eq!(log.check_full().unwrap().chain.broken.map(|broken| broken.seq), Some(1));
    let read = block_on(host_ports::log::Log::run_events(&log, &run("old"), 0, 9));
    let error = read.unwrap_err();
    assert!(matches!(error, host_ports::log::LogError::Damaged(_)), "{error:?}");
    assert!(!error.to_string().contains('/'), "no path: {error}");
}
