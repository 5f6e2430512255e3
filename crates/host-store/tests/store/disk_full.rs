//! A full disk (T9-05): said at once, nothing half-written, and it goes on by itself.

use crate::events::*;
use host_ports::log::LogError;
use host_store::{Durability, EventLog, OpenOptions};
use std::path::Path;

/// A small tmpfs that only this thread, and threads that it starts, can see. `None` where this process may
/// not mount.
fn small_disk(at: &Path, bytes: &str) -> Option<()> {
    use rustix::mount::{MountFlags, MountPropagationFlags};
    use rustix::thread::UnshareFlags;
    // SAFETY: a mount namespace of its own touches no memory; only this thread's view of files changes.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.ok()?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).ok()?;
    let size = std::ffi::CString::new(format!("size={bytes},mode=700")).unwrap();
    rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::empty(), size.as_c_str()).ok()
}

fn filler(n: usize) -> String {
    format!("{n} {}", "x".repeat(20_000))
}

/// Fills, frees and fills again, and checks what was acknowledged against what is there.
fn story(dir: &Path, durability: Durability, mut full: impl FnMut(), mut free: impl FnMut()) {
    let log = EventLog::open(OpenOptions { search: false, ..OpenOptions::new(dir).durability(durability) })
        .unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..2 {
        append(&log, vec![note(&filler(round))]).unwrap();
        acknowledged.push(filler(round));
        full();
        let mut refused = 0;
        for n in 0..400 {
            let text = filler(1000 * (round + 1) + n);
            match append(&log, vec![note(&text), note("second of the batch")]) {
                Ok(_) => acknowledged.extend([text, "second of the batch".to_owned()]),
                Err(error) => {
                    assert_eq!(error, LogError::Full);
                    refused += 1;
                }
            }
        }
        assert!(refused > 0, "the disk never was full");
        free();
        let text = format!("space again {round}");
        append(&log, vec![note(&text)]).unwrap();
        acknowledged.push(text);
    }
    assert!(log.check_full().unwrap().is_sound());
    // No clean close: the process dies here.
    std::mem::forget(log);
    let copy = tempfile::tempdir().unwrap();
    for name in ["log.sqlite", "log.sqlite-wal", "keys/log.key"] {
        let to = copy.path().join("s").join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(dir.join(name), &to).unwrap();
    }
    for folder in ["s", "s/keys"] {
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(copy.path().join(folder), owner).unwrap();
    }
    assert_eq!(messages(&copy.path().join("s")), acknowledged);
}

#[test]
fn a_full_disk_is_said_and_appending_resumes_when_there_is_space() {
    // T9-05
    for durability in [Durability::Process, Durability::Full] {
        let done = std::thread::spawn(move || {
            let mount = tempfile::tempdir().unwrap();
            small_disk(mount.path(), "4m")?;
            let dir = mount.path().join("store");
            let ballast = mount.path().join("ballast");
            let (fill, free) = (ballast.clone(), ballast);
            story(
                &dir,
                durability,
                || {
                    let _ = std::fs::write(&fill, vec![0; 16 * 1024 * 1024]);
                },
                || std::fs::remove_file(&free).unwrap(),
            );
            Some(())
        });
        if done.join().unwrap().is_none() {
            println!("no right to mount: shown with a bound on the file instead (the test below)");
        }
    }
}

#[test]
fn a_disk_that_is_full_from_the_start_is_named() {
    // T9-05
    let done = std::thread::spawn(|| {
        let mount = tempfile::tempdir().unwrap();
        small_disk(mount.path(), "64k")?;
        let dir = mount.path().join("store");
        let _ = std::fs::write(mount.path().join("ballast"), vec![0; 128 * 1024]);
        let error = EventLog::open(OpenOptions::new(&dir)).err().expect("no room");
        assert!(error.to_string().contains("disk is full"), "{error}");
        std::fs::remove_file(mount.path().join("ballast")).unwrap();
        // Too small for a log, but the half-made one is not in the way of the next try.
        let _ = EventLog::open(OpenOptions::new(&dir));
        Some(())
    });
    if done.join().unwrap().is_none() {
        println!("no right to mount");
    }
}

#[test]
fn a_bound_on_the_file_is_a_full_disk_too() {
    // T9-05, without any right: SQLite's own bound gives the same code as the disk.
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    append(&log, vec![note("before")]).unwrap();
    log.limit_pages_for_test(40).unwrap();
    let mut refused = 0;
    for n in 0..20 {
        if let Err(error) = append(&log, vec![note(&filler(n))]) {
            assert_eq!(error, LogError::Full);
            refused += 1;
        }
    }
    assert!(refused > 0);
    log.limit_pages_for_test(1_000_000).unwrap();
    append(&log, vec![note("after")]).unwrap();
    log.close().unwrap();
    let told = messages(dir.path());
    assert_eq!(told.len(), 2 + 20 - refused);
    assert_eq!((told[0].as_str(), told[told.len() - 1].as_str()), ("before", "after"));
}
