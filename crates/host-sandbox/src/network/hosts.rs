//! The allowlist of hosts.

use super::address;
use serde::{Serialize, Serializer};
use std::net::Ipv4Addr;

/// Host names that children may reach. `a.test` means that name alone; `*.a.test` means every name below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostList(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Exact(String),
    Below(String),
}

/// Why an entry is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sandbox.network.allowlist entry {entry:?} {why}")]
pub struct HostListError {
    /// The entry.
    pub entry: String,
    /// What is wrong with it and what to write.
    pub why: &'static str,
}

impl HostList {
    /// Reads entries.
    ///
    /// # Errors
    /// The first entry that is no host name, IPv4 address or `*.suffix`.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, HostListError> {
        let mut list: Vec<Entry> = Vec::new();
        for entry in entries {
            let entry = parse_entry(entry.as_ref())?;
            if !list.contains(&entry) {
                list.push(entry);
            }
        }
        Ok(HostList(list))
    }

    /// Whether a name is on the list, in any spelling of case and with or without its last dot.
    pub fn admits(&self, host: &str) -> bool {
        let host = normal(host);
        self.0.iter().any(|entry| match entry {
            Entry::Exact(name) => *name == host,
            Entry::Below(suffix) => below(&host, suffix),
        })
    }

    /// Whether this very text is an entry: what lets a private address through.
    pub fn names_exactly(&self, host: &str) -> bool {
        let host = normal(host);
        self.0.iter().any(|entry| matches!(entry, Entry::Exact(name) if *name == host))
    }

    pub(crate) fn loopback_only(&self) -> HostList {
        let keep = |entry: &&Entry| matches!(entry, Entry::Exact(name) if address::is_loopback_name(name));
        HostList(self.0.iter().filter(keep).cloned().collect())
    }

    pub(crate) fn intersect(&self, other: &HostList) -> HostList {
        let covers = |wide: &Entry, narrow: &Entry| match (wide, narrow) {
            (Entry::Exact(a), Entry::Exact(b)) => a == b,
            (Entry::Below(a), Entry::Exact(b)) => below(b, a),
            (Entry::Below(a), Entry::Below(b)) => a == b || below(b, a),
            (Entry::Exact(_), Entry::Below(_)) => false,
        };
        let mut out: Vec<Entry> = Vec::new();
        for a in &self.0 {
            for b in &other.0 {
                let both = if covers(b, a) {
                    a
                } else if covers(a, b) {
                    b
                } else {
                    continue;
                };
                if !out.contains(both) {
                    out.push(both.clone());
                }
            }
        }
        HostList(out)
    }

    /// Its entries as they are written.
    pub fn entries(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|entry| match entry {
            Entry::Exact(name) => name.clone(),
            Entry::Below(suffix) => format!("*.{suffix}"),
        })
    }
}

impl Serialize for HostList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries())
    }
}

fn normal(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn below(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn parse_entry(entry: &str) -> Result<Entry, HostListError> {
    let refuse = |why| Err(HostListError { entry: entry.to_owned(), why });
    if entry == "*" {
        return refuse("allows everything; set network.mode to \"all\" if that is meant");
    }
    if entry.contains("://") || entry.contains('/') {
        return refuse("is an address with a scheme, path or range; write the host name alone");
    }
    if entry.contains(':') || entry.contains('[') {
        return refuse("has a port or is an IPv6 address; write the host name alone");
    }
    let (wild, name) = match entry.strip_prefix("*.") {
        Some(rest) => (true, normal(rest)),
        None => (false, normal(entry)),
    };
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return refuse("is not a host name; write example.com or *.example.com");
    }
    if wild && name.parse::<Ipv4Addr>().is_ok() {
        return refuse("puts a wildcard before an address; list the address itself");
    }
    Ok(if wild { Entry::Below(name) } else { Entry::Exact(name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-1, SBX-3
    #[test]
    fn entries_are_names_or_suffixes_and_nothing_else() {
        for bad in [
            "*",
            "",
            "a b",
            "https://a.test",
            "a.test/x",
            "a.test:443",
            "[::1]",
            "10.0.0.0/8",
            "*.1.2.3.4",
            "*a.test",
            "a..test",
            "*.",
            "a.*.test",
        ] {
            assert!(HostList::parse(&[bad]).is_err(), "{bad:?}");
        }
        let list = HostList::parse(&["A.test", "*.b.test", "10.0.0.7"]).expect("valid");
        for yes in ["a.test", "A.TEST.", "x.b.test", "x.y.b.test", "10.0.0.7"] {
            assert!(list.admits(yes), "{yes}");
        }
        for no in ["b.test", "xb.test", "x.a.test", "a.test.evil", ".b.test", ""] {
            assert!(!list.admits(no), "{no}");
        }
    }
}
