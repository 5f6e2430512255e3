//! The redactor of stage 1.

use crate::Clean;
use crate::names::is_credential_variable;
use crate::shapes::{self, Shape};
use crate::values::{VALUE_CHARS_MIN, Values};
use crate::view::{View, folded, joined, percent, references, unescaped};
use crate::walk;
use host_vocab::Secret;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// At most this many passes over one text; ordinary ones take two.
const PASSES_MAX: usize = 64;

/// Replaces known secrets in values and text. Build it once per agent from the values that the host
/// resolved; it is cheap to share.
///
/// Looked for are the configured values, as they are and in the forms in which they travel (percent,
/// base64, hex, escapes, character references, compatibility forms, with invisible characters inside), and
/// known token shapes. In JSON the value under a sensitive key goes whatever it is, unless it is a number.
/// Everything else stays as it was, to the byte.
#[derive(Default)]
pub struct Redactor {
    secrets: Vec<Secret>,
    values: Option<Values>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("values", &self.secrets.len()).finish()
    }
}

impl Redactor {
    /// A redactor that knows these configured values besides the known shapes. A value of fewer than four
    /// characters is not looked for.
    pub fn new(configured: impl IntoIterator<Item = Secret>) -> Self {
        let long = |secret: &Secret| secret.expose().chars().count() >= VALUE_CHARS_MIN;
        let secrets: Vec<Secret> = configured.into_iter().filter(long).collect();
        let values = Values::new(&secrets);
        Redactor { secrets, values }
    }

    /// A redactor that knows the values of all credential-named variables (REM-4). The caller gives the
    /// environment that the host resolved.
    pub fn from_environment<N: AsRef<str>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let named = variables.into_iter().filter(|(name, _)| is_credential_variable(name.as_ref()));
        Self::new(named.map(|(_, value)| Secret::new(value)))
    }

    /// The same redactor with more configured values.
    #[must_use]
    pub fn with_more(&self, more: impl IntoIterator<Item = Secret>) -> Self {
        Self::new(self.secrets.iter().cloned().chain(more))
    }

    /// A redacted value: keys and strings of any depth, within the limits of the walk (depth 12, 10,000
    /// nodes, 1,000 items, 1,000 keys; what is beyond becomes a marker).
    pub fn value(&self, value: Value) -> Clean<Value> {
        Clean::new(walk::value(self, value))
    }

    /// A redacted text.
    pub fn text(&self, text: &str) -> Clean<String> {
        Clean::new(self.clean(text).into_owned())
    }

    /// Whether there is anything to redact in a text (REM-4 refuses to store such a fact).
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.clean(text), Cow::Owned(_))
    }

    /// A redacted text, borrowed where nothing was found.
    pub(crate) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        // Each pass takes away something that is no marker, or joins markers, so this ends; a text that
        // needs very many was made to, and goes as a whole.
        for _ in 0..PASSES_MAX {
            match self.pass(&clean) {
                Some(next) => clean = Cow::Owned(next),
                None => return clean,
            }
        }
        Cow::Owned(REDACTED.to_owned())
    }

    fn pass(&self, text: &str) -> Option<String> {
        let mut found: Vec<Range<usize>> = Vec::new();
        self.find(text, |shape| found.push(shape.range));
        if found.is_empty() { None } else { replace(text, found) }
    }

    /// Finds everything in a text and in its other readings.
    pub(crate) fn find(&self, text: &str, mut found: impl FnMut(Shape)) {
        shapes::find(text, &mut found);
        if let Some(values) = &self.values {
            values.find(text, |range| found(plain_shape(text, range)));
            values.find_cut(text, |range| found(plain_shape(text, range)));
        }
        if !may_be_read_otherwise(text) {
            return;
        }
        if let Some(values) = &self.values
            && let Some(view) = joined(text)
        {
            values.find_wrapped(&view.text, |range| found(plain_shape(text, view.source(range))));
        }
        self.find_readings(text, &mut found);
    }

    /// Each reading by itself, then one upon the other, twice round: an escaped text may stand in an encoded
    /// one, and an encoding may be encoded again.
    fn find_readings(&self, text: &str, found: &mut dyn FnMut(Shape)) {
        for read in READINGS {
            if let Some(view) = read(text) {
                self.find_in_view(text, &view, found);
            }
        }
        let mut chain: Option<View> = None;
        for read in READINGS.iter().cycle().take(2 * READINGS.len()) {
            match &chain {
                None => chain = read(text),
                Some(view) => {
                    if let Some(next) = view.then(*read) {
                        self.find_in_view(text, &next, found);
                        chain = Some(next);
                    }
                }
            }
        }
    }

    fn find_in_view(&self, text: &str, view: &View, found: &mut dyn FnMut(Shape)) {
        if let Some(values) = &self.values {
            values.find(&view.text, |range| found(plain_shape(text, view.source(range))));
        }
        shapes::find(&view.text, |shape| {
            let range = view.source(shape.range.clone());
            let context = view.source(shape.context..shape.context + 1).start.min(range.start);
            let open = shape.open || range.end == text.len();
            found(Shape { range, context, open });
        });
    }

    /// Whether a number is a configured value.
    pub(crate) fn is_number(&self, digits: &str) -> bool {
        self.values.as_ref().is_some_and(|values| values.is_number(digits))
    }

    /// The longest form of a configured value, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.values.as_ref().map_or(0, |values| values.longest)
    }

    /// The longest configured value with white space in it, in bytes.
    pub(crate) fn longest_spaced(&self) -> usize {
        self.values.as_ref().map_or(0, |values| values.longest_spaced)
    }
}

fn plain_shape(text: &str, range: Range<usize>) -> Shape {
    Shape { context: range.start, open: range.end == text.len(), range }
}

/// The readings of a text besides the text itself; each gives nothing where there is nothing to decode.
const READINGS: [fn(&str) -> Option<View>; 4] = [unescaped, references, percent, folded];

/// Whether any reading but the text itself can be there.
fn may_be_read_otherwise(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'\\', b'&', b'%', bytes).is_some()
        || memchr::memchr2(0x1b, b'\n', bytes).is_some()
        || !text.is_ascii()
}

/// Replaces the places, each by one marker. `None` where all of them are markers already.
fn replace(text: &str, mut found: Vec<Range<usize>>) -> Option<String> {
    let markers: Vec<Range<usize>> =
        text.match_indices(REDACTED).map(|(at, _)| at..at + REDACTED.len()).collect();
    found.retain(|range| range.start < range.end);
    for range in &mut found {
        // A part of a marker counts as the whole of it.
        for edge in [range.start, range.end - 1] {
            if let Ok(at) = markers.binary_search_by(|marker| position(marker, edge)) {
                range.start = range.start.min(markers[at].start);
                range.end = range.end.max(markers[at].end);
            }
        }
    }
    found.retain(|range| !markers.contains(range));
    if found.is_empty() {
        return None;
    }
    found.sort_unstable_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start < range.end) {
            range.end = range.end.max(next.end);
        }
        out.push_str(&text[done..range.start]);
        out.push_str(REDACTED);
        done = range.end;
    }
    out.push_str(&text[done..]);
    Some(out)
}

fn position(marker: &Range<usize>, at: usize) -> std::cmp::Ordering {
    if marker.end <= at {
        std::cmp::Ordering::Less
    } else if marker.start > at {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Equal
    }
}
