//! Showing a run: pieces to the two streams, or JSON lines.

use crate::answer::{colour, print_line};
use crate::args::Place;
use host_channels::terminal::{Piece, Renderer, Style};
use host_run::{EventStream, RunEvent};
use std::io::Write as _;

/// Shows events until the run is over. With `--json` each is a line on standard output, the last one the
/// result.
pub async fn show(place: &Place, mut events: EventStream) {
    let mut renderer = Renderer::new(if colour() { Style::Colour } else { Style::Plain });
    while let Some(event) = events.recv().await {
        if place.json {
            print_line(&serde_json::to_string(&event).unwrap_or_default());
            continue;
        }
        for piece in renderer.pieces(&event) {
            match piece {
                Piece::Answer(text) => {
                    let mut out = std::io::stdout().lock();
                    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                        std::process::exit(0);
                    }
                }
                Piece::Activity(line) => eprint!("{line}"),
            }
        }
        if matches!(event, RunEvent::RunSettled { .. }) {
            return;
        }
    }
}
