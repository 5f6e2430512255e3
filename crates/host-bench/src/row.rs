//! One measured line, and how it is printed.

use serde::Serialize;

/// One row: ours, the peer or raw operation of the same run, the ratio.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The benchmark it belongs to.
    pub bench: &'static str,
    /// What is measured.
    pub what: String,
    /// Our figure.
    pub ours: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it stands beside.
    pub peer: String,
    /// The peer's figure in the same unit.
    pub peer_figure: Option<f64>,
    /// Ours divided by the peer's.
    pub ratio: Option<f64>,
    /// The bound that the project set itself, in words.
    pub bound: String,
}

impl Row {
    /// A figure beside a peer's.
    pub fn beside(
        bench: &'static str,
        what: &str,
        ours: f64,
        unit: &'static str,
        peer: &str,
        figure: f64,
    ) -> Self {
        Row {
            bench,
            what: what.to_owned(),
            ours,
            unit,
            peer: peer.to_owned(),
            // A peer that isn't installed has no figure.
            peer_figure: figure.is_finite().then_some(figure),
            ratio: (figure > 0.0).then(|| ours / figure),
            bound: String::new(),
        }
    }

    /// The same with the bound that it should keep.
    #[must_use]
    pub fn bound(mut self, words: &str) -> Self {
        self.bound = words.to_owned();
        self
    }
}

/// A table for people.
pub fn print(rows: &[Row]) {
    println!(
        "{:<8} {:<44} {:>12} {:>12}  {:<34} {:>8}  bound",
        "bench", "what", "ours", "peer", "beside", "ratio"
    );
    for row in rows {
        let figure = |it: Option<f64>| it.map_or_else(|| "-".to_owned(), |n| format!("{n:.2} {}", row.unit));
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}×"));
        println!(
            "{:<8} {:<44} {:>12} {:>12}  {:<34} {:>8}  {}",
            row.bench,
            row.what,
            figure(Some(row.ours)),
            figure(row.peer_figure),
            row.peer,
            ratio,
            row.bound
        );
    }
}

/// The middle of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
