//! Every kind of side effect there is, one trait each.
//!
//! The world crates implement these; everything below them holds `Arc<dyn Port>` and nothing else.

pub mod ask;
pub mod clock;
pub mod commands;
pub mod elicit;
pub mod endpoint;
pub mod files;
pub mod helpers;
pub mod http;
pub mod kept;
pub mod log;
pub mod memory;
pub mod model;
pub mod operator;
pub mod replies;
pub mod sample;
pub mod sessions;
pub mod spawn;

/// A boxed future that may cross threads, as every port returns.
pub type BoxFuture<'a, T> = futures_util::future::BoxFuture<'a, T>;
pub use tokio_util::sync::CancellationToken;
