//! Showing a run: pieces to the two streams, or JSON lines.

use crate::answer::{colour, print_line, write_out};
use crate::args::Place;
use host_channels::terminal::{Piece, Renderer, Style};
use host_run::{EventStream, RunEvent};

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
                Piece::Answer(text) => write_out(&text),
                Piece::Activity(line) => eprint!("{line}"),
            }
        }
        if matches!(event, RunEvent::RunSettled { .. }) {
            return;
        }
    }
}
