//! No path leads out: the escape suite of the file tools' one resolver.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests build their own folders")]

use host_files::{AgentFiles, FilesConfig};
use host_ports::CancellationToken;
use host_ports::files::{Expect, FileError, Files, OUTSIDE, WalkSpec};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

struct World {
    _temp: tempfile::TempDir,
    w: PathBuf,
    app: PathBuf,
    files: AgentFiles,
}

/// `/w/app` is the workspace; `/w/other`, `/w/app-evil` and `/w/app/.state` are not for the agent.
fn world() -> World {
    let temp = tempfile::tempdir().unwrap();
    let w = temp.path().canonicalize().unwrap();
    let app = w.join("app");
    for folder in ["app/sub", "other", "app-evil", "app/.state/deep"] {
        fs::create_dir_all(w.join(folder)).unwrap();
    }
    fs::write(w.join("other/x"), "SECRET other").unwrap();
    fs::write(w.join("app-evil/x"), "SECRET evil").unwrap();
    fs::write(w.join("app/.state/db"), "SECRET state").unwrap();
    fs::write(w.join("app/sub/inside"), "inside").unwrap();
    fs::write(w.join("app/top"), "top").unwrap();
    let config = FilesConfig { private: vec![app.join(".state")], ..FilesConfig::workspace(&app) };
    World { files: AgentFiles::new(&config).unwrap(), _temp: temp, w, app }
}

impl World {
    fn read(&self, path: &str) -> Result<String, FileError> {
        let mut opened = self.files.open(path)?;
        Ok(String::from_utf8(opened.read_whole(1 << 20)?).unwrap())
    }

    fn walk(&self, path: &str) -> Result<Vec<String>, FileError> {
        let spec = WalkSpec {
            path: path.to_owned(),
            hidden: true,
            ignore_files: true,
            exclude_folders: vec![],
            depth_max: 64,
            entries_max: 1_000_000,
            threads: 2,
        };
        let seen = Mutex::new(Vec::new());
        let visitor = || -> host_ports::files::Visit<'_> {
            Box::new(|found| {
                seen.lock().unwrap().push(String::from_utf8_lossy(found.path).into_owned());
                ControlFlow::Continue(())
            })
        };
        self.files.walk(&spec, &CancellationToken::new(), &visitor)?;
        let mut seen = seen.into_inner().unwrap();
        seen.sort();
        Ok(seen)
    }

    /// Every operation refuses a path, with one text.
    fn refused(&self, path: &str) {
        let errors = [
            self.files.open(path).map(drop).unwrap_err(),
            self.files.write(path, b"x", Expect::Any).map(drop).unwrap_err(),
            self.files.list(path, 10).map(drop).unwrap_err(),
            self.walk(path).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
            assert!(error.to_string().ends_with(OUTSIDE), "{error}");
        }
    }
}

// T6-11, SBX-6
#[test]
fn every_way_out_is_refused_with_the_same_error() {
    let world = world();
    symlink(world.w.join("other"), world.app.join("out")).unwrap();
    symlink("../other", world.app.join("out-relative")).unwrap();
    symlink(world.w.join("other/not-there"), world.app.join("dangling")).unwrap();
    symlink("../not-there/at/all", world.app.join("dangling-relative")).unwrap();
    symlink("/", world.app.join("slash")).unwrap();
    symlink("out", world.app.join("two-hops")).unwrap();
    symlink("..", world.app.join("up")).unwrap();
    symlink("/proc/self/root", world.app.join("magic")).unwrap();
    let absolute = world.w.join("other/x");
    for path in [
        "out/x",
        "out/not-there",
        "out",
        "out-relative/x",
        "dangling",
        "dangling-relative",
        "slash/etc/hostname",
        "two-hops/x",
        "up/other/x",
        "up/app-evil/x",
        "magic/etc/hostname",
        "../app-evil/x",
        "../app-evil/not-there",
        "a/../../app-evil/x",
        "sub/../../app-evil/x",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "/etc/not-there",
        "/proc/self/root/etc/hostname",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/proc/1/root",
        "..",
        "/",
        "sub/../../../",
        "/dev/zero",
    ] {
        world.refused(path);
    }
    world.refused(absolute.to_str().unwrap());
    let sibling = format!("{}-evil/x", world.app.display());
    world.refused(&sibling);
    assert!(!world.w.join("other/not-there").exists() && !world.w.join("not-there").exists());
    assert_eq!(fs::read_to_string(world.w.join("other/x")).unwrap(), "SECRET other");
}

// T6-11: a link that stays inside keeps working
#[test]
fn links_that_stay_inside_work() {
    let world = world();
    symlink("sub", world.app.join("rel")).unwrap();
    symlink(world.app.join("sub"), world.app.join("abs")).unwrap();
    symlink("../top", world.app.join("sub/up")).unwrap();
    symlink("../../app/top", world.app.join("sub/round")).unwrap();
    symlink("sub/new", world.app.join("dangling")).unwrap();
    assert_eq!(world.read("rel/inside").unwrap(), "inside");
    assert_eq!(world.read("abs/inside").unwrap(), "inside");
    assert_eq!(world.read("sub/up").unwrap(), "top");
    assert_eq!(world.read("rel/up").unwrap(), "top");
    assert_eq!(world.read("sub/round").unwrap(), "top");
    assert_eq!(world.read("sub/../top").unwrap(), "top");
    assert_eq!(world.read("../app/top").unwrap(), "top");
    assert_eq!(world.read("./sub//inside").unwrap(), "inside");
    assert_eq!(world.read(world.app.join("top").to_str().unwrap()).unwrap(), "top");
    world.files.write("dangling", b"new", Expect::Any).unwrap();
    assert_eq!(fs::read_to_string(world.app.join("sub/new")).unwrap(), "new");
    world.files.write("abs/inside", b"changed", Expect::Any).unwrap();
    assert_eq!(fs::read_to_string(world.app.join("sub/inside")).unwrap(), "changed");
    assert!(
        fs::symlink_metadata(world.app.join("dangling")).unwrap().is_symlink(),
        "the link itself is kept"
    );
}

#[test]
fn a_loop_of_links_ends() {
    let world = world();
    symlink("b", world.app.join("a")).unwrap();
    symlink("a", world.app.join("b")).unwrap();
    symlink("self/x", world.app.join("self")).unwrap();
    for path in ["a", "a/x", "self", "self/y"] {
        let error = world.files.open(path).unwrap_err();
        assert!(matches!(error, FileError::BadPath { .. } | FileError::Outside { .. }), "{error:?}");
    }
}

// T11-03: the host's own folder inside of the workspace
#[test]
fn private_folders_are_as_if_outside() {
    let world = world();
    symlink(".state", world.app.join("link")).unwrap();
    fs::hard_link(world.app.join(".state/db"), world.app.join("hard")).unwrap();
    for path in [".state/db", ".state", ".state/not-there", "link/db", "sub/../.state/db", "link/deep/new"] {
        world.refused(path);
    }
    assert!(matches!(world.files.open("hard"), Err(FileError::Outside { .. })));
    let listed = world.files.list(".", 100).unwrap();
    assert!(listed.entries.iter().all(|entry| entry.name != ".state"), "{listed:?}");
    let walked = world.walk(".").unwrap();
    assert!(walked.iter().all(|path| !path.contains(".state")), "{walked:?}");
    // A name that only begins like it is not private.
    fs::write(world.app.join(".state-not"), "x").unwrap();
    assert_eq!(world.read(".state-not").unwrap(), "x");
}

#[test]
fn a_root_in_a_private_folder_is_the_agents() {
    let world = world();
    fs::create_dir_all(world.app.join(".state/attachments/turn")).unwrap();
    fs::write(world.app.join(".state/attachments/turn/a.txt"), "attached").unwrap();
    let config = FilesConfig {
        read_roots: vec![world.app.clone(), world.app.join(".state/attachments")],
        private: vec![world.app.join(".state")],
        ..FilesConfig::workspace(&world.app)
    };
    let files = AgentFiles::new(&config).unwrap();
    let path = world.app.join(".state/attachments/turn/a.txt");
    for path in [path.to_str().unwrap(), ".state/attachments/turn/a.txt"] {
        let read = files.open(path).map(|mut opened| opened.read_whole(99).unwrap());
        assert_eq!(read.unwrap(), b"attached", "{path}");
    }
    for path in [".state/db", ".state/attachments/../db", ".state", ".state/attachments/../../../other/x"] {
        assert!(matches!(files.open(path), Err(FileError::Outside { .. })), "{path}");
    }
    assert!(matches!(
        files.write(".state/attachments/new", b"", Expect::Any),
        Err(FileError::ReadOnly { .. })
    ));
}

#[test]
fn a_hard_link_is_read_and_is_replaced_alone() {
    let world = world();
    fs::hard_link(world.w.join("other/x"), world.app.join("hard")).unwrap();
    assert_eq!(world.read("hard").unwrap(), "SECRET other");
    world.files.write("hard", b"mine", Expect::Any).unwrap();
    assert_eq!(fs::read_to_string(world.app.join("hard")).unwrap(), "mine");
    assert_eq!(
        fs::read_to_string(world.w.join("other/x")).unwrap(),
        "SECRET other",
        "the other name keeps its own"
    );
}

// T8-11
#[test]
fn special_files_are_refused_at_once() {
    let world = world();
    let fifo = world.app.join("p");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.app.join("s")).unwrap();
    let begun = Instant::now();
    for path in ["p", "s"] {
        assert!(matches!(world.files.open(path), Err(FileError::Special { .. })), "{path}");
        assert!(
            matches!(world.files.write(path, b"x", Expect::Any), Err(FileError::Special { .. })),
            "{path}"
        );
    }
    assert!(matches!(world.files.open("sub"), Err(FileError::Folder { .. })));
    assert!(matches!(world.files.open("top/x"), Err(FileError::NotFolder { .. })));
    assert!(matches!(world.files.list("top", 9), Err(FileError::NotFolder { .. })));
    assert!(matches!(world.files.write("sub", b"", Expect::Any), Err(FileError::Folder { .. })));
    assert!(matches!(world.files.write(".", b"", Expect::Any), Err(FileError::Folder { .. })));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let walked = world.walk(".").unwrap();
    assert!(!walked.contains(&"p".to_owned()) && !walked.contains(&"s".to_owned()));
}

#[test]
fn a_folder_that_may_be_read_alone() {
    let world = world();
    let config = FilesConfig {
        read_roots: vec![world.w.join("other")],
        write_roots: vec![world.app.clone()],
        aliases: vec![("/library".to_owned(), world.w.join("other"))],
        ..FilesConfig::workspace(&world.app)
    };
    let files = AgentFiles::new(&config).unwrap();
    symlink(world.w.join("other"), world.app.join("out")).unwrap();
    symlink("../other/x", world.app.join("out-relative")).unwrap();
    for path in ["../other/x", "out/x", "out-relative", "/library/x"] {
        assert_eq!(files.open(path).unwrap().read_whole(99).unwrap(), b"SECRET other", "{path}");
        let error = files.write(path, b"x", Expect::Any).unwrap_err();
        assert!(matches!(error, FileError::ReadOnly { .. }), "{path}: {error:?}");
    }
    assert_eq!(files.open("/library/x").unwrap().shown, "/library/x");
    assert!(matches!(files.write("out/new", b"x", Expect::Any), Err(FileError::ReadOnly { .. })));
}

#[test]
fn protected_names_are_not_written_by_text_or_by_link() {
    let world = world();
    fs::create_dir_all(world.app.join("sub/.git/hooks")).unwrap();
    fs::write(world.app.join(".env"), "A=1").unwrap();
    symlink(".env", world.app.join("innocent")).unwrap();
    symlink("sub/.git/hooks", world.app.join("h")).unwrap();
    for path in
        [".env", "innocent", "h/pre-commit", "sub/.git/config", ".ENV.local", "sub/../.env", "sub/.env/deep"]
    {
        let error = world.files.write(path, b"x", Expect::Any).unwrap_err();
        assert!(matches!(error, FileError::Denied { .. }), "{path}: {error:?}");
        assert!(error.to_string().contains("denyWrite"), "{error}");
    }
    assert_eq!(world.read(".env").unwrap(), "A=1", "reading is another matter");
}

#[test]
fn odd_paths_are_named_and_refused() {
    let world = world();
    for path in
        ["", "a\0b", "~", "~/x", "file:///etc/passwd", "FILE:/x", &"x/".repeat(3000), &"n".repeat(300)]
    {
        let error = world.files.open(path).unwrap_err();
        assert!(matches!(error, FileError::BadPath { .. }), "{path:.20}: {error:?}");
    }
    assert!(matches!(world.files.open("not-there"), Err(FileError::NotFound { .. })));
    assert!(matches!(world.files.open("not/there"), Err(FileError::NotFound { .. })));
}

// SBX-6: a hostile child swaps a folder and a link while files are opened, walked and written
#[test]
fn no_race_leads_out() {
    let world = world();
    let app = world.app.clone();
    fs::create_dir(app.join("d")).unwrap();
    fs::write(app.join("d/x"), "mine").unwrap();
    symlink(world.w.join("other"), app.join("evil")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = |a: &Path, b: &Path| {
                let _ = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    a,
                    rustix::fs::CWD,
                    b,
                    rustix::fs::RenameFlags::EXCHANGE,
                );
            };
            while !stop.load(Ordering::Relaxed) {
                swap(&app.join("d"), &app.join("evil"));
            }
        });
        let until = Instant::now() + Duration::from_millis(1500);
        let (mut read, mut refused) = (0, 0);
        while Instant::now() < until {
            match world.read("d/x") {
                Ok(text) => {
                    assert!(!text.contains("SECRET"), "read outside: {text}");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
            let _ = world.files.write("d/x", b"mine", Expect::Any);
            let _ = world.files.write("d/new/file", b"mine", Expect::Any);
            let walked = world.walk(".").unwrap_or_default();
            assert!(walked.len() < 12, "{walked:?}");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(read > 0 && refused > 0, "the race must have gone both ways: {read} {refused}");
    });
    assert_eq!(fs::read_to_string(world.w.join("other/x")).unwrap(), "SECRET other");
    assert_eq!(fs::read_dir(world.w.join("other")).unwrap().count(), 1, "nothing was made outside");
}

// T8-11: a FIFO swapped in after the check
#[test]
fn a_fifo_that_is_swapped_in_never_blocks() {
    let world = world();
    let (file, fifo) = (world.app.join("f"), world.app.join("fifo"));
    fs::write(&file, "text").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let _ = rustix::fs::renameat_with(rustix::fs::CWD, &file, rustix::fs::CWD, &fifo, flags);
            }
        });
        let begun = Instant::now();
        for _ in 0..2_000 {
            if let Ok(text) = world.read("f") {
                assert_eq!(text, "text");
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(begun.elapsed() < Duration::from_secs(20));
    });
}

// FIL-6
#[test]
fn a_write_keeps_mode_bits_and_leaves_nothing_behind() {
    let world = world();
    let script = world.app.join("script");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4751)).unwrap();
    let written = world.files.write("script", b"new", Expect::Any).unwrap();
    assert!(!written.created);
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o7777, 0o4751);
    assert!(world.files.write("deep/er/new", b"x", Expect::Absent).unwrap().created);
    assert!(matches!(world.files.write("deep/er/new", b"x", Expect::Absent), Err(FileError::Exists { .. })));
    let left: Vec<_> = fs::read_dir(&world.app).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("mono-agent-")), "{left:?}");
}

// T8-09, at the level of the port
#[test]
fn an_expected_content_is_compared_with_what_is_replaced() {
    let world = world();
    let mut opened = world.files.open("top").unwrap();
    let content = opened.read_whole(99).unwrap();
    let expect = Expect::Content { place: &opened.place, content: &content };
    fs::write(world.app.join("top"), "other").unwrap();
    assert!(matches!(world.files.write("top", b"new", expect), Err(FileError::Changed { .. })));
    assert_eq!(world.read("top").unwrap(), "other");
    fs::remove_file(world.app.join("top")).unwrap();
    assert!(matches!(world.files.write("top", b"new", expect), Err(FileError::Changed { .. })));
    fs::write(world.app.join("sub/same"), "top").unwrap();
    symlink("sub/same", world.app.join("top")).unwrap();
    assert!(
        matches!(world.files.write("top", b"new", expect), Err(FileError::Changed { .. })),
        "another place"
    );
    fs::remove_file(world.app.join("top")).unwrap();
    fs::write(world.app.join("top"), "top").unwrap();
    assert!(!world.files.write("top", b"new", expect).unwrap().created);
    assert_eq!(world.read("top").unwrap(), "new");
}

#[test]
fn two_writers_with_an_expectation_never_lose_one() {
    let world = world();
    fs::write(world.app.join("count"), "0").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut done = 0;
                while done < 30 {
                    let mut opened = world.files.open("count").unwrap();
                    let Ok(content) = opened.read_whole(99) else { continue };
                    let number: u32 = String::from_utf8(content.clone()).unwrap().parse().unwrap();
                    let expect = Expect::Content { place: &opened.place, content: &content };
                    if world.files.write("count", (number + 1).to_string().as_bytes(), expect).is_ok() {
                        done += 1;
                    }
                }
            });
        }
    });
    assert_eq!(world.read("count").unwrap(), "90");
}

#[test]
fn a_walk_obeys_ignore_files_above_and_below() {
    let world = world();
    for (path, text) in [
        ("a/.gitignore", "*.log\n!keep.log\n/only-here\n"),
        ("a/x.log", ""),
        ("a/keep.log", ""),
        ("a/only-here", ""),
        ("a/b/only-here", ""),
        ("a/b/x.log", ""),
        ("a/b/.ignore", "secret\n"),
        ("a/b/secret", ""),
        ("a/b/y", ""),
        (".gitignore", "/a/b/never\ntarget/\n"),
        ("a/b/never", ""),
        ("target/z", ""),
    ] {
        let path = world.app.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = [".gitignore", "b/.ignore", "b/only-here", "b/y", "keep.log"];
    assert_eq!(world.walk("a").unwrap(), expected);
    assert_eq!(world.walk("a/b").unwrap(), [".ignore", "only-here", "y"]);
    assert!(world.walk(".").unwrap().iter().all(|path| !path.starts_with("target")));
    assert_eq!(world.walk("target/z").unwrap(), ["z"], "a file that is named is visited");
}

#[test]
fn a_walk_is_bounded_and_can_be_stopped() {
    let world = world();
    for n in 0..2_000 {
        fs::write(world.app.join(format!("sub/f{n}")), "").unwrap();
    }
    let spec = WalkSpec {
        path: ".".to_owned(),
        hidden: true,
        ignore_files: true,
        exclude_folders: vec![],
        depth_max: 9,
        entries_max: 100,
        threads: 2,
    };
    let none = || -> host_ports::files::Visit<'_> { Box::new(|_| ControlFlow::Continue(())) };
    let walked = world.files.walk(&spec, &CancellationToken::new(), &none).unwrap();
    assert!(walked.bounded);
    let shallow = WalkSpec { depth_max: 1, entries_max: 1 << 20, ..spec.clone() };
    assert!(world.files.walk(&shallow, &CancellationToken::new(), &none).unwrap().bounded);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let whole = WalkSpec { entries_max: 1 << 20, ..spec };
    assert_eq!(world.files.walk(&whole, &cancelled, &none), Err(FileError::Cancelled));
    let stop = || -> host_ports::files::Visit<'_> { Box::new(|_| ControlFlow::Break(())) };
    assert!(world.files.walk(&whole, &CancellationToken::new(), &stop).unwrap().stopped);
}

proptest::proptest! {
    // SBX-6: whatever the path, nothing of the outside is read, and no panic
    #[test]
    fn no_combination_of_parts_leads_out(
        parts in proptest::collection::vec(
            proptest::sample::select(vec!["..", ".", "", "sub", "out", "up", "slash", "other", "app-evil", "app", "x",
                "top", "inside", "proc", "self", "root", ".state", "db", "abs", "not-there"]),
            0..9,
        ),
        absolute in proptest::bool::ANY,
    ) {
        static WORLD: std::sync::LazyLock<World> = std::sync::LazyLock::new(|| {
            let world = world();
            for (name, target) in [
                ("out", world.w.join("other")),
                ("up", PathBuf::from("..")),
                ("slash", PathBuf::from("/")),
                ("abs", world.app.join("sub")),
            ] {
                symlink(target, world.app.join(name)).unwrap();
            }
            world
        });
        let path = parts.join("/");
        let path = if absolute { format!("{}/{path}", WORLD.app.display()) } else { path };
        if let Ok(text) = WORLD.read(&path) {
            proptest::prop_assert!(!text.contains("SECRET"), "{}: {}", path, text);
        }
        if let Ok(listing) = WORLD.files.list(&path, 100) {
            let names: Vec<_> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
            proptest::prop_assert!(!names.contains(&"app-evil") && !names.contains(&".state"), "{}", path);
        }
    }
}
