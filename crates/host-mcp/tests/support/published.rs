//! Published servers as they are installed by `scripts/test-servers.sh`.

use super::{repository, server_name};
use host_mcp::McpServerConfig;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The folder with the servers; installed on first use.
pub fn installed() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let script = repository().join("scripts/test-servers.sh");
        let status = Command::new(&script).stdout(Stdio::null()).status().expect("bash runs the script");
        assert!(status.success(), "{} failed: the published servers can't be installed", script.display());
        let folder = std::env::var_os("MONO_AGENT_TEST_SERVERS").map(PathBuf::from);
        folder.unwrap_or_else(|| repository().join("target/test-servers"))
    })
}

/// A server from npm.
pub fn npm(name: &str, package: &str, args: &[&str]) -> McpServerConfig {
    let program = installed().join("node_modules/.bin").join(package);
    let mut config =
        McpServerConfig::stdio(server_name(name), program.to_str().unwrap(), args, std::env::temp_dir());
    config.timeout = Duration::from_secs(60);
    config
}

/// A server from PyPI.
pub fn pypi(name: &str, program: &str, args: &[&str]) -> McpServerConfig {
    let program = installed().join("venv/bin").join(program);
    McpServerConfig::stdio(server_name(name), program.to_str().unwrap(), args, std::env::temp_dir())
}
