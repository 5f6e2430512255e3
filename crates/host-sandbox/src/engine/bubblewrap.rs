//! Namespaces by the `bwrap` program.

use super::{Engine, EngineKind, Job, Wrap};
use crate::broker::CERTIFICATES_INSIDE;
use crate::filter::SocketRule;
use crate::launch::{Plan, memory_file};
use crate::network::Network;
use crate::runtime_paths::{ETC, SYSTEM, is_system};
use crate::wire;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

/// The port on the sandbox's own loopback that leads to the proxy.
pub(crate) const PROXY_PORT: u16 = 3128;
/// The size of the private folders for temporary files, in bytes.
const TEMPORARY_BYTES_MAX: &str = "1073741824";
/// Where children find themselves at home.
pub(crate) const HOME_INSIDE: &str = "/tmp/home";

/// The engine.
#[derive(Debug, Clone)]
pub(crate) struct Bubblewrap {
    program: PathBuf,
    identity: String,
    /// Whether it binds what is open, and not only what has a name.
    descriptors: bool,
}

/// The most sources that are bound as open files; more are bound by name.
const DESCRIPTORS_MAX: usize = 224;

/// What is known of the programs that were asked so far.
static BINDS_DESCRIPTORS: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());

/// Whether this program has the options, asked once for each.
fn binds_descriptors(program: &Path, identity: &str) -> bool {
    let mut known = BINDS_DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&answer) = known.get(identity) {
        return answer;
    }
    let help = std::process::Command::new(program).arg("--help").env_clear().stdin(Stdio::null()).output();
    let answer = help.is_ok_and(|help| memchr::memmem::find(&help.stdout, b"--ro-bind-fd").is_some());
    known.insert(identity.to_owned(), answer);
    answer
}

impl Bubblewrap {
    /// The same, binding by name alone.
    pub(crate) fn by_name(mut self) -> Self {
        self.descriptors = false;
        self
    }
}

/// Finds `bwrap` where the operating system installs programs, and looks at what it is (7.16): a regular file
/// of root, which nobody else can write. An engine that a child could replace is none.
pub(crate) fn find(writable: &[PathBuf]) -> Result<Bubblewrap, String> {
    let places = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
    let Some((program, about)) = places.iter().find_map(|place| {
        let path = std::fs::canonicalize(place).ok()?;
        let about = std::fs::metadata(&path).ok()?;
        Some((path, about))
    }) else {
        return Err("bubblewrap is not installed; install it with: apt-get install bubblewrap".to_owned());
    };
    let shown = program.display();
    if !about.is_file() || about.uid() != 0 || about.mode() & 0o022 != 0 {
        return Err(format!("{shown} is not a program that only root can change, so it is not used"));
    }
    if writable.iter().any(|root| program.starts_with(root)) {
        return Err(format!("{shown} lies inside a writable root, so it is not used"));
    }
    let identity = format!("{shown} {} {} {}", about.len(), about.mtime(), about.ino());
    let descriptors = binds_descriptors(&program, &identity);
    Ok(Bubblewrap { program, identity, descriptors })
}

impl Engine for Bubblewrap {
    fn kind(&self) -> EngineKind {
        EngineKind::Bubblewrap
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn plan(&self, job: Job<'_>) -> Result<Plan, String> {
        let shared_network = job.policy.network == Network::All;
        let mut options = Options { descriptors: self.descriptors, ..Options::default() };
        options.isolate(shared_network, job.identity.is_some());
        options.mounts(&job)?;
        let forward = job.proxied.then_some(PROXY_PORT);
        Ok(Plan {
            argv: job.argv,
            env: job.env,
            cwd: job.cwd,
            identity: job.identity,
            powerless: false,
            limits: job.policy.limits,
            wrap: Wrap::Bubblewrap {
                program: self.program.clone(),
                options: options.words,
                keep: options.keep,
            },
            filter: Some(SocketRule::Usual),
            files: None,
            guarded: Vec::new(),
            // With the host's network its abstract sockets would be in reach.
            scoped: shared_network,
            forward,
        })
    }
}

/// The options of one start, in order.
#[derive(Default)]
struct Options {
    words: Vec<OsString>,
    descriptors: bool,
    /// What the words speak of by number.
    keep: Vec<OwnedFd>,
}

impl Options {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.words.extend(words.map(OsString::from));
    }

    fn with_paths(&mut self, option: &str, paths: &[&Path]) {
        self.words.push(option.into());
        self.words.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    }

    fn same(&mut self, option: &str, path: &Path) {
        self.with_paths(option, &[path, path]);
    }

    /// Binds what is at a path now. It is opened without following a link, so that a child that runs meanwhile
    /// and swaps a folder on the way for a link can't have something else bound in its place.
    fn open_and_bind(&mut self, path: &Path, writable: bool) -> Result<(), String> {
        if !self.descriptors || self.keep.len() >= DESCRIPTORS_MAX {
            self.same(if writable { "--bind" } else { "--ro-bind" }, path);
            return Ok(());
        }
        let opened =
            openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let opened = opened.map_err(|error| match error {
            Errno::LOOP => {
                format!("{} changed while the sandbox was made: a link is on the way", path.display())
            }
            other => format!("{} can't be shown inside: {other}", path.display()),
        })?;
        self.words.push(if writable { "--bind-fd" } else { "--ro-bind-fd" }.into());
        let number = self.number(opened);
        self.words.extend([number.into(), path.into()]);
        Ok(())
    }

    /// The number under which bubblewrap finds what is open.
    fn number(&mut self, opened: OwnedFd) -> String {
        self.keep.push(opened);
        (wire::BOUND + self.keep.len() as i32 - 1).to_string()
    }

    /// `becomes` = the helper becomes an ordinary user. Then bubblewrap makes the view of the files with real
    /// root's rights, so that nothing on the way to a root or a tool is closed to it, and leaves the helper
    /// the right to change its user and no other.
    fn isolate(&mut self, shared_network: bool, becomes: bool) {
        self.add(["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]);
        if !shared_network {
            self.add(["--unshare-net"]);
        }
        if !becomes {
            self.add(["--unshare-user", "--disable-userns"]);
        }
        self.add(["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]);
        self.add(["--cap-drop", "ALL", "--hostname", "agent"]);
        if becomes {
            self.add(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]);
        }
    }

    /// Everything that is there inside, the shallowest first, so that a deeper place lies on top.
    fn mounts(&mut self, job: &Job<'_>) -> Result<(), String> {
        for root in SYSTEM {
            self.system_folder(Path::new(root));
        }
        for name in ETC {
            let path = Path::new("/etc").join(name);
            if path.exists() {
                self.same("--ro-bind", &path);
            }
        }
        self.proc();
        self.add(["--dev", "/dev"]);
        self.add(["--perms", "1777", "--size", TEMPORARY_BYTES_MAX, "--tmpfs", "/tmp"]);
        if job.identity.is_some() {
            self.add(["--perms", "1777", "--size", TEMPORARY_BYTES_MAX, "--tmpfs", "/dev/shm"]);
            self.add(["--perms", "1777"]);
        }
        self.add(["--dir", HOME_INSIDE, "--dir", "/var", "--symlink", "../tmp", "/var/tmp"]);
        self.add(["--dir", "/run", "--symlink", "../run", "/var/run"]);
        let roots = roots(job);
        self.ways(&roots);
        for (path, writable) in &roots {
            let (path, writable) = (path.as_path(), *writable);
            self.open_and_bind(path, writable)?;
        }
        for hidden in job.hidden.iter().filter(|path| path.is_dir()) {
            let own: Vec<_> = job.own.iter().filter(|own| own.path.starts_with(hidden)).collect();
            if roots.iter().any(|(root, _)| hidden.starts_with(root)) || !own.is_empty() {
                // What is the child's own is passed through to, and nothing beside it is there.
                self.add(["--perms", if own.is_empty() { "0000" } else { "0111" }, "--size", "65536"]);
                self.with_paths("--tmpfs", &[hidden]);
                for own in own.into_iter().filter(|own| own.path.is_dir()) {
                    self.open_and_bind(&own.path, own.writable)?;
                }
                self.with_paths("--remount-ro", &[hidden]);
            }
        }
        for name in job.protected.read_only() {
            self.open_and_bind(name, false)?;
        }
        if let Some(certificates) = job.certificates {
            let file = memory_file("certificates", certificates);
            let file = file.map_err(|error| format!("the certificates can't be shown inside: {error}"))?;
            let number = self.number(file);
            self.add(["--perms", "0444", "--ro-bind-data", &number, CERTIFICATES_INSIDE]);
        }
        self.add(["--remount-ro", "/"]);
        Ok(())
    }

    /// The folders that lead to the roots: empty ones, which anybody may pass, whatever the real ones allow.
    fn ways(&mut self, roots: &[(PathBuf, bool)]) {
        let mut ways: BTreeSet<&Path> = BTreeSet::new();
        for (path, _) in roots {
            let held = |way: &Path| roots.iter().any(|(root, _)| way.starts_with(root));
            ways.extend(path.ancestors().skip(1).filter(|way| way.parent().is_some() && !held(way)));
        }
        for way in ways.into_iter().filter(|way| !is_system(way)) {
            self.with_paths("--dir", &[way]);
        }
    }

    /// A folder of the operating system: as the link that it is, or read-only.
    fn system_folder(&mut self, path: &Path) {
        match std::fs::read_link(path) {
            Ok(target) => self.with_paths("--symlink", &[&target, path]),
            Err(_) if path.is_dir() => self.same("--ro-bind", path),
            Err(_) => {}
        }
    }

    /// A `/proc` of the namespace's own. What belongs to the whole machine is read-only or gone: started by
    /// real root, bubblewrap would leave it writable.
    fn proc(&mut self) {
        self.add(["--proc", "/proc"]);
        for name in ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr"] {
            let path = Path::new("/proc").join(name);
            if path.exists() {
                self.same("--ro-bind", &path);
            }
        }
        for name in ["kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "sched_debug"] {
            let path = Path::new("/proc").join(name);
            if path.exists() {
                self.with_paths("--ro-bind", &[Path::new("/dev/null"), &path]);
            }
        }
    }
}

/// The roots and tool folders of a job that exist, shallowest first; `true` = writable. A root that is `/`
/// stands for what lies in it, less what the sandbox has of its own.
fn roots(job: &Job<'_>) -> Vec<(PathBuf, bool)> {
    let mut list: Vec<(PathBuf, bool)> = Vec::new();
    let tools = job.runtime.folders.iter().map(|path| (path, false));
    let readable = job.policy.readable.iter().map(|path| (path, false));
    let writable = job.policy.writable.iter().map(|path| (path, true));
    for (path, writable) in tools.chain(readable).chain(writable) {
        let places = if path == Path::new("/") { top_level() } else { vec![path.clone()] };
        for place in places.into_iter().filter(|place| place.exists()) {
            match list.iter_mut().find(|(known, _)| *known == place) {
                Some(known) => known.1 |= writable,
                None => list.push((place, writable)),
            }
        }
    }
    list.sort_by_key(|(path, _)| path.components().count());
    list
}

fn top_level() -> Vec<PathBuf> {
    const OWN: [&str; 5] = ["proc", "dev", "sys", "run", "tmp"];
    let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
    entries
        .filter(|entry| !OWN.iter().any(|own| entry.file_name() == *own))
        .map(|entry| entry.path())
        .filter(|path| !path.is_symlink())
        .collect()
}
