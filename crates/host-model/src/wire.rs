//! A provider with native tool calls: one wire format over one link.

use crate::exchange::{Decoder, Framing, exchange};
use crate::link::Link;
use crate::schema::{Dialect, Projection, ToolCache};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::http::{Http, HttpRequest};
use host_ports::model::{Model, ModelError, ModelEvent, ModelInfo, ModelRequest};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What makes one provider's wire format: how a request is written and how an answer is read.
pub(crate) trait Wire: Send + Sync + 'static {
    fn dialect(&self) -> Dialect;
    fn framing(&self) -> Framing {
        Framing::Sse
    }
    /// Writes the request. What could not be said as asked goes into `notes`.
    fn request(
        &self,
        link: &Link,
        request: &ModelRequest,
        tools: &Projection,
        notes: &mut Vec<String>,
    ) -> Result<HttpRequest, ModelError>;
    fn decoder(&self, link: &Link) -> Box<dyn Decoder>;
}

/// Says each note once in the life of a model.
#[derive(Default)]
pub(crate) struct SaidOnce(Mutex<HashSet<String>>);

impl SaidOnce {
    /// How many different notes are remembered; past that the memory starts anew.
    const NOTES_MAX: usize = 64;

    pub(crate) fn new_ones(&self, notes: Vec<String>) -> Vec<String> {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() > Self::NOTES_MAX {
            said.clear();
        }
        notes.into_iter().filter(|note| said.insert(note.clone())).collect()
    }
}

/// A model behind a wire format.
pub(crate) struct WireModel<W> {
    pub(crate) link: Arc<Link>,
    pub(crate) wire: W,
    pub(crate) http: Arc<dyn Http>,
    pub(crate) tools: ToolCache,
    pub(crate) said: SaidOnce,
    /// Whether tools are sent at all (`tool_calling: none` sends none).
    pub(crate) with_tools: bool,
}

impl<W: Wire> WireModel<W> {
    pub(crate) fn new(link: Arc<Link>, wire: W, http: Arc<dyn Http>, with_tools: bool) -> Self {
        WireModel { link, wire, http, tools: ToolCache::default(), said: SaidOnce::default(), with_tools }
    }
}

impl<W: Wire> Model for WireModel<W> {
    fn info(&self) -> ModelInfo {
        self.link.info(if self.with_tools { "native" } else { "none" })
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let mut notes = Vec::new();
        let tools = if self.with_tools {
            let tools = self.tools.get(&request.tools, self.wire.dialect());
            notes.extend(tools.notice());
            tools
        } else {
            if !request.tools.is_empty() {
                notes.push(no_tools_note(&self.link));
            }
            Arc::default()
        };
        let written = self.wire.request(&self.link, &request, &tools, &mut notes);
        let notes =
            stream::iter(self.said.new_ones(notes).into_iter().map(|note| Ok(ModelEvent::Notice(note))));
        match written {
            Ok(written) => {
                let decoder = self.wire.decoder(&self.link);
                let events =
                    exchange(self.http.clone(), self.link.clone(), written, self.wire.framing(), decoder);
                notes.chain(events).boxed()
            }
            Err(mut error) => {
                error.message = self.link.scrub(&error.message);
                notes.chain(stream::iter([Err(error)])).boxed()
            }
        }
    }
}

pub(crate) fn no_tools_note(link: &Link) -> String {
    format!("tools are off for {}:{} (toolCalling: none)", link.provider, link.model)
}
