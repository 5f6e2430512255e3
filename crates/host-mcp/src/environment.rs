//! The environment of a stdio server (MCP-6).

use std::collections::BTreeMap;

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

/// The whole environment of a child: the safe list out of the host's variables, the names that the entry
/// inherits, its literal values, and last the trusted overlay, which nothing in a config can override.
///
/// # Errors
/// The first declared variable that is refused.
pub fn child_environment(
    host: &BTreeMap<String, String>,
    inherit: &[String],
    literal: &BTreeMap<String, String>,
    overlay: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, EnvironmentError> {
    let mut env: BTreeMap<String, String> = host
        .iter()
        .filter(|(name, _)| SAFE_NAMES.contains(&name.as_str()) || name.starts_with("LC_"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for name in inherit {
        check(name, "")?;
        if let Some(value) = host.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in literal {
        check(name, value)?;
        env.insert(name.clone(), value.clone());
    }
    env.extend(overlay.iter().map(|(name, value)| (name.clone(), value.clone())));
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

    // T2-09, MCP-6
    #[test]
    fn one_literal_value_does_not_open_the_whole_environment() {
        let host = map(&[("T_SECRET", "1"), ("PATH", "/bin"), ("LC_ALL", "C"), ("OPENAI_API_KEY", "k")]);
        let with = |inherit: &[String], literal: &[(&str, &str)]| {
            child_environment(&host, inherit, &map(literal), &BTreeMap::new()).unwrap()
        };
        assert_eq!(with(&[], &[]), map(&[("PATH", "/bin"), ("LC_ALL", "C")]));
        assert_eq!(with(&[], &[("LOG", "1")]), map(&[("PATH", "/bin"), ("LC_ALL", "C"), ("LOG", "1")]));
        assert!(with(&["T_SECRET".into(), "ABSENT".into()], &[]).contains_key("T_SECRET"));
    }

    // T2-09, CTX-1
    #[test]
    fn the_overlay_wins() {
        let literal = map(&[("MONO_AGENT_MCP_PRODUCING_RUN_ID", "forged")]);
        let overlay = map(&[("MONO_AGENT_MCP_PRODUCING_RUN_ID", "run-1")]);
        let env = child_environment(&BTreeMap::new(), &[], &literal, &overlay).unwrap();
        assert_eq!(env, overlay);
    }

    #[test]
    fn loaders_are_not_steered() {
        for name in ["LD_PRELOAD", "NODE_OPTIONS", "BASH_FUNC_ls%%", "DYLD_INSERT_LIBRARIES", "BASH_ENV"] {
            let literal = map(&[(name, "x")]);
            let result = child_environment(&BTreeMap::new(), &[], &literal, &BTreeMap::new());
            assert_eq!(result, Err(EnvironmentError::Dangerous(name.into())));
            let result =
                child_environment(&BTreeMap::new(), &[name.to_owned()], &BTreeMap::new(), &BTreeMap::new());
            assert!(result.is_err(), "{name} is not inherited either");
        }
        let literal = map(&[("A=B", "x")]);
        assert!(child_environment(&BTreeMap::new(), &[], &literal, &BTreeMap::new()).is_err());
    }
}
