//! The web tools as a source: the same for every run, since what a run may spend is counted by its id.

use host_ports::BoxFuture;
use host_surface::{Offer, RunFacts, ToolSource};

/// The source of `WebFetch` and `WebSearch`: each ready, or withheld by what the settings say.
pub struct WebTools {
    offers: Vec<Offer>,
}

impl WebTools {
    /// From what was decided of each.
    pub fn new(fetch: Offer, search: Offer) -> Self {
        WebTools { offers: vec![fetch, search] }
    }
}

impl ToolSource for WebTools {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async { self.offers.clone() })
    }
}
