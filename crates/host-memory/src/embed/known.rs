//! The local model that the host knows: where it comes from and how it is checked. It is never fetched by
//! itself.

use crate::content_hash_of;

/// One file of a local model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Its name in the package that it comes from.
    pub in_package: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: &'static str,
}

/// A local model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalModel {
    /// Its name, for `memory.embeddings.model`.
    pub name: &'static str,
    /// How many numbers a vector has.
    pub dim: usize,
    /// Its licence.
    pub licence: &'static str,
    /// Where it comes from, in words for people.
    pub origin: &'static str,
    /// The table of vectors.
    pub table: KnownFile,
    /// The tokenizer.
    pub tokenizer: KnownFile,
}

/// `wordllama`: static vectors of words, 16 MB, read in this process.
pub const LOCAL_MODEL: LocalModel = LocalModel {
    name: "wordllama-l2-supercat-256",
    dim: 256,
    licence: "MIT",
    origin: "the Python package wordllama 0.4.0.post1 (pip download wordllama --no-deps, then unzip)",
    table: KnownFile {
        name: "l2_supercat_256.safetensors",
        in_package: "wordllama/weights/l2_supercat_256.safetensors",
        bytes: 16_384_096,
        sha256: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    },
    tokenizer: KnownFile {
        name: "l2_supercat_tokenizer_config.json",
        in_package: "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
        bytes: 1_842_796,
        sha256: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    },
};

impl KnownFile {
    /// Whether these are its bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && content_hash_of(bytes) == self.sha256
    }
}
