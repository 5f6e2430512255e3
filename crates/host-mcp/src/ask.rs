//! What a server is asked for, besides its lists of tools.

use crate::elicitation::Asker;
use crate::round::Round;
use host_ports::CancellationToken;
use host_surface::ProgressSink;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest, GetPromptRequestParams,
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams,
};
use serde_json::{Map, Value};

/// One thing to ask for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// A tool, by the server's own name.
    Tool { remote: String, arguments: Map<String, Value> },
    /// A page of resources.
    Resources { cursor: Option<String> },
    /// A page of templates of resources.
    Templates { cursor: Option<String> },
    /// A resource.
    Resource { uri: String },
    /// A page of prompts.
    Prompts { cursor: Option<String> },
    /// A prompt, filled in.
    Prompt { name: String, arguments: Map<String, Value> },
}

/// One call, or one round of it.
pub(crate) struct Request {
    pub(crate) ask: Ask,
    pub(crate) round: Round,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: ProgressSink,
    pub(crate) asker: Asker,
}

impl Request {
    /// As rmcp sends it.
    pub(crate) fn wire(&self) -> ClientRequest {
        let responses = self.round.responses.clone().map(|all| all.into_iter().collect());
        let state = self.round.state.clone();
        match &self.ask {
            Ask::Tool { remote, arguments } => {
                let mut params = CallToolRequestParams::new(remote.clone());
                params.arguments = Some(arguments.clone());
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Ask::Resource { uri } => {
                let mut params = ReadResourceRequestParams::new(uri.clone());
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Ask::Prompt { name, arguments } => {
                let mut params = GetPromptRequestParams::new(name.clone());
                params.arguments = Some(arguments.clone());
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Ask::Resources { cursor } => {
                let params = page(cursor);
                ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() })
            }
            Ask::Templates { cursor } => {
                let request = ListResourceTemplatesRequest { params: page(cursor), ..Default::default() };
                ClientRequest::ListResourceTemplatesRequest(request)
            }
            Ask::Prompts { cursor } => {
                let params = page(cursor);
                ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..Default::default() })
            }
        }
    }
}

/// A cursor goes back as it came.
fn page(cursor: &Option<String>) -> Option<PaginatedRequestParams> {
    cursor.as_ref().map(|it| PaginatedRequestParams::default().with_cursor(Some(it.clone())))
}
