//! What servers have besides tools: resources and prompts, through two tools of ours.
//!
//! They are offered where a server of the run has them, and know the servers of that run alone. The lists gate them like
//! our other tools, and a server whose tools are denied as a whole is left out of them too.

mod prompts;
mod resources;

pub use prompts::McpPrompts;
pub use resources::McpResources;

use crate::ask::Ask;
use crate::call::Caller;
use crate::repair;
use crate::server::Server;
use crate::source::McpSource;
use futures_util::future::join_all;
use host_ports::BoxFuture;
use host_surface::{CallContext, Offer, RunFacts, ToolError, ToolSource, WithheldBy};
use host_vocab::{RunId, ServerName, text};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The most entries that are shown of one page.
const ENTRIES_MAX: usize = 500;
/// The longest description of an entry, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 300;
/// The longest address or name that may be asked for, in bytes.
const NAME_BYTES_MAX: usize = 8 * 1024;

/// The codes of both tools besides those of calls.
pub(crate) mod codes {
    use crate::tool::codes as calls;

    /// No server of that name has it in this run.
    pub const UNKNOWN_SERVER: &str = "unknown_server";
    /// The arguments don't go together.
    pub const INVALID_INPUT: &str = "invalid_input";

    /// All codes that either tool can end with.
    pub const ALL: &[&str] = &[
        UNKNOWN_SERVER,
        INVALID_INPUT,
        calls::SERVER_UNAVAILABLE,
        calls::UNAUTHORIZED,
        calls::TIMEOUT,
        calls::CONNECTION_LOST,
        calls::PROTOCOL_ERROR,
        calls::RESULT_TOO_LARGE,
        calls::INPUT_REQUIRED,
    ];
}

/// Which servers may be shown: those whose tools the lists don't deny as a whole.
pub type Admits = Arc<dyn Fn(&ServerName) -> bool + Send + Sync>;

/// The source of both tools.
pub(crate) struct LibrarySource {
    sources: Vec<Arc<McpSource>>,
    admits: Admits,
}

impl LibrarySource {
    pub(crate) fn new(sources: Vec<Arc<McpSource>>, admits: Admits) -> Self {
        LibrarySource { sources, admits }
    }

    /// A server as a run has it, and whether it has resources and prompts. What can't be connected to is left out: its
    /// own source says why.
    async fn look(&self, source: &McpSource, run: &RunId) -> Option<(Arc<Server>, bool, bool)> {
        if !(self.admits)(source.server_name()) {
            return None;
        }
        let server = source.server_of(run).await.ok()?;
        let definitions = server.definitions().await.ok()?;
        Some((server, definitions.resources, definitions.prompts))
    }
}

impl ToolSource for LibrarySource {
    fn name(&self) -> String {
        "mcp".to_owned()
    }

    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async move {
            let all = join_all(self.sources.iter().map(|source| self.look(source, &run.run))).await;
            let having = |which: fn(&(Arc<Server>, bool, bool)) -> bool| {
                Shelf(all.iter().flatten().filter(|it| which(it)).map(|it| Arc::clone(&it.0)).collect())
            };
            let none = |name: &str, what: &str| {
                Offer::withheld(name, WithheldBy::Capability, format!("no MCP server of this run has {what}"))
            };
            let (resources, prompts) = (having(|it| it.1), having(|it| it.2));
            vec![
                match resources.0.is_empty() {
                    true => none("McpResources", "resources"),
                    false => Offer::ready(McpResources { servers: resources }),
                },
                match prompts.0.is_empty() {
                    true => none("McpPrompts", "prompts"),
                    false => Offer::ready(McpPrompts { servers: prompts }),
                },
            ]
        })
    }
}

/// The servers of one run that have one kind of thing.
pub(crate) struct Shelf(Vec<Arc<Server>>);

impl Shelf {
    /// Their names, for descriptions.
    fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|server| server.config.name.as_str()).collect();
        names.join(", ")
    }

    /// The one that is meant.
    fn find(&self, wanted: Option<&str>) -> Result<&Arc<Server>, ToolError> {
        let fault = |message: String| ToolError::new(codes::UNKNOWN_SERVER, message);
        match (wanted, self.0.as_slice()) {
            (None, [only]) => Ok(only),
            (None, _) => Err(fault(format!("server: say which one: {}", self.names()))),
            (Some(wanted), all) => {
                all.iter().find(|server| server.config.name.as_str() == wanted.trim()).ok_or_else(|| {
                    let wanted = text::one_line(wanted, 80);
                    fault(format!("server: {wanted} is none of those that have this: {}", self.names()))
                })
            }
        }
    }

    /// Asks one of them, and gives the result as a value.
    async fn ask(
        &self,
        server: &Arc<Server>,
        ask: Ask,
        shown: &str,
        context: CallContext,
    ) -> Result<Map<String, Value>, ToolError> {
        let raw = Caller { server, remote: shown }.complete(ask, None, context).await?;
        match repair::parse(raw.get()) {
            Ok(Value::Object(map)) => Ok(map),
            _ => {
                let message = format!("{} answered with something that is no result", server.config.title());
                Err(ToolError::new(crate::tool::codes::PROTOCOL_ERROR, message))
            }
        }
    }
}

fn within(field: &str, value: &str) -> Result<(), ToolError> {
    if value.trim().is_empty() || value.len() > NAME_BYTES_MAX {
        let message = format!("{field}: it has {} bytes; give 1 to {NAME_BYTES_MAX}", value.len());
        return Err(ToolError::new(codes::INVALID_INPUT, message));
    }
    Ok(())
}

/// One page of a list as lines, and how to go on.
fn lines(page: &Map<String, Value>, key: &str, line: impl Fn(&Value) -> Option<String>) -> String {
    let entries = page.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut out: Vec<String> = entries.iter().take(ENTRIES_MAX).filter_map(line).collect();
    let odd = entries.len().min(ENTRIES_MAX) - out.len();
    if out.is_empty() {
        out.push("(none)".to_owned());
    }
    if entries.len() > ENTRIES_MAX {
        out.push(format!("(and {} more on this page, which is over the bound)", entries.len() - ENTRIES_MAX));
    }
    if odd > 0 {
        out.push(format!("({odd} entries could not be read)"));
    }
    if let Some(next) = page.get("nextCursor").and_then(Value::as_str).filter(|it| !it.is_empty()) {
        out.push(format!("There are more: ask again with cursor {}", Value::from(next)));
    }
    out.join("\n")
}

fn field(entry: &Value, name: &str) -> String {
    entry
        .get(name)
        .and_then(Value::as_str)
        .map(|it| text::one_line(it, DESCRIPTION_BYTES_MAX))
        .unwrap_or_default()
}
