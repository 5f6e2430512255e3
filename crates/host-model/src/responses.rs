//! OpenAI's Responses API (ENG-2). Nothing is stored there: reasoning travels encrypted with the prompt.

mod decode;
mod request;

use crate::exchange::Decoder;
use crate::link::Link;
use crate::schema::{Dialect, Projection};
use crate::wire::Wire;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelRequest};

/// The wire format.
pub(crate) struct Responses;

impl Wire for Responses {
    fn dialect(&self) -> Dialect {
        Dialect::OpenAi
    }

    fn request(
        &self,
        link: &Link,
        request: &ModelRequest,
        tools: &Projection,
        notes: &mut Vec<String>,
    ) -> Result<HttpRequest, ModelError> {
        let mut out = link.post("responses", &request::body(link, request, tools, notes))?;
        link.authorize(&mut out, http::header::AUTHORIZATION, "Bearer ")?;
        Ok(out)
    }

    fn decoder(&self, link: &Link) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::new(&link.provider))
    }
}
