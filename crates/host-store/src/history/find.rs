//! Questions to the grams.

use host_history::Grams;

/// A question whose parts must all be there. Every part is made of tokens of ours, so nothing that anybody
/// wrote is an operator.
#[derive(Debug, Default)]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    /// Wants a token.
    pub(super) fn token(&mut self, token: impl Into<String>) {
        self.0.push(token.into());
    }

    /// Wants one of several tokens; none = no matter.
    pub(super) fn any(&mut self, tokens: impl IntoIterator<Item = String>) {
        let tokens: Vec<String> = tokens.into_iter().collect();
        if !tokens.is_empty() {
            self.0.push(format!("({})", tokens.join(" OR ")));
        }
    }

    /// Wants all grams of a term.
    pub(super) fn term(&mut self, term: &str) {
        self.0
            .extend(Grams::of_term(term).tokens().split(' ').filter(|it| !it.is_empty()).map(str::to_owned));
    }

    /// The question; `None` where nothing is wanted.
    pub(super) fn text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(" AND "))
    }
}

/// Whether a stored text holds a term, word by word as searches see it.
pub(super) fn holds(text: &str, term: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), term.as_bytes()).is_some()
}
