//! Short digests: of what settings were read from, and for names of files.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// A digest of the files that settings are read from: it tells whether a running host was started with what
/// stands there now.
pub fn digest(sources: &[host_config::Source]) -> String {
    let mut hash = Sha256::new();
    for source in sources.iter().filter(|it| it.found) {
        hash.update(source.role.as_bytes());
        hash.update(crate::load::read(&source.path).unwrap_or_default());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// The settings among variables, each with a digest of its value, so that two processes can be compared.
pub fn variables(env: &host_config::Environment) -> BTreeMap<String, String> {
    let set = host_config::variables().filter_map(|name| Some((name, env.get(name)?)));
    set.map(|(name, value)| (name.to_owned(), short_digest(value.as_bytes()))).collect()
}

/// A short digest for names of files.
pub(crate) fn short_digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    host_vocab::text::hex(&bytes[..16])
}
