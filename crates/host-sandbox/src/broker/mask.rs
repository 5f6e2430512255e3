//! What was put into a request doesn't come back in the answer: a host that repeats what it was told would else
//! tell the child.

use memchr::memmem;

/// Masks values in a stream, also where one is cut between two chunks. Lengths stay as they are.
pub(super) struct Mask {
    secrets: Vec<Vec<u8>>,
    held: Vec<u8>,
    longest: usize,
}

impl Mask {
    pub(super) fn new(secrets: Vec<Vec<u8>>) -> Self {
        let longest = secrets.iter().map(Vec::len).max().unwrap_or(0);
        Mask { secrets, held: Vec::new(), longest }
    }

    /// Takes a chunk and gives what can be passed on.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(chunk);
        for secret in &self.secrets {
            while let Some(at) = memmem::find(&self.held, secret) {
                self.held[at..at + secret.len()].fill(b'*');
            }
        }
        // A value may have begun in the last bytes.
        let ready = self.held.len().saturating_sub(self.longest.saturating_sub(1));
        let rest = self.held.split_off(ready);
        std::mem::replace(&mut self.held, rest)
    }

    /// What is left at the end.
    pub(super) fn finish(self) -> Vec<u8> {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-7
    #[test]
    fn a_value_is_masked_wherever_the_stream_is_cut() {
        let text = b"before sk-secret-value after sk-secret-valu and sk-secret-value";
        for size in 1..text.len() {
            let mut mask = Mask::new(vec![b"sk-secret-value".to_vec(), b"another-one".to_vec()]);
            let mut out: Vec<u8> = text.chunks(size).flat_map(|chunk| mask.push(chunk)).collect();
            out.extend(mask.finish());
            assert_eq!(
                String::from_utf8_lossy(&out),
                "before *************** after sk-secret-valu and ***************",
                "{size}"
            );
        }
    }

    #[test]
    fn without_values_nothing_is_held_back() {
        let mut mask = Mask::new(Vec::new());
        assert_eq!(mask.push(b"abc"), b"abc");
        assert!(mask.finish().is_empty());
    }
}
