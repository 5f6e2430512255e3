//! An address on this machine that lives as long as one request: how an outside runtime reaches tools of the run
//! that it works for (HIS-1).

use crate::BoxFuture;
use host_vocab::Secret;
use std::io;
use std::sync::Arc;

/// What comes back for one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointAnswer {
    /// A JSON document.
    Json(Vec<u8>),
    /// A JSON document that says why the message is none (HTTP 400).
    Bad(Vec<u8>),
    /// Taken; there is nothing to say.
    Accepted,
    /// Nothing is here any more; told like everything that isn't there.
    Gone,
}

/// Who answers. Every message stands alone: nothing is kept between two.
pub trait EndpointHandler: Send + Sync {
    /// Answers one message, a JSON document of bounded size. It is dropped when the caller goes away or the address is
    /// closed.
    fn answer(&self, body: Vec<u8>) -> BoxFuture<'_, EndpointAnswer>;
}

/// An open address. Dropping it closes it.
pub struct OpenEndpoint {
    /// Where it is: `http://127.0.0.1:<port>/<random>`.
    pub url: String,
    /// What every request must carry as `Authorization: Bearer …`.
    pub bearer: Secret,
    _guard: Box<dyn Send + Sync>,
}

impl OpenEndpoint {
    /// With what closes it when it is dropped.
    pub fn new(url: String, bearer: Secret, guard: Box<dyn Send + Sync>) -> Self {
        OpenEndpoint { url, bearer, _guard: guard }
    }
}

/// Opens addresses for requests.
pub trait Endpoint: Send + Sync {
    /// Opens one, for this handler alone.
    ///
    /// # Errors
    /// Where this machine has no port for it.
    fn open(&self, handler: Arc<dyn EndpointHandler>) -> BoxFuture<'_, io::Result<OpenEndpoint>>;
}
