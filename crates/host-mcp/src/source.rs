//! A server's tools as offers for a run.

use crate::definition::Definitions;
use crate::naming::{NamingError, local_names, shown_name};
use crate::server::Server;
use crate::status::LeftOut;
use crate::tool::McpTool;
use host_ports::BoxFuture;
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_vocab::ServerName;
use std::sync::{Arc, Mutex};

/// One declared server as a source of tools, named `mcp:<server>`.
pub struct McpSource {
    pub(crate) server: Arc<Server>,
    /// What was made of the definitions last seen: schemas are compiled once, not once a run.
    built: Mutex<Option<Built>>,
}

#[derive(Clone)]
struct Built {
    from: Arc<Definitions>,
    offers: Vec<Offer>,
}

impl McpSource {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        McpSource { server, built: Mutex::default() }
    }

    /// The server's name in the config.
    pub fn server_name(&self) -> &ServerName {
        &self.server.config.name
    }

    fn offers_of(&self, definitions: Arc<Definitions>) -> Vec<Offer> {
        let mut built = self.built.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(built) = built.as_ref().filter(|built| Arc::ptr_eq(&built.from, &definitions)) {
            return built.offers.clone();
        }
        let offers = build(&self.server, &definitions);
        *built = Some(Built { from: definitions, offers: offers.clone() });
        offers
    }
}

impl ToolSource for McpSource {
    fn name(&self) -> String {
        format!("mcp:{}", self.server.config.name)
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async {
            match self.server.definitions().await {
                Ok(definitions) => self.offers_of(definitions),
                Err(error) => {
                    let name = format!("mcp__{}__*", self.server.config.name);
                    vec![Offer::withheld(name, WithheldBy::Source, self.server.shown(&error))]
                }
            }
        })
    }
}

fn build(server: &Arc<Server>, definitions: &Definitions) -> Vec<Offer> {
    let remotes: Vec<&str> = definitions.tools.iter().map(|tool| tool.name.as_str()).collect();
    let names = local_names(&server.config.name, &remotes);
    if definitions.advertised() == 0 {
        let name = format!("mcp__{}__*", server.config.name);
        return vec![Offer::withheld(name, WithheldBy::Source, "the server works and advertises no tools")];
    }
    let mut first = true;
    let mut offers: Vec<Offer> = definitions
        .tools
        .iter()
        .zip(names)
        .map(|(tool, name)| match name {
            Ok(name) => {
                let tool = McpTool::new(server, definitions, tool, name, std::mem::take(&mut first));
                Offer::Ready(Arc::new(tool))
            }
            Err(why) => {
                let by = if why == NamingError::Empty { WithheldBy::Source } else { WithheldBy::Limit };
                Offer::withheld(shown_name(&server.config.name, &tool.name), by, why.to_string())
            }
        })
        .collect();
    offers.extend(definitions.odd.iter().map(|odd| {
        Offer::withheld(shown_name(&server.config.name, &odd.name), WithheldBy::Source, odd.why.clone())
    }));
    offers
}

/// Each tool that has no place on any surface, with the reason, and the names of the others.
pub(crate) fn sort_out(server: &ServerName, definitions: &Definitions) -> (Vec<String>, Vec<LeftOut>) {
    let remotes: Vec<&str> = definitions.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut offered = Vec::new();
    let mut left_out = Vec::new();
    for (name, tool) in local_names(server, &remotes).into_iter().zip(&definitions.tools) {
        match name {
            Ok(name) => offered.push(name.to_string()),
            Err(why) => {
                left_out.push(LeftOut { tool: shown_name(server, &tool.name), why: why.to_string() });
            }
        }
    }
    let odd = definitions.odd.iter();
    left_out.extend(odd.map(|odd| LeftOut { tool: shown_name(server, &odd.name), why: odd.why.clone() }));
    (offered, left_out)
}
