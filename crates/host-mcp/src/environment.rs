//! The environment of a stdio server (MCP-6).

use std::collections::BTreeMap;
use std::path::Path;

/// Names that every stdio server is given where the host has them; `LC_*` comes on top. Launchers such as
/// `npx` and `uvx` need no more than these.
pub const SAFE_NAMES: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Names that make a loader, a shell or an interpreter run something else first.
const REFUSED_NAMES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
    "BASHOPTS",
];
const REFUSED_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_"];

/// Why a declared variable is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// It makes the loader or an interpreter run other code.
    #[error("env.{0} is refused: it would make the loader or an interpreter run other code; remove it")]
    Dangerous(String),
    /// It can't be the name of a variable, or its value holds a NUL.
    #[error("env.{0} can't be set: a name is not empty and holds no '=' or NUL, a value holds no NUL")]
    Malformed(String),
}

/// Names out of the safe list that a sandbox sets itself: what they hold outside is not there inside.
const SET_BY_SANDBOX: &[&str] = &[
    "HOME",
    "PATH",
    "TEMP",
    "TMP",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Where a child's environment comes from.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentSources<'a> {
    /// The host's own variables.
    pub host: &'a BTreeMap<String, String>,
    /// Names that the entry inherits besides the safe list.
    pub inherit: &'a [String],
    /// The entry's literal values.
    pub literal: &'a BTreeMap<String, String>,
    /// Variables that nothing in a config can override.
    pub overlay: &'a BTreeMap<String, String>,
    /// Whether a sandbox sets `PATH`, `HOME` and the folders for temporary files itself.
    pub confined: bool,
    /// A home of its own for a confined child.
    pub home: Option<&'a Path>,
}

/// The whole environment of a child: the safe list out of the host's variables, the names that the entry
/// inherits, its literal values, and last the trusted overlay.
///
/// # Errors
/// The first declared variable that is refused.
pub fn child_environment(from: EnvironmentSources<'_>) -> Result<BTreeMap<String, String>, EnvironmentError> {
    let safe = |name: &str| SAFE_NAMES.contains(&name) || name.starts_with("LC_");
    let mut env: BTreeMap<String, String> = from
        .host
        .iter()
        .filter(|(name, _)| safe(name) && !(from.confined && SET_BY_SANDBOX.contains(&name.as_str())))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(home) = from.home.filter(|_| from.confined) {
        env.insert("HOME".to_owned(), home.display().to_string());
    }
    for name in from.inherit {
        check(name, "")?;
        if let Some(value) = from.host.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in from.literal {
        check(name, value)?;
        env.insert(name.clone(), value.clone());
    }
    env.extend(from.overlay.iter().map(|(name, value)| (name.clone(), value.clone())));
    Ok(env)
}

fn check(name: &str, value: &str) -> Result<(), EnvironmentError> {
    let shown = || host_vocab::text::one_line(name, 80);
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(EnvironmentError::Malformed(shown()));
    }
    if REFUSED_NAMES.contains(&name) || REFUSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Err(EnvironmentError::Dangerous(shown()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn environment(
        host: &[(&str, &str)],
        inherit: &[&str],
        literal: &[(&str, &str)],
        overlay: &[(&str, &str)],
        confined: bool,
    ) -> Result<BTreeMap<String, String>, EnvironmentError> {
        let inherit: Vec<String> = inherit.iter().map(|it| (*it).to_owned()).collect();
        child_environment(EnvironmentSources {
            host: &map(host),
            inherit: &inherit,
            literal: &map(literal),
            overlay: &map(overlay),
            confined,
            home: Some(Path::new("/state/homes/a")),
        })
    }

    const HOST: &[(&str, &str)] =
        &[("T_SECRET", "1"), ("PATH", "/bin"), ("HOME", "/h"), ("LC_ALL", "C"), ("OPENAI_API_KEY", "k")];

    // T2-09, MCP-6
    #[test]
    fn one_literal_value_does_not_open_the_whole_environment() {
        let plain = [("PATH", "/bin"), ("HOME", "/h"), ("LC_ALL", "C")];
        assert_eq!(environment(HOST, &[], &[], &[], false).unwrap(), map(&plain));
        let with = [&plain[..], &[("LOG", "1")]].concat();
        assert_eq!(environment(HOST, &[], &[("LOG", "1")], &[], false).unwrap(), map(&with));
        let with = [&plain[..], &[("T_SECRET", "1")]].concat();
        assert_eq!(environment(HOST, &["T_SECRET", "ABSENT"], &[], &[], false).unwrap(), map(&with));
    }

    // MCP-6
    #[test]
    fn a_confined_child_has_a_home_of_its_own() {
        let home = "/state/homes/a";
        assert_eq!(environment(HOST, &[], &[], &[], true).unwrap(), map(&[("HOME", home), ("LC_ALL", "C")]));
        assert_eq!(environment(HOST, &["HOME"], &[], &[], true).unwrap()["HOME"], "/h");
        assert_eq!(environment(HOST, &[], &[("HOME", "/x")], &[], true).unwrap()["HOME"], "/x");
    }

    // T2-09, CTX-1
    #[test]
    fn the_overlay_wins() {
        let name = "MONO_AGENT_MCP_PRODUCING_RUN_ID";
        let env = environment(&[], &[], &[(name, "forged")], &[(name, "run-1")], false).unwrap();
        assert_eq!(env, map(&[(name, "run-1")]));
    }

    #[test]
    fn loaders_are_not_steered() {
        for name in ["LD_PRELOAD", "NODE_OPTIONS", "BASH_FUNC_ls%%", "DYLD_INSERT_LIBRARIES", "BASH_ENV"] {
            let refused = Err(EnvironmentError::Dangerous(name.into()));
            assert_eq!(environment(&[], &[], &[(name, "x")], &[], false), refused);
            assert_eq!(environment(&[], &[name], &[], &[], false), refused, "{name} is not inherited either");
        }
        for name in ["", "A=B", "A\0"] {
            assert!(environment(&[], &[], &[(name, "x")], &[], false).is_err());
        }
    }
}
