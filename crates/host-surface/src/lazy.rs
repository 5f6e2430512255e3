//! `ToolSearch`: tools of servers that the model is shown only when it asks for them (GWY-2).
//!
//! Over a bound (tools, or bytes of their definitions) the model sees our own tools and `ToolSearch`; what a search
//! finds is on the list from the next request on. Nothing is withheld by this: a tool that is on the surface can be
//! called by its name, seen or not, and passes the same gate.

mod rank;

use crate::admitted::Admitted;
use crate::gate::codes;
use crate::schema::InputSchema;
use crate::surface::Sealed;
use crate::tool::{AnyTool, ToolError, ToolInfo, ToolOutput};
use host_ports::BoxFuture;
use host_ports::model::ToolSpec;
use host_vocab::{ToolName, text};
use rank::Index;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Its name.
pub const TOOL_SEARCH: &str = "ToolSearch";
/// How many tools of servers are shown at once.
pub const SHOWN_TOOLS_MAX: usize = 100;
/// How many bytes their definitions may have: about 25,000 tokens.
pub const SHOWN_BYTES_MAX: usize = 100_000;
/// How many tools one search shows.
const FOUND_MAX: usize = 20;
/// How many it shows unless it is told.
const FOUND_DEFAULT: usize = 8;
/// How many bytes of definitions one search gives.
const FOUND_BYTES_MAX: usize = 60_000;
/// How many tools one run is shown in all.
const REVEALED_MAX: usize = 200;

/// The tools of servers of one surface, and which of them the model was shown.
pub(crate) struct LazyTools {
    tools: Vec<Arc<dyn AnyTool>>,
    index: OnceLock<Index>,
    /// Positions in `tools`, in the order in which they were shown.
    revealed: Mutex<Vec<usize>>,
}

impl LazyTools {
    /// Over the tools of servers, where they are too many to be shown at once.
    pub(crate) fn over(tools: &BTreeMap<ToolName, Sealed>) -> Option<Arc<Self>> {
        let of_servers: Vec<Arc<dyn AnyTool>> = tools
            .values()
            .filter(|sealed| sealed.tool.info().server.is_some())
            .map(|sealed| Arc::clone(&sealed.tool))
            .collect();
        let too_many = of_servers.len() > SHOWN_TOOLS_MAX
            || of_servers.iter().map(|tool| size(tool.info())).sum::<usize>() > SHOWN_BYTES_MAX;
        too_many.then(|| {
            Arc::new(LazyTools { tools: of_servers, index: OnceLock::new(), revealed: Mutex::default() })
        })
    }

    /// What the model was shown of them so far, in the order of showing.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.revealed().iter().map(|at| spec_of(self.tools[*at].info())).collect()
    }

    /// A tool that is called is shown from then on.
    pub(crate) fn called(&self, name: &str) {
        if let Ok(at) = self.tools.binary_search_by(|tool| tool.info().name.as_str().cmp(name)) {
            self.reveal(at);
        }
    }

    fn reveal(&self, at: usize) -> bool {
        let mut revealed = self.revealed();
        if revealed.contains(&at) {
            return true;
        }
        let room = revealed.len() < REVEALED_MAX;
        if room {
            revealed.push(at);
        }
        room
    }

    fn revealed(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.revealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(&self, query: &str, many: usize) -> Vec<usize> {
        // A name that is written out is meant.
        if let Ok(at) = self.tools.binary_search_by(|tool| tool.info().name.as_str().cmp(query.trim())) {
            return vec![at];
        }
        self.index.get_or_init(|| Index::over(&self.tools)).best(query, many)
    }

    /// The servers with the numbers of their tools, for the description.
    fn servers(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in &self.tools {
            if let Some(server) = &tool.info().server {
                *counts.entry(server.as_str()).or_default() += 1;
            }
        }
        let shown: Vec<String> =
            counts.iter().take(60).map(|(server, count)| format!("{server} ({count})")).collect();
        let more = counts.len().saturating_sub(60);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }
}

pub(crate) fn spec_of(info: &ToolInfo) -> ToolSpec {
    ToolSpec {
        name: info.name.to_string(),
        description: info.description.clone(),
        input_schema: Arc::clone(info.schema.value()),
    }
}

fn size(info: &ToolInfo) -> usize {
    info.name.as_str().len() + info.description.len() + info.schema.value().to_string().len()
}

/// The tool itself.
pub(crate) struct ToolSearch {
    info: ToolInfo,
    lazy: Arc<LazyTools>,
}

impl ToolSearch {
    pub(crate) fn over(lazy: &Arc<LazyTools>) -> Self {
        let description = format!(
            "Finds tools of the attached MCP servers, which are too many to be listed: {} tools of {}. \
             Say in a few words what you want to do, or write a tool's name. What is found can be called from then on.",
            lazy.tools.len(),
            lazy.servers()
        );
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What you want to do."},
                "limit": {"type": "integer", "minimum": 1, "maximum": FOUND_MAX, "description": "How many to show (8)."},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let info = ToolInfo {
            name: ToolName::parse(TOOL_SEARCH).expect("a constant that is a tool name; a test calls it"),
            description,
            schema: InputSchema::new(schema),
            effects: Vec::new(),
            server: None,
            listed: false,
            no_deadline: false,
        };
        ToolSearch { info, lazy: Arc::clone(lazy) }
    }
}

impl AnyTool for ToolSearch {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn call(&self, call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let query = call.input.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
            let many =
                call.input.get("limit").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
            let lazy = Arc::clone(&self.lazy);
            let many = many.unwrap_or(FOUND_DEFAULT).clamp(1, FOUND_MAX);
            let searched = tokio::task::spawn_blocking(move || found(&lazy, &query, many)).await;
            searched.unwrap_or_else(|_| Err(ToolError::new(codes::INTERNAL_ERROR, "the search broke")))
        })
    }
}

fn found(lazy: &LazyTools, query: &str, many: usize) -> Result<ToolOutput, ToolError> {
    let places = lazy.search(query, many);
    if places.is_empty() {
        let words = text::one_line(query, 100);
        let message =
            format!("no tool fits {words:?}; try other words, or the name of a server: {}", lazy.servers());
        return Ok(ToolOutput::text(message).with_structured(json!({"tools": []})));
    }
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for at in places {
        let info = lazy.tools[at].info();
        bytes += size(info);
        if (bytes > FOUND_BYTES_MAX && !rows.is_empty()) || !lazy.reveal(at) {
            break;
        }
        rows.push(json!({
            "name": info.name.as_str(),
            "description": text::prefix(&info.description, 2_000),
            "input_schema": info.schema.value().as_ref(),
        }));
    }
    if rows.is_empty() {
        let message =
            format!("this run was shown {REVEALED_MAX} tools already; call one of them by its name");
        return Err(ToolError::new(codes::TOOL_DENIED, message));
    }
    let text = serde_json::to_string(&rows).unwrap_or_default();
    Ok(ToolOutput::text(text))
}
