//! What a command prints: counted, bounded while it is read, kept apart where it is much (EXE-2, EXE-4, EXE-6).

mod ends;
mod lines;

use ends::Ends;
use host_ports::commands::OutputRule;
use host_ports::kept::{Kept, KeptFile, KeptOutput};
use host_vocab::{CallId, RunId};
use lines::LinePreview;
use std::io::Write as _;
use std::sync::Arc;

/// Which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Out,
    Err,
}

/// Both streams of one command.
pub(crate) struct Capture {
    rule: OutputRule,
    keep: Option<Keep>,
    streams: [Stream; 2],
    /// Whether the whole is no longer held in memory.
    spilled: bool,
    /// Whether the files could not be written.
    files_failed: bool,
}

struct Keep {
    port: Arc<dyn KeptOutput>,
    run: RunId,
    call: CallId,
}

struct Stream {
    bytes: u64,
    whole: Vec<u8>,
    preview: Preview,
    file: Option<Box<dyn KeptFile>>,
}

enum Preview {
    Lines(LinePreview),
    Ends(Ends),
}

/// What is left of it.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) stdout_bytes: u64,
    pub(crate) stderr_bytes: u64,
    pub(crate) truncated: bool,
    pub(crate) fallback_inline: bool,
    pub(crate) kept: Vec<Kept>,
}

impl Capture {
    /// Captures by a rule; where large output goes is up to `keep`.
    pub(crate) fn new(rule: OutputRule, keep: Option<(Arc<dyn KeptOutput>, RunId, CallId)>) -> Self {
        let stream = || Stream {
            bytes: 0,
            whole: Vec::new(),
            preview: match rule.preview_chars_max {
                Some(chars_max) => Preview::Ends(Ends::new(chars_max)),
                None => Preview::Lines(LinePreview::new(
                    rule.preview_head,
                    rule.preview_tail,
                    rule.preview_line_chars_max,
                )),
            },
            file: None,
        };
        let streams = [stream(), stream()];
        let keep = keep.map(|(port, run, call)| Keep { port, run, call });
        Capture { rule, keep, streams, spilled: false, files_failed: false }
    }

    /// Takes a chunk. `false` = there is more than the rule lets a command print.
    pub(crate) fn push(&mut self, which: Which, chunk: &[u8]) -> bool {
        let stream = &mut self.streams[which as usize];
        stream.bytes += chunk.len() as u64;
        stream.preview.push(chunk);
        if self.spilled {
            if let Some(file) = &mut stream.file
                && file.write_all(chunk).is_err()
            {
                self.give_up_files();
            }
        } else {
            stream.whole.extend_from_slice(chunk);
            if !self.rule.inline || self.total() > self.rule.inline_bytes_max as u64 {
                self.spill();
            }
        }
        self.rule.total_bytes_max.is_none_or(|most| self.total() <= most)
    }

    fn total(&self) -> u64 {
        self.streams[0].bytes + self.streams[1].bytes
    }

    /// From memory to files.
    fn spill(&mut self) {
        self.spilled = true;
        for (index, name) in ["stdout", "stderr"].into_iter().enumerate() {
            let stream = &mut self.streams[index];
            let whole = std::mem::take(&mut stream.whole);
            let file = self.keep.as_ref().and_then(|keep| keep.port.create(&keep.run, &keep.call, name).ok());
            stream.file = file;
            let written = stream.file.as_mut().is_some_and(|file| file.write_all(&whole).is_ok());
            if !written {
                self.give_up_files();
                return;
            }
        }
    }

    fn give_up_files(&mut self) {
        self.files_failed = true;
        for stream in &mut self.streams {
            stream.whole = Vec::new();
            stream.file = None;
        }
    }

    /// What is left of it all.
    pub(crate) fn finish(mut self) -> Captured {
        if !self.spilled && !self.rule.inline {
            self.spill();
        }
        let [stdout_bytes, stderr_bytes] = [self.streams[0].bytes, self.streams[1].bytes];
        let mut captured = Captured { stdout_bytes, stderr_bytes, ..Captured::default() };
        if !self.spilled {
            let [out, err] = self.streams.map(|stream| String::from_utf8_lossy(&stream.whole).into_owned());
            (captured.stdout, captured.stderr) = (out, err);
            return captured;
        }
        if !self.files_failed {
            for stream in &mut self.streams {
                match stream.file.take().map(KeptFile::finish) {
                    Some(Ok(kept)) => captured.kept.push(kept),
                    _ => self.files_failed = true,
                }
            }
        }
        if self.files_failed {
            captured.kept.clear();
            captured.fallback_inline = true;
        }
        let [out, err] = self.streams.map(|stream| stream.preview);
        let ((out, cut_out), (err, cut_err)) = match (out, err) {
            (Preview::Lines(out), Preview::Lines(err)) => (out.render(), err.render()),
            (Preview::Ends(out), Preview::Ends(err)) => ends::render_both(out, err),
            _ => unreachable!("both streams are previewed by the same rule"),
        };
        captured.truncated = cut_out || cut_err;
        (captured.stdout, captured.stderr) = (out, err);
        captured
    }
}

impl Preview {
    fn push(&mut self, chunk: &[u8]) {
        match self {
            Preview::Lines(lines) => lines.push(chunk),
            Preview::Ends(ends) => ends.push(chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::kept::KeepNothing;
    use proptest::prelude::*;
    use std::io;
    use std::sync::Mutex;

    type Files = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

    /// Keeps in memory, and breaks after a number of bytes.
    struct Memory {
        files: Files,
        bytes_max: usize,
    }
    struct MemoryFile {
        files: Files,
        index: usize,
        bytes_max: usize,
    }
    impl KeptOutput for Memory {
        fn create(&self, _: &RunId, _: &CallId, stream: &str) -> io::Result<Box<dyn KeptFile>> {
            let mut files = self.files.lock().expect("free");
            files.push((stream.to_owned(), Vec::new()));
            let index = files.len() - 1;
            Ok(Box::new(MemoryFile { files: Arc::clone(&self.files), index, bytes_max: self.bytes_max }))
        }
    }
    impl io::Write for MemoryFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut files = self.files.lock().expect("free");
            let file = &mut files[self.index].1;
            if file.len() + bytes.len() > self.bytes_max {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl KeptFile for MemoryFile {
        fn finish(self: Box<Self>) -> io::Result<Kept> {
            let bytes = self.files.lock().expect("free")[self.index].1.len() as u64;
            Ok(Kept { id: "id".to_owned(), path: "/kept".to_owned(), bytes, dropped_bytes: 0 })
        }
    }

    fn capture(rule: OutputRule, port: Arc<dyn KeptOutput>, chunks: &[(Which, &[u8])]) -> Captured {
        let mut capture = Capture::new(rule, Some((port, RunId::fresh(), CallId::fresh())));
        for (which, chunk) in chunks {
            capture.push(*which, chunk);
        }
        capture.finish()
    }

    fn memory(bytes_max: usize) -> (Arc<dyn KeptOutput>, Files) {
        let files = Files::default();
        (Arc::new(Memory { files: Arc::clone(&files), bytes_max }), files)
    }

    // EXE-2
    #[test]
    fn both_streams_together_decide_whether_output_is_kept_apart() {
        let rule = || OutputRule { inline_bytes_max: 10, ..OutputRule::default() };
        let (port, files) = memory(1000);
        let short = capture(rule(), Arc::clone(&port), &[(Which::Out, b"12345"), (Which::Err, b"67890")]);
        assert_eq!(
            (short.stdout.as_str(), short.stderr.as_str(), short.truncated),
            ("12345", "67890", false)
        );
        assert!(files.lock().expect("free").is_empty());
        let long =
            capture(rule(), port, &[(Which::Out, b"12345"), (Which::Err, b"67890!"), (Which::Out, b"\nx")]);
        assert_eq!(long.kept.len(), 2);
        assert_eq!(files.lock().expect("free")[0].1, b"12345\nx");
        assert_eq!(files.lock().expect("free")[1].1, b"67890!");
        assert_eq!((long.stdout.as_str(), long.stdout_bytes, long.stderr_bytes), ("12345\nx", 7, 6));
        assert!(!long.truncated && !long.fallback_inline);
    }

    // EXE-2
    #[test]
    fn with_inline_off_even_nothing_goes_to_files() {
        let (port, files) = memory(1000);
        let rule = OutputRule { inline: false, ..OutputRule::default() };
        let captured = capture(rule, port, &[]);
        assert_eq!((captured.kept.len(), files.lock().expect("free").len()), (2, 2));
    }

    // EXE-4
    #[test]
    fn files_that_cannot_be_written_leave_bounded_previews_and_no_paths() {
        let rule = OutputRule {
            inline: false,
            preview_head: 2,
            preview_tail: 1,
            preview_line_chars_max: 4,
            ..OutputRule::default()
        };
        let text = b"one\ntwo\nthree\nfour\nsixsix\n";
        for port in [Arc::new(KeepNothing) as Arc<dyn KeptOutput>, memory(3).0] {
            let captured = capture(rule.clone(), port, &[(Which::Out, text)]);
            assert!(captured.fallback_inline && captured.truncated && captured.kept.is_empty());
            assert_eq!(captured.stdout_bytes, text.len() as u64);
            assert_eq!(captured.stdout, "one\ntwo\n[… 2 lines left out …]\nsixs… [2 more characters]\n");
        }
    }

    proptest! {
        // EXE-6, T7-05: where chunks are cut never changes what comes out, and no cut panics.
        #[test]
        fn chunks_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(0xe2u8), Just(0x82), Just(0xac), any::<u8>()], 0..300),
            cuts in prop::collection::vec(0usize..300, 0..8),
            inline in 0usize..200, chars in prop::option::of(1usize..120), line in 1usize..9,
        ) {
            let rule = OutputRule {
                inline_bytes_max: inline, preview_head: 3, preview_tail: 2, preview_line_chars_max: line,
                preview_chars_max: chars, ..OutputRule::default()
            };
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<(Which, &[u8])> = cuts.windows(2).map(|w| (Which::Out, &bytes[w[0]..w[1]])).collect();
            let nothing = || Arc::new(KeepNothing) as Arc<dyn KeptOutput>;
            let cut = capture(rule.clone(), nothing(), &pieces);
            let whole = capture(rule, nothing(), &[(Which::Out, &bytes)]);
            prop_assert_eq!(&cut.stdout, &whole.stdout);
            prop_assert_eq!(cut.truncated, whole.truncated);
            if bytes.len() <= inline {
                prop_assert_eq!(cut.stdout, String::from_utf8_lossy(&bytes));
            }
        }
    }
}
