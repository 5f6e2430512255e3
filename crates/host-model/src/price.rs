//! What tokens cost, from a table that the operator gives.

use host_turn::Usage;
use serde::{Deserialize, Serialize};

/// Prices of one model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prices {
    /// Prompt tokens that no cache served.
    pub input: f64,
    /// Tokens of the answer, reasoning included.
    pub output: f64,
    /// Prompt tokens read from the provider's cache; `None` = as `input`.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the provider's cache; `None` = as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// What a use of tokens costs, in US dollars.
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write_tokens, self.cache_write.unwrap_or(self.input)),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 500_000,
            cache_read_tokens: 2_000_000,
            cache_write_tokens: 100_000,
            cost_usd: None,
        };
        let prices = Prices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        assert!((prices.cost_usd(&usage) - (3.0 + 7.5 + 0.6 + 0.375)).abs() < 1e-9);
        let plain = Prices { input: 1.0, output: 1.0, cache_read: None, cache_write: None };
        assert!((plain.cost_usd(&usage) - 3.6).abs() < 1e-9);
    }
}
