//! A server's tools as offers for a run.

use crate::config::McpServerConfig;
use crate::definition::Definitions;
use crate::naming::{NamingError, local_names, own_names, shown_name};
use crate::run_context::{RunContexts, RunServers};
use crate::server::Server;
use crate::status::LeftOut;
use crate::tool::McpTool;
use futures_util::future::join_all;
use host_ports::BoxFuture;
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_vocab::{RunId, ServerName, ToolName, text};
use std::sync::{Arc, Mutex};

/// One declared server as a source of tools, named `mcp:<server>`, or `plugin:<name>` where it is a plugin.
pub struct McpSource {
    pub(crate) server: Arc<Server>,
    /// What was made of the definitions last seen: schemas are compiled once, not once a run.
    built: Mutex<Option<Built>>,
    /// Who knows what runs lend, and the servers that were made for single runs (CTX-1).
    contexts: Option<Arc<dyn RunContexts>>,
    runs: RunServers,
}

#[derive(Clone)]
struct Built {
    from: Arc<Definitions>,
    offers: Vec<Offer>,
}

impl McpSource {
    pub(crate) fn new(server: Arc<Server>, contexts: Option<Arc<dyn RunContexts>>) -> Self {
        McpSource { server, built: Mutex::default(), contexts, runs: RunServers::default() }
    }

    /// The server's name in the config.
    pub fn server_name(&self) -> &ServerName {
        &self.server.config.name
    }

    /// The server that a run calls: the shared one, or one of its own where the run lends it something.
    pub(crate) async fn server_of(&self, run: &RunId) -> Result<Arc<Server>, String> {
        let contexts = self.contexts.as_ref().filter(|_| self.server.config.takes_run_context());
        let Some(contexts) = contexts else { return Ok(Arc::clone(&self.server)) };
        let Some(loan) = contexts.of(run)? else { return Ok(Arc::clone(&self.server)) };
        if let Some(why) = self.server.left_alone() {
            return Err(self.server.shown(&why));
        }
        self.server.read_cache().await;
        Ok(self.runs.of(run, || self.server.for_run(&loan)))
    }

    async fn offers_for(&self, run: &RunId) -> Result<Vec<Offer>, String> {
        let server = self.server_of(run).await?;
        let definitions = server.definitions().await.map_err(|error| server.shown(&error))?;
        if Arc::ptr_eq(&server, &self.server) {
            Ok(self.offers_of(definitions))
        } else {
            Ok(build(&server, &definitions))
        }
    }

    /// Ends the server of one run.
    pub(crate) async fn end_run(&self, run: &RunId) {
        if let Some(server) = self.runs.take(run) {
            server.shutdown().await;
            self.server.learn(&server);
        }
    }

    /// Ends everything that runs for it.
    pub(crate) async fn shutdown(&self) {
        let mut all = self.runs.take_all();
        all.push(Arc::clone(&self.server));
        join_all(all.iter().map(|server| server.shutdown())).await;
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
        self.server.config.source_name()
    }

    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async {
            self.offers_for(&run.run).await.unwrap_or_else(|why| all_withheld(&self.server.config, &why))
        })
    }
}

/// Everything of a server that offers nothing: one row for a server, and one for each tool of a plugin, whose names
/// are known beforehand.
fn all_withheld(config: &McpServerConfig, why: &str) -> Vec<Offer> {
    let names: Vec<String> = match &config.own_names {
        Some(own) => own.iter().map(ToString::to_string).collect(),
        None => vec![format!("mcp__{}__*", config.name)],
    };
    names.into_iter().map(|name| Offer::withheld(name, WithheldBy::Source, why)).collect()
}

/// The local name of each tool, or why it has none.
fn names_of(config: &McpServerConfig, definitions: &Definitions) -> Vec<Result<ToolName, NamingError>> {
    let remotes: Vec<&str> = definitions.tools.iter().map(|tool| tool.name.as_str()).collect();
    match &config.own_names {
        Some(own) => own_names(own, &remotes),
        None => local_names(&config.name, &remotes),
    }
}

/// What a tool without a local name is listed as.
fn listed_as(config: &McpServerConfig, remote: &str) -> String {
    match &config.own_names {
        Some(_) => text::one_line(remote, 200),
        None => shown_name(&config.name, remote),
    }
}

/// What a plugin's manifest names and its program does not have.
fn unadvertised(config: &McpServerConfig, definitions: &Definitions) -> Vec<LeftOut> {
    let known = |name: &ToolName| {
        let odd = definitions.odd.iter().map(|odd| odd.name.as_str());
        definitions.tools.iter().map(|tool| tool.name.as_str()).chain(odd).any(|it| it == name.as_str())
    };
    let missing = config.own_names.iter().flatten().filter(|name| !known(name));
    let why = "its plugin.json names it, and its program does not advertise it";
    missing.map(|name| LeftOut { tool: name.to_string(), why: why.to_owned() }).collect()
}

fn build(server: &Arc<Server>, definitions: &Definitions) -> Vec<Offer> {
    let config = &server.config;
    let names = names_of(config, definitions);
    if definitions.advertised() == 0 {
        return all_withheld(config, "the server works and advertises no tools");
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
                let source = matches!(why, NamingError::Empty | NamingError::Undeclared);
                let by = if source { WithheldBy::Source } else { WithheldBy::Limit };
                Offer::withheld(listed_as(config, &tool.name), by, why.to_string())
            }
        })
        .collect();
    offers.extend(
        definitions
            .odd
            .iter()
            .map(|odd| Offer::withheld(listed_as(config, &odd.name), WithheldBy::Source, odd.why.clone())),
    );
    let missing = unadvertised(config, definitions).into_iter();
    offers.extend(missing.map(|it| Offer::withheld(it.tool, WithheldBy::Source, it.why)));
    offers
}

/// Each tool that has no place on any surface, with the reason, and the names of the others.
pub(crate) fn sort_out(config: &McpServerConfig, definitions: &Definitions) -> (Vec<String>, Vec<LeftOut>) {
    let mut offered = Vec::new();
    let mut left_out = Vec::new();
    for (name, tool) in names_of(config, definitions).into_iter().zip(&definitions.tools) {
        match name {
            Ok(name) => offered.push(name.to_string()),
            Err(why) => {
                left_out.push(LeftOut { tool: listed_as(config, &tool.name), why: why.to_string() });
            }
        }
    }
    let odd = definitions.odd.iter();
    left_out.extend(odd.map(|odd| LeftOut { tool: listed_as(config, &odd.name), why: odd.why.clone() }));
    left_out.extend(unadvertised(config, definitions));
    (offered, left_out)
}
