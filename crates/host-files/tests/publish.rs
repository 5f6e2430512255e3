//! Files of replies: what is refused, what is kept, what is given back.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests prepare files; what can't be set up fails the test"
)]

use host_files::publish::{FetchError, Publication, PublishError, ReplyFile, ReplyFileBounds, ReplyFiles};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Place {
    _folder: tempfile::TempDir,
    workspace: PathBuf,
    state: PathBuf,
    files: ReplyFiles,
}

fn place(bounds: ReplyFileBounds) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("work");
    let state = workspace.join(".mono-agent");
    std::fs::create_dir_all(&state).unwrap();
    let files = ReplyFiles::open(&state.join("reply-files"), vec![state.clone()], bounds).unwrap();
    Place { _folder: folder, workspace, state, files }
}

fn usual() -> Place {
    place(ReplyFileBounds {
        file_bytes_max: 1024 * 1024,
        storage_bytes_max: None,
        age_max: Duration::from_secs(100),
    })
}

impl Place {
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn publish(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        media_type: &str,
    ) -> Result<ReplyFile, PublishError> {
        let roots = [self.workspace.clone()];
        let path = path.as_ref();
        self.files.publish(Publication {
            path,
            roots: &roots,
            name,
            media_type,
            conversation: "web:t",
            now_ms: 1_000,
        })
    }

    fn staged(&self) -> usize {
        std::fs::read_dir(self.state.join("reply-files/staging")).unwrap().count()
    }
}

// REP-2, OUT-5
#[test]
fn a_file_is_copied_summed_and_given_back_whole() {
    let it = usual();
    it.write("out/report.csv", b"a,b\n1,2\n");
    let file = it.publish("out/report.csv", "report.csv", "text/csv").unwrap();
    assert_eq!((file.media_type.as_str(), file.size_bytes, file.expires_ms), ("text/csv", 8, 101_000));
    it.write("out/report.csv", b"changed afterwards");
    let fetch = |id: &str, conversation: &str, sum: &str, now| it.files.fetch(id, conversation, sum, now);
    assert_eq!(fetch(&file.id, "web:t", &file.sha256, 2_000).unwrap(), b"a,b\n1,2\n");
    assert_eq!(fetch(&file.id, "web:other", &file.sha256, 2_000), Err(FetchError::Missing));
    assert_eq!(fetch(&file.id, "web:t", &"0".repeat(64), 2_000), Err(FetchError::Damaged));
    assert_eq!(fetch("../../x", "web:t", &file.sha256, 2_000), Err(FetchError::Missing));
    assert_eq!(fetch(&file.id, "web:t", &file.sha256, 101_000), Err(FetchError::Expired));
    let copy = it.state.join("reply-files/live").join(&file.id).join("file");
    std::fs::write(&copy, b"a,b\n1,3\n").unwrap();
    assert_eq!(fetch(&file.id, "web:t", &file.sha256, 2_000), Err(FetchError::Damaged));
    assert_eq!(it.files.clean(2_000), 0);
    assert_eq!(it.files.clean(101_000), 1, "RET-1");
    assert_eq!(fetch(&file.id, "web:t", &file.sha256, 2_000), Err(FetchError::Missing));
}

// REP-2, T11-02
#[test]
fn links_private_places_and_other_things_are_refused() {
    let it = usual();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    it.write("a.txt", b"a");
    it.write(".mono-agent/log/key", b"k");
    symlink(outside.path().join("secret"), it.workspace.join("link")).unwrap();
    symlink("a.txt", it.workspace.join("own-link")).unwrap();
    symlink(outside.path(), it.workspace.join("folder")).unwrap();
    symlink(".mono-agent", it.workspace.join("innocent")).unwrap();
    std::fs::hard_link(it.workspace.join("a.txt"), it.workspace.join("twin")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        it.workspace.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let cases = [
        ("link", PublishError::Link),
        ("own-link", PublishError::Link),
        ("folder/secret", PublishError::Link),
        ("innocent/log/key", PublishError::Link),
        (".mono-agent/log/key", PublishError::Outside),
        ("../work/a.txt", PublishError::Outside),
        ("twin", PublishError::HardLinked),
        ("pipe", PublishError::NotAFile),
        ("none", PublishError::Missing),
        ("a.txt/x", PublishError::Missing),
        (".", PublishError::Outside),
        ("/etc/passwd", PublishError::Outside),
    ];
    for (path, expected) in cases {
        assert_eq!(it.publish(path, "x", "text/plain"), Err(expected), "{path}");
    }
    std::fs::create_dir(it.workspace.join("dir")).unwrap();
    assert!(matches!(it.publish("dir", "x", "text/plain"), Err(PublishError::NotAFile)));
    assert_eq!(it.staged(), 0, "nothing is left behind");
}

// REP-3, RET-2
#[test]
fn bounds_of_a_file_and_of_all_of_them() {
    let it = place(ReplyFileBounds {
        file_bytes_max: 100,
        storage_bytes_max: Some(150),
        age_max: Duration::from_secs(100),
    });
    it.write("large", &[b'x'; 101]);
    assert_eq!(it.publish("large", "large", "text/plain"), Err(PublishError::TooLarge(100)));
    it.write("one", &[b'1'; 100]);
    it.write("two", &[b'2'; 51]);
    it.write("three", &[b'3'; 50]);
    let one = it.publish("one", "one", "text/plain").unwrap();
    assert_eq!(it.publish("two", "two", "text/plain"), Err(PublishError::NoBudget));
    assert!(it.publish("three", "three", "text/plain").is_ok());
    assert!(it.files.fetch(&one.id, "web:t", &one.sha256, 0).is_ok(), "nothing is evicted");
    assert_eq!(it.staged(), 0);
}

// REP-2, T11-01: names with everything in them, and types that are not what they say.
#[test]
fn names_are_cleaned_and_types_are_told_by_the_bytes() {
    let it = usual();
    it.write("page", b"<html><script>alert(1)</script>");
    it.write("picture", b"\x89PNG\r\n\x1a\n0000");
    let named = |name: &str| it.publish("page", name, "text/html").unwrap().name;
    assert_eq!(named("../../etc/passwd"), "passwd");
    assert_eq!(named("evil\u{202e}fdp.exe\r\n"), "evilfdp.exe");
    assert_eq!(named("C:\\x\\con.txt"), "_con.txt");
    assert_eq!(named("\u{0}\u{7}"), "file");
    let long = named(&format!("{}.csv", "ä".repeat(300)));
    assert!(long.len() <= 200 && long.ends_with(".csv"), "{long}");
    let typed = |path: &str, claimed: &str| it.publish(path, "x", claimed).unwrap().media_type;
    assert_eq!(typed("page", "image/png"), "text/plain", "a page is no picture");
    assert_eq!(typed("page", "image/svg+xml"), "text/plain");
    assert_eq!(typed("picture", "text/html"), "image/png");
    assert_eq!(typed("page", "text/html\r\nX: y"), "text/plain");
    assert_eq!(typed("page", "text/html"), "text/html", "which is only ever saved");
}

// T11-03: a file that is written to while it is published is published as one whole state or not at all.
#[test]
fn a_file_that_changes_meanwhile_is_refused_or_whole() {
    let it = usual();
    let path = it.write("busy", &vec![b'a'; 700_000]);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writing = {
        let (path, stop) = (path.clone(), std::sync::Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(b"b").unwrap();
                std::thread::sleep(Duration::from_micros(50));
            }
        })
    };
    let mut refused = 0;
    for _ in 0..40 {
        match it.publish("busy", "busy", "text/plain") {
            Err(PublishError::Changed) => refused += 1,
            Ok(file) => assert!(it.files.fetch(&file.id, "web:t", &file.sha256, 0).is_ok()),
            Err(other) => panic!("{other}"),
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writing.join().unwrap();
    assert!(refused > 0, "it was never caught in the act");
    assert_eq!(it.staged(), 0);
}
