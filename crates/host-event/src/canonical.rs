//! The bytes of an event that checksums and chains are made over.

/// One row of the log as it stands there, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanonicalRow<'a> {
    /// Its place in the log.
    pub seq: u64,
    /// When it happened, in Unix milliseconds.
    pub at: i64,
    /// The kind.
    pub kind: &'a str,
    /// The version of the body's form.
    pub version: u16,
    /// The exact conversation.
    pub conversation: Option<&'a str>,
    /// The run.
    pub run: Option<&'a str>,
    /// The call.
    pub call: Option<&'a str>,
    /// The body, byte for byte as stored.
    pub body: &'a str,
}

impl CanonicalRow<'_> {
    /// Feeds the canonical bytes to `sink`, piece by piece. Every text goes with its length and every
    /// absent one says so, so that no two different rows have the same bytes (AUD-1).
    pub fn feed(&self, mut sink: impl FnMut(&[u8])) {
        sink(b"mono-agent.event.1\0");
        sink(&self.seq.to_be_bytes());
        sink(&self.at.to_be_bytes());
        sink(&self.version.to_be_bytes());
        for text in [Some(self.kind), self.conversation, self.run, self.call, Some(self.body)] {
            match text {
                None => sink(&[0]),
                Some(text) => {
                    sink(&[1]);
                    sink(&(text.len() as u64).to_be_bytes());
                    sink(text.as_bytes());
                }
            }
        }
    }

    /// The same bytes in one piece.
    pub fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.body.len() + 160);
        self.feed(|piece| all.extend_from_slice(piece));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row<'a>(conversation: Option<&'a str>, run: Option<&'a str>, body: &'a str) -> CanonicalRow<'a> {
        CanonicalRow { seq: 7, at: -1, kind: "warning", version: 1, conversation, run, call: None, body }
    }

    #[test]
    fn the_form_never_changes() {
        // AUD-1: a log written today must verify with every later program.
        let hex: String =
            row(Some("c"), None, "{}").bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let frozen = concat!(
            "6d6f6e6f2d6167656e742e6576656e742e31000000000000000007ffffffffffffffff0001010000",
            "0000000000077761726e696e670100000000000000016300000100000000000000027b7d",
        );
        assert_eq!(hex, frozen);
    }

    proptest! {
        #[test]
        fn different_rows_have_different_bytes(
            a in "[ab]{0,3}", b in "[ab]{0,3}", c in "[ab]{0,3}", d in "[ab]{0,3}", e in "[ab]{0,3}", f in "[ab]{0,3}",
        ) {
            let (left, right) = (row(Some(&a), Some(&b), &c), row(Some(&d), Some(&e), &f));
            prop_assert_eq!(left == right, left.bytes() == right.bytes());
            prop_assert_ne!(row(None, Some(&a), &b).bytes(), row(Some(&a), None, &b).bytes());
        }
    }
}
