//! The text of kept output, in pieces that are safe to cut (HIS-8, TOO-7).

use crate::view::View;
use host_redact::Omission;
use host_vocab::RunId;
use std::io;

/// How much is read for one piece, in bytes.
const WINDOW_BYTES: usize = 8 * 1024;
/// How much of the text on either side of a cut is looked at, in bytes.
const AROUND_BYTES: usize = 4 * 1024;
/// How many places for a cut are tried.
const TRIES_MAX: usize = 16;

/// Reads kept output by its opaque id. The store of the files checks that the id is of this run, and that
/// what it names is a regular file beneath the run's own folder; everything else is not there.
pub trait KeptText: Send + Sync {
    /// How many bytes it has; `None` where it is not there (any more).
    fn size(&self, run: &RunId, id: &str) -> Option<u64>;

    /// Up to `bytes_max` bytes from `offset`.
    ///
    /// # Errors
    /// Where it is not there or can't be read.
    fn read(&self, run: &RunId, id: &str, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>>;
}

/// One piece, shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text as it may be shown.
    pub(crate) text: String,
    /// Where the next piece begins, in bytes of the file.
    pub(crate) next: u64,
}

/// The piece that begins at `offset`. It ends where the sanitisers say the same of both sides apart as of
/// both together, so nothing secret is cut in two; where there is no such place, the piece is left out.
pub(crate) fn piece(
    kept: &dyn KeptText,
    view: &View,
    run: &RunId,
    id: &str,
    offset: u64,
) -> io::Result<Piece> {
    let before = offset.min(AROUND_BYTES as u64);
    let raw = kept.read(run, id, offset - before, before as usize + WINDOW_BYTES + AROUND_BYTES)?;
    let own = raw.get(before as usize..).unwrap_or_default();
    let whole = String::from_utf8_lossy(own);
    let show = |text: &str| view.text(text, Omission::ToolResult);
    if own.len() <= WINDOW_BYTES {
        return Ok(Piece { text: show(&whole), next: offset + own.len() as u64 });
    }
    for at in cuts(own) {
        let (left, right) = own.split_at(at);
        let (left, right) = (String::from_utf8_lossy(left), String::from_utf8_lossy(right));
        let apart = format!("{}{}", show(&left), show(&right));
        if apart == show(&whole) {
            return Ok(Piece { text: show(&left), next: offset + at as u64 });
        }
    }
    let text = format!("[{WINDOW_BYTES} bytes omitted: they can't be shown apart from what surrounds them]");
    Ok(Piece { text, next: offset + WINDOW_BYTES as u64 })
}

/// Where to cut, best first: behind the last lines of the window, else behind its last spaces.
fn cuts(own: &[u8]) -> Vec<usize> {
    let window = &own[..WINDOW_BYTES];
    let behind = |wanted: u8| {
        let places = window.iter().enumerate().rev().filter(move |(_, byte)| **byte == wanted);
        places.map(|(at, _)| at + 1).take(TRIES_MAX / 2)
    };
    let mut cuts: Vec<usize> = behind(b'\n').chain(behind(b' ')).collect();
    if cuts.is_empty() {
        // One long word: any boundary of a character.
        cuts.extend((WINDOW_BYTES - 8..=WINDOW_BYTES).rev().filter(|&at| own[at] & 0xc0 != 0x80));
    }
    cuts
}
