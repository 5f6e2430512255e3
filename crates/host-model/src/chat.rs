//! OpenAI's Chat Completions, and every server that speaks it: Ollama, LM Studio, llama.cpp, vLLM … (ENG-2).

mod calls;
pub(crate) mod decode;
mod model;
pub(crate) mod request;

pub(crate) use model::ChatModel;

use crate::exchange::Decoder;
use crate::link::Link;
use crate::schema::{Dialect, Projection};
use crate::wire::Wire;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelRequest};

/// The wire format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat {
    /// OpenAI itself: its newer fields are used. Others get the fields that all servers know.
    pub(crate) openai: bool,
}

impl Wire for Chat {
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
        post(link, &request::body(*self, link, request, tools, notes))
    }

    fn decoder(&self, link: &Link) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(&link.provider))
    }
}

/// A POST to the endpoint.
pub(crate) fn post(link: &Link, body: &serde_json::Value) -> Result<HttpRequest, ModelError> {
    let mut out = link.post("chat/completions", body)?;
    link.authorize(&mut out, http::header::AUTHORIZATION, "Bearer ")?;
    Ok(out)
}
