//! Kept output, attachments and the host's own files.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests build their own folders")]

use host_files::attachment::{self, AttachmentError, clean_name};
use host_files::{KeptError, KeptFolder, state};
use host_ports::kept::KeptOutput as _;
use host_turn::AttachmentKind;
use host_vocab::{CallId, RunId};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

// TOO-7
#[test]
fn kept_output_is_private_bounded_and_read_in_chunks() {
    let temp = tempfile::tempdir().unwrap();
    let folder = KeptFolder::with_bounds(temp.path().join("out"), 10, 16).unwrap();
    let (run, call) = (RunId::fresh(), CallId::fresh());
    let mut file = folder.create(&run, &call, "stdout").unwrap();
    file.write_all(b"123456").unwrap();
    file.write_all(b"7890ab").unwrap();
    file.write_all(b"c").unwrap();
    let kept = file.finish().unwrap();
    assert_eq!((kept.bytes, kept.dropped_bytes), (10, 3));
    assert!(!kept.id.contains(run.as_str()) && kept.id.len() == 32);
    let text = String::from_utf8(folder.read(&run, &kept.id, 0, 1000).unwrap()).unwrap();
    assert!(text.starts_with("1234567890\n[… 3 more bytes"), "{text}");
    assert_eq!(folder.read(&run, &kept.id, 4, 3).unwrap(), b"567");
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kept.path), 0o600);
    assert_eq!(mode(temp.path().join("out").join(run.as_str()).to_str().unwrap()), 0o700);

    // the second stream of the same call has no room left, another call has what the agent may still keep
    let mut second = folder.create(&run, &call, "stderr").unwrap();
    second.write_all(b"x").unwrap();
    assert_eq!(second.finish().unwrap().bytes, 0);
    let mut other = folder.create(&run, &CallId::fresh(), "stdout").unwrap();
    other.write_all(b"abcdefghij").unwrap();
    let other = other.finish().unwrap();
    assert_eq!((other.bytes, other.dropped_bytes), (6, 4));

    assert!(matches!(folder.read(&RunId::fresh(), &kept.id, 0, 9), Err(KeptError::NotFound)));
    assert!(matches!(folder.read(&run, "../../etc/passwd", 0, 9), Err(KeptError::NotFound)));
    folder.remove_run(&run).unwrap();
    assert!(matches!(folder.read(&run, &kept.id, 0, 9), Err(KeptError::NotFound)));
    let mut fresh = folder.create(&run, &CallId::fresh(), "stdout").unwrap();
    fresh.write_all(b"abc").unwrap();
    assert_eq!(fresh.finish().unwrap().bytes, 3);
}

#[test]
fn the_same_stream_twice_is_two_files() {
    let temp = tempfile::tempdir().unwrap();
    let folder = KeptFolder::new(temp.path()).unwrap();
    let (run, call) = (RunId::fresh(), CallId::fresh());
    let first = folder.create(&run, &call, "result").unwrap().finish().unwrap();
    let second = folder.create(&run, &call, "result").unwrap().finish().unwrap();
    assert_ne!(first.id, second.id);
}

#[test]
fn an_attachment_is_copied_and_described_by_its_descriptor() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("photo.jpg");
    fs::write(&source, b"\x89PNG\r\n\x1a\n....").unwrap();
    let store = temp.path().join("attachments");
    let stored = attachment::store_file(&store, "turn-1", &source, 100).unwrap();
    assert_eq!((stored.kind, stored.media_type.as_str()), (AttachmentKind::Image, "image/png"));
    let metadata = fs::metadata(&stored.path).unwrap();
    assert_eq!((stored.dev, stored.ino, stored.size_bytes), (metadata.dev(), metadata.ino(), 12));
    let again = attachment::store_file(&store, "turn-1", &source, 100).unwrap();
    assert_eq!(again.name, "photo (2).jpg");
    assert!(matches!(
        attachment::store_file(&store, "t", &source, 11),
        Err(AttachmentError::TooLarge { bytes_max: 11 })
    ));
    assert!(matches!(attachment::store_file(&store, "t", temp.path(), 11), Err(AttachmentError::NotAFile)));
    assert!(attachment::store_file(&store, "t", &temp.path().join("none"), 11).is_err());
    let odd = attachment::store(&store, "../../x", "../../etc/passwd", &mut &b"text"[..], 4).unwrap();
    assert_eq!((odd.name.as_str(), odd.media_type.as_str()), ("passwd", "text/plain"));
    assert!(fs::canonicalize(&odd.path).unwrap().starts_with(fs::canonicalize(&store).unwrap()));
    let over = attachment::store(&store, "u", "a", &mut &b"12345"[..], 4);
    assert!(matches!(over, Err(AttachmentError::TooLarge { .. })));
    assert_eq!(fs::read_dir(store.join("u")).unwrap().count(), 0, "nothing is left of what was refused");
}

// T11-01
#[test]
fn names_are_cleaned() {
    for (given, clean) in [
        ("report\u{202e}fdp.exe", "reportfdp.exe"),
        ("a\u{2066}b\u{2069}\u{200f}\u{200b}.txt", "ab.txt"),
        ("a\0b\nc.txt", "abc.txt"),
        ("con.txt", "_con.txt"),
        ("...", "file"),
        (".hidden", "hidden"),
        ("trail. . ", "trail"),
        ("C:\\x\\y.doc", "y.doc"),
        ("", "file"),
    ] {
        assert_eq!(clean_name(given), clean, "{given:?}");
    }
    let long = clean_name(&format!("{}.pdf", "é".repeat(300)));
    assert!(long.len() <= 200 && long.ends_with("é.pdf"), "{long}");
}

#[test]
fn own_files_are_bounded_and_private() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("state");
    state::ensure_private_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    state::ensure_private_dir(&dir).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    let file = dir.join("a.json");
    assert!(state::read_bounded(&file, 9).unwrap_err().is_not_found());
    state::write_atomic(&file, b"{}", 0o600).unwrap();
    state::write_atomic(&file, b"{} ", 0o600).unwrap();
    assert_eq!(state::read_bounded(&file, 3).unwrap(), b"{} ");
    assert!(matches!(state::read_bounded(&file, 2), Err(state::StateError::TooLarge { .. })));
    assert!(matches!(state::read_bounded(&dir, 2), Err(state::StateError::NotAFile { .. })));
    assert!(state::ensure_private_dir(&file).is_err());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    let fifo = dir.join("p");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(state::read_bounded(&fifo, 2), Err(state::StateError::NotAFile { .. })));
}
