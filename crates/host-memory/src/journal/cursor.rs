//! Cursors that only the desk that issued them understands (JRN-2).

use super::range::Span;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use host_vocab::RunId;
use sha2::Sha256;

/// The longest cursor in bytes.
const CURSOR_BYTES_MAX: usize = 2048;
const FORM: u8 = 1;

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) snapshot: usize,
    pub(super) offset: usize,
}

impl Place {
    /// What a cursor claims, not yet believed.
    pub(super) fn claimed(cursor: &str) -> Option<Place> {
        let bytes = decoded(cursor)?;
        let [FORM, snapshot, a, b, ..] = bytes[..] else { return None };
        Some(Place { snapshot: usize::from(snapshot), offset: usize::from(u16::from_be_bytes([a, b])) })
    }

    fn head(self) -> Option<[u8; 4]> {
        let [a, b] = u16::try_from(self.offset).ok()?.to_be_bytes();
        Some([FORM, u8::try_from(self.snapshot).ok()?, a, b])
    }
}

fn decoded(cursor: &str) -> Option<Vec<u8>> {
    if cursor.len() > CURSOR_BYTES_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    (bytes.len() == 4 + 32).then_some(bytes)
}

/// The key of a desk; it never leaves this process.
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn fresh() -> Self {
        let mut key = [0; 32];
        // Without randomness there are no cursors that could be trusted; a process without it can't go on.
        getrandom::fill(&mut key).expect("the system gives random bytes");
        Key(key)
    }

    /// The cursor of a place, bound to run, range, zone, snapshot and page size.
    pub(super) fn cursor(&self, run: &RunId, span: &Span, limit: usize, place: Place) -> String {
        let Some(head) = place.head() else { return String::new() };
        let tag = self.mac(run, span, limit, head).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([&head[..], &tag[..]].concat())
    }

    /// Whether this desk issued a cursor for exactly this.
    pub(super) fn verifies(
        &self,
        cursor: &str,
        run: &RunId,
        span: &Span,
        limit: usize,
        place: Place,
    ) -> bool {
        let (Some(bytes), Some(head)) = (decoded(cursor), place.head()) else { return false };
        self.mac(run, span, limit, head).verify_slice(&bytes[4..]).is_ok()
    }

    fn mac(&self, run: &RunId, span: &Span, limit: usize, head: [u8; 4]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is taken");
        mac.update(b"mono-agent/journal\0");
        mac.update(&head);
        mac.update(&(limit as u64).to_be_bytes());
        mac.update(&span.from_ms.to_be_bytes());
        mac.update(&span.until_ms.to_be_bytes());
        // Lengths first, so that no two inputs run together into one.
        for text in [run.as_str(), span.time_zone.as_str()] {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        mac
    }
}
