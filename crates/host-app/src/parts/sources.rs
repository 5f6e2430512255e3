//! Sources of ours besides the built-ins.

use host_policy::{CATALOGUE, Family, kebab_spelling};
use host_ports::BoxFuture;
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};

/// The session tools of the TOML dialect: known, and withheld from every other agent.
pub(crate) struct OtherDialect;

impl ToolSource for OtherDialect {
    fn name(&self) -> String {
        "session".to_owned()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        let offers = CATALOGUE
            .iter()
            .filter(|tool| tool.family == Family::Session)
            .map(|tool| {
                let why = format!(
                    "`{}` is a session tool of agents that are configured by config/tools.toml",
                    kebab_spelling(tool.name)
                );
                Offer::withheld(tool.name, WithheldBy::Dialect, why)
            })
            .collect();
        Box::pin(async move { offers })
    }
}

/// Tools that the app adds beside the built-ins.
pub(crate) struct AppTools {
    offers: Vec<Offer>,
}

impl AppTools {
    pub(crate) fn new(offers: Vec<Offer>) -> Self {
        AppTools { offers }
    }
}

impl ToolSource for AppTools {
    fn name(&self) -> String {
        "app".to_owned()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async { self.offers.clone() })
    }
}
