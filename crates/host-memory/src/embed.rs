//! Vectors: the port, and who answers it.

mod breaker;
mod known;
mod package;
mod remote;
mod table;
mod tokenizer;

pub use breaker::{Breaker, BreakerConfig};
pub use known::{KnownFile, LOCAL_MODEL, LocalModel};
pub use package::unpacked;
pub use remote::{RemoteConfig, RemoteEmbedder, RemoteKind};
pub use table::{StaticTable, TableError};

use crate::VectorIdentity;
use host_ports::BoxFuture;

/// What a text is embedded for; some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To look something up.
    Query,
    /// To be found.
    Fact,
}

/// How a model's cosines are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineScale {
    /// From which cosine on two texts have anything to do with each other.
    pub floor: f32,
    /// At which cosine they say the same.
    pub same: f32,
}

impl Default for CosineScale {
    /// Of an ordinary sentence model.
    fn default() -> Self {
        CosineScale { floor: 0.5, same: 0.85 }
    }
}

/// Why there are no vectors. No variant holds a key or what a server wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// It could not be reached, or did not answer in time.
    #[error("the embedder can't be reached")]
    Unreachable,
    /// It answered with an error.
    #[error("the embedder answered with status {0}")]
    Status(u16),
    /// The answer is not what was asked for.
    #[error("the embedder's answer can't be used: {0}")]
    Answer(&'static str),
    /// The local model's files are not there.
    #[error("the local model is not installed")]
    NotInstalled,
    /// It failed too often and rests.
    #[error("embedding_circuit_open")]
    Open,
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// Whose vectors they are.
    fn identity(&self) -> VectorIdentity;

    /// How its cosines are read.
    fn scale(&self) -> CosineScale {
        CosineScale::default()
    }

    /// One vector for each text, in their order; at most 32 texts at once.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
