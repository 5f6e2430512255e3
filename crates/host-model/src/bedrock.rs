//! Amazon Bedrock's ConverseStream, by request shape (ENG-2): signed requests, binary event stream.

mod decode;
pub(crate) mod event_stream;
mod request;
pub(crate) mod signature;

use crate::exchange::{Decoder, Framing};
use crate::link::Link;
use crate::schema::{Dialect, Projection};
use crate::wire::Wire;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelRequest};
use host_vocab::Secret;

/// Keys of an AWS account.
#[derive(Debug, Clone)]
pub struct AwsCredentials {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: Secret,
    /// `AWS_SESSION_TOKEN`, for keys that end.
    pub session_token: Option<Secret>,
    /// `AWS_REGION`.
    pub region: String,
}

/// The wire format.
pub(crate) struct Bedrock {
    /// Keys to sign with; without them the link's API key goes as a bearer token.
    pub(crate) credentials: Option<AwsCredentials>,
}

impl Wire for Bedrock {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    fn framing(&self) -> Framing {
        Framing::EventStream
    }

    fn request(
        &self,
        link: &Link,
        request: &ModelRequest,
        tools: &Projection,
        notes: &mut Vec<String>,
    ) -> Result<HttpRequest, ModelError> {
        let path = format!("model/{}/converse-stream", signature::encoded(&link.model));
        let mut out = link.post(&path, &request::body(link, request, tools, notes))?;
        let media = http::HeaderValue::from_static("application/vnd.amazon.eventstream");
        out.headers.insert(http::header::ACCEPT, media);
        match &self.credentials {
            Some(keys) => signature::sign(&mut out, keys, link.now_ms())?,
            None => link.authorize(&mut out, http::header::AUTHORIZATION, "Bearer ")?,
        }
        Ok(out)
    }

    fn decoder(&self, link: &Link) -> Box<dyn Decoder> {
        Box::new(decode::ConverseDecoder::new(&link.provider))
    }
}
