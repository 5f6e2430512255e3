//! Gemini's generateContent, streamed as server-sent events (ENG-2).

mod decode;
mod request;

use crate::exchange::Decoder;
use crate::link::Link;
use crate::schema::{Dialect, Projection};
use crate::wire::Wire;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelRequest};
use http::HeaderName;

/// The wire format.
pub(crate) struct Gemini;

impl Wire for Gemini {
    fn dialect(&self) -> Dialect {
        Dialect::Gemini
    }

    fn request(
        &self,
        link: &Link,
        request: &ModelRequest,
        tools: &Projection,
        notes: &mut Vec<String>,
    ) -> Result<HttpRequest, ModelError> {
        let model = link.model.strip_prefix("models/").unwrap_or(&link.model);
        let path =
            format!("v1beta/models/{}:streamGenerateContent?alt=sse", model.replace(['/', '?', '#'], "_"));
        let mut out = link.post(&path, &request::body(link, request, tools, notes))?;
        // The key goes into a header: in the query it would stand in every log.
        link.authorize(&mut out, HeaderName::from_static("x-goog-api-key"), "")?;
        Ok(out)
    }

    fn decoder(&self, link: &Link) -> Box<dyn Decoder> {
        Box::new(decode::GeminiDecoder::new(&link.provider))
    }
}
