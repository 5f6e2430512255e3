//! Anthropic's Messages API (ENG-2).

mod decode;
mod request;
pub(crate) mod thinking;

use crate::exchange::Decoder;
use crate::link::Link;
use crate::schema::{Dialect, Projection};
use crate::wire::Wire;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelRequest};
use http::{HeaderName, HeaderValue};

/// The wire format.
pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    fn request(
        &self,
        link: &Link,
        request: &ModelRequest,
        tools: &Projection,
        notes: &mut Vec<String>,
    ) -> Result<HttpRequest, ModelError> {
        let body = request::body(link, request, tools, notes);
        let mut out = link.post("v1/messages", &body)?;
        let version = HeaderName::from_static("anthropic-version");
        out.headers.entry(version).or_insert(HeaderValue::from_static("2023-06-01"));
        link.authorize(&mut out, HeaderName::from_static("x-api-key"), "")?;
        Ok(out)
    }

    fn decoder(&self, link: &Link) -> Box<dyn Decoder> {
        Box::new(decode::MessagesDecoder::new(&link.provider))
    }
}
