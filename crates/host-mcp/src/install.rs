//! Where a stdio server is installed, so that its sandbox lets it read itself (MCP-6). Judged by the entry's
//! words alone; nothing is looked up.

use crate::config::StdioConfig;
use std::path::{Component, Path, PathBuf};

/// Endings of files that an interpreter is told to run.
const SCRIPTS: &[&str] = &["cjs", "jar", "js", "mjs", "mts", "php", "pl", "py", "pyz", "rb", "sh", "ts"];
/// Folders whose parent is the whole of an installation.
const PARTS: &[&str] = &["bin", "build", "dist", "lib", "out", "src", "scripts"];

/// The paths that a server may read because its entry names its program there. Never a whole home folder or
/// a folder at the top of the tree: then the file alone.
pub(crate) fn install_paths(stdio: &StdioConfig, home: Option<&Path>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if stdio.command.contains('/') {
        paths.push(install_root(&stdio.cwd.join(&stdio.command), home));
    }
    for argument in &stdio.args {
        let path = stdio.cwd.join(argument);
        let is_script = path.extension().and_then(|it| it.to_str()).is_some_and(|it| SCRIPTS.contains(&it));
        if is_script && !argument.starts_with('-') && !argument.contains("://") {
            paths.push(install_root(&path, home));
        }
    }
    paths.dedup();
    paths
}

fn install_root(file: &Path, home: Option<&Path>) -> PathBuf {
    let file: PathBuf = file.components().filter(|part| *part != Component::CurDir).collect();
    if let Some(modules) = file.ancestors().filter(|it| it.ends_with("node_modules")).last() {
        return modules.to_path_buf();
    }
    let Some(parent) = file.parent() else { return file };
    let is_part = parent.file_name().and_then(|it| it.to_str()).is_some_and(|it| PARTS.contains(&it));
    let root = if is_part { parent.parent().unwrap_or(parent) } else { parent };
    let too_wide = root.components().count() < 3 || home.is_some_and(|home| home.starts_with(root));
    let leaves = root.components().any(|part| part == Component::ParentDir);
    if too_wide || leaves { file } else { root.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn paths(command: &str, args: &[&str]) -> Vec<String> {
        let stdio = StdioConfig {
            command: command.into(),
            args: args.iter().map(|it| (*it).to_owned()).collect(),
            env: BTreeMap::new(),
            inherit_env: Vec::new(),
            cwd: "/w/agent".into(),
        };
        let paths = install_paths(&stdio, Some(Path::new("/home/ada")));
        paths.iter().map(|it| it.display().to_string()).collect()
    }

    // MCP-6
    #[test]
    fn a_server_may_read_where_it_is_installed_and_no_more() {
        assert_eq!(paths("/opt/s/node_modules/.bin/srv", &["/data"]), ["/opt/s/node_modules"]);
        assert_eq!(paths("/opt/venv/bin/mcp-server-time", &[]), ["/opt/venv"]);
        assert_eq!(paths("node", &["/srv/app/dist/index.js", "--port=1"]), ["/srv/app"]);
        assert_eq!(paths("./srv", &["./data.json"]), ["/w/agent"]);
        assert_eq!(paths("python3", &["/home/ada/server.py"]), ["/home/ada/server.py"]);
        assert_eq!(paths("python3", &["/home/ada/bin/server.py"]), ["/home/ada/bin/server.py"]);
        assert_eq!(paths("/tmp/x.sh", &[]), ["/tmp/x.sh"]);
        assert_eq!(paths("npx", &["-y", "@scope/server", "https://x/y.js"]), Vec::<String>::new());
        assert_eq!(paths("node", &["../../etc/x.js"]), ["/w/agent/../../etc/x.js"]);
    }
}
