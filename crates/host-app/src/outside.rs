//! What an outside runtime is lent of the run that it works for: the history tools, at an address of that run's own
//! (HIS-1).

use host_http::Loopback;
use host_mcp::ServedTools;
use host_ports::endpoint::{Endpoint as _, OpenEndpoint};
use host_surface::Surface;
use std::io;
use std::sync::Arc;

/// The tools that are lent.
const LENT: [&str; 2] = ["RunHistory", "SessionHistory"];

/// Opens an address on the loopback interface where a run's `RunHistory` and `SessionHistory` answer as an MCP server
/// without a state: those of them that are on its surface, through its gate, with its scope. It needs a random path, a
/// bearer and the exact `Host`; everything else gets one answer that says nothing. It is closed when the result is
/// dropped, and empty when the run is over.
///
/// # Errors
/// Where this machine has no port for it.
pub async fn history_endpoint(surface: &Arc<Surface>) -> io::Result<OpenEndpoint> {
    let tools = ServedTools::new(Arc::downgrade(surface), LENT.map(str::to_owned));
    Loopback.open(Arc::new(tools)).await
}
