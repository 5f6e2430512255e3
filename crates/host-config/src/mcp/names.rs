//! Names: of variables that a server may not be given, of headers, of servers.

/// Why a variable may not be given to a child, if so: it makes a program load or run something else.
pub fn refused_variable(name: &str) -> Option<&'static str> {
    const EXACT: &[(&str, &str)] = &[
        ("NODE_OPTIONS", "it makes Node load other code"),
        ("BASH_ENV", "it makes a shell run a file at its start"),
        ("ENV", "it makes a shell run a file at its start"),
        ("ZDOTDIR", "it makes a shell run files at its start"),
        ("SHELLOPTS", "it changes how a shell reads its commands"),
        ("BASHOPTS", "it changes how a shell reads its commands"),
        ("PROMPT_COMMAND", "a shell runs it"),
        ("PS4", "a shell expands it"),
        ("IFS", "it changes how a shell reads its commands"),
        ("CDPATH", "it changes where a shell goes"),
        ("GLOBIGNORE", "it changes what a shell's patterns match"),
        ("PYTHONSTARTUP", "it makes Python run a file at its start"),
        ("PYTHONHOME", "it makes Python load another library"),
        ("PYTHONINSPECT", "it keeps Python reading commands"),
        ("PYTHONBREAKPOINT", "it makes Python call other code"),
        ("PERL5OPT", "it makes Perl load other code"),
        ("PERL5DB", "it makes Perl run other code"),
        ("RUBYOPT", "it makes Ruby load other code"),
        ("JAVA_TOOL_OPTIONS", "it makes Java load other code"),
        ("_JAVA_OPTIONS", "it makes Java load other code"),
        ("JDK_JAVA_OPTIONS", "it makes Java load other code"),
        ("DOTNET_STARTUP_HOOKS", "it makes .NET load other code"),
        ("GCONV_PATH", "it makes the C library load other code"),
        ("GLIBC_TUNABLES", "it changes how the C library works"),
        ("LOCPATH", "it makes the C library load other files"),
        ("NLSPATH", "it makes the C library load other files"),
        ("OPENSSL_CONF", "it makes OpenSSL load other code"),
        ("OPENSSL_ENGINES", "it makes OpenSSL load other code"),
        ("GIT_EXTERNAL_DIFF", "it makes Git run a program"),
        ("GIT_SSH_COMMAND", "it makes Git run a program"),
        ("GIT_ASKPASS", "it makes Git run a program"),
    ];
    const PREFIXES: &[(&str, &str)] = &[
        ("LD_", "it makes the loader load other code"),
        ("DYLD_", "it makes the loader load other code"),
        ("_RLD_", "it makes the loader load other code"),
        ("BASH_FUNC_", "it gives a shell functions in place of commands"),
        ("CORECLR_", "it makes .NET load other code"),
        ("COR_PROFILER", "it makes .NET load other code"),
        ("COR_ENABLE_PROFILING", "it makes .NET load other code"),
        ("GIT_CONFIG_", "it changes what Git runs"),
    ];
    let exact = EXACT.iter().find(|(refused, _)| *refused == name).map(|(_, why)| *why);
    exact.or_else(|| PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, why)| *why))
}

/// Whether a variable may not be given to a child.
pub fn is_refused_variable(name: &str) -> bool {
    refused_variable(name).is_some()
}

/// Whether a variable is the host's own: what a config says of it loses (CTX-1, CON-1).
pub(super) fn is_host_owned(name: &str) -> bool {
    ["MONO_AGENT_MCP_", "MONO_AGENT_INTERACTION_", "MONO_AGENT_CONTINUATION_CLAIM_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Whether a text may be the name of a header (RFC 9110 §5.1, a token).
pub(super) fn is_header_name(name: &str) -> bool {
    const PUNCTUATION: &[u8] = b"!#$%&'*+-.^_`|~";
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || PUNCTUATION.contains(&b))
}

/// Whether a text may be the value of a header (RFC 9110 §5.5): no control characters but the tab.
pub(super) fn is_header_value(value: &str) -> bool {
    value.chars().all(|c| c == '\t' || !c.is_control())
}

/// Headers that the transport sets itself, in lower case.
pub(super) fn is_transport_header(name: &str) -> bool {
    const OURS: &[&str] = &[
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    let lower = name.to_ascii_lowercase();
    OURS.contains(&lower.as_str()) || lower.starts_with("x-mono-agent-continuation-claim-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_change_what_runs_are_refused() {
        for name in [
            "LD_PRELOAD",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "PYTHONSTARTUP",
        ] {
            assert!(is_refused_variable(name), "{name}");
        }
        for name in ["PATH", "HOME", "LOG_LEVEL", "NODE_ENV", "PYTHONPATH", "ENVIRONMENT", "LDFLAGS"] {
            assert!(!is_refused_variable(name), "{name}");
        }
    }
}
