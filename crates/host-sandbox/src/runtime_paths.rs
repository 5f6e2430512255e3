//! What programs need of the operating system, and where the person's own tools are installed.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Folders of the operating system that every command may read.
pub(crate) const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What of `/etc` every command may read: how to find libraries, names, time and certificates. Nothing that
/// holds a secret.
pub(crate) const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "machine-info",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/tls/certs",
    "pki/ca-trust",
    "profile",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "terminfo",
    "timezone",
    "xml",
];

/// Where `PATH` looks when nothing else is known.
const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of the host, as far as children may know of it.
#[derive(Debug, Clone, Default)]
pub struct HostEnvironment {
    /// The host's `PATH`.
    pub path: String,
    /// The host's `HOME`; children that aren't confined get it.
    pub home: String,
    /// The host's `LANG`.
    pub lang: String,
    /// The host's `TMPDIR`.
    pub tmpdir: String,
}

/// Where programs are found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runtime {
    /// The children's `PATH`.
    pub(crate) path: String,
    /// Folders outside the operating system's own that `PATH` needs.
    pub(crate) folders: Vec<PathBuf>,
    /// Variables that such tools need to find themselves.
    pub(crate) env: BTreeMap<String, String>,
}

impl Runtime {
    /// From the host's `PATH`. Relative entries, missing ones and ones inside a writable root are left out:
    /// what a child can write must not be where the next one looks for programs.
    pub(crate) fn find(host_path: &str, writable: &[PathBuf]) -> Self {
        let mut runtime = Runtime::default();
        let mut entries: Vec<String> = Vec::new();
        for entry in host_path.split(':').chain(PATH_DEFAULT.split(':')) {
            let path = Path::new(entry);
            let plain = path.is_absolute() && !path.components().any(|c| c == Component::ParentDir);
            if !plain || entries.iter().any(|seen| seen == entry) || !path.is_dir() {
                continue;
            }
            if writable.iter().any(|root| path.starts_with(root)) {
                continue;
            }
            entries.push(entry.to_owned());
            if !is_system(path) {
                runtime.add_tool_folder(path);
            }
        }
        runtime.path = entries.join(":");
        runtime
    }

    /// Adds what a `PATH` entry outside the system's folders needs: for the well-known version managers their
    /// installations, but never a whole home folder and nothing that holds credentials.
    fn add_tool_folder(&mut self, entry: &Path) {
        let text = entry.to_string_lossy();
        let base = |marker: &str| text.find(marker).map(|at| PathBuf::from(&text[..at]));
        if let Some(home) = base("/.cargo/bin") {
            self.add(entry.to_path_buf());
            let rustup = home.join(".rustup");
            if rustup.is_dir() {
                self.env.insert("RUSTUP_HOME".to_owned(), rustup.to_string_lossy().into_owned());
                self.add(rustup);
            }
        } else if let Some(home) = base("/.pyenv/") {
            self.add(home.join(".pyenv"));
        } else if let Some(home) = base("/.nvm/") {
            self.add(home.join(".nvm/versions"));
        } else if let Some(home) = base("/.local/bin") {
            self.add(entry.to_path_buf());
            self.add(home.join(".local/lib"));
            self.add(home.join(".local/share/uv"));
            self.add(home.join(".local/share/pipx"));
        } else if entry.file_name().is_some_and(|name| name == "bin")
            && let Some(prefix) = entry.parent().filter(|prefix| is_installation(prefix))
        {
            self.add(prefix.to_path_buf());
        } else {
            self.add(entry.to_path_buf());
        }
    }

    fn add(&mut self, folder: PathBuf) {
        if folder.is_dir() && !self.folders.iter().any(|known| folder.starts_with(known)) {
            self.folders.push(folder);
        }
    }
}

/// Whether `<prefix>/bin` belongs to an installation that may be bound whole: it has libraries beside it, and
/// it is neither a top-level folder nor somebody's home.
fn is_installation(prefix: &Path) -> bool {
    let deep = prefix.components().count() > 2;
    let home = prefix.parent() == Some(Path::new("/home")) || prefix == Path::new("/root");
    deep && !home && (prefix.join("lib").is_dir() || prefix.join("libexec").is_dir())
}

/// Whether a path is in the operating system's own folders.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-2
    #[test]
    fn a_home_is_never_bound_whole_and_a_writable_root_is_no_place_for_programs() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("home");
        for folder in
            [".cargo/bin", ".rustup/toolchains", ".local/bin", ".local/lib", "proj/node_modules/.bin"]
        {
            std::fs::create_dir_all(home.join(folder)).expect("made");
        }
        let path = [".cargo/bin", ".local/bin", "proj/node_modules/.bin"]
            .map(|f| home.join(f).display().to_string());
        let path = format!("{}:relative/bin:/nowhere/bin:{0}", path.join(":"));
        let runtime = Runtime::find(&path, &[home.join("proj")]);
        assert!(runtime.path.starts_with(&home.join(".cargo/bin").display().to_string()));
        assert!(!runtime.path.contains("node_modules") && !runtime.path.contains("relative"));
        assert!(runtime.path.ends_with("/bin"));
        assert!(!runtime.folders.contains(&home) && !runtime.folders.contains(&home.join(".cargo")));
        assert!(runtime.folders.contains(&home.join(".rustup")));
        assert_eq!(runtime.env["RUSTUP_HOME"], home.join(".rustup").display().to_string());
    }
}
