//! Server-sent events, read as the WHATWG specification says: any of CR, LF and CRLF ends a line, a BOM at
//! the start goes, comments and fields without data dispatch nothing, several data lines join with LF.

use crate::frame::{Frame, FrameFault};

/// The largest event, in bytes.
pub(crate) const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes in pieces of any size in, whole events out.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    event: String,
    data: String,
    has_data: bool,
    after_cr: bool,
    started: bool,
}

impl SseDecoder {
    /// Takes a piece and gives the events that it completes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameFault> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|b| matches!(b, b'\r' | b'\n')) else {
                self.keep(bytes)?;
                break;
            };
            self.keep(&bytes[..end])?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.take_line(out);
        }
        Ok(())
    }

    /// What stands in the buffer when the stream ends: some servers leave the last empty line off.
    pub(crate) fn finish(mut self) -> Option<Frame> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.take_line(&mut out);
        }
        self.dispatch(&mut out);
        out.pop()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), FrameFault> {
        if self.line.len() + self.data.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(FrameFault(format!("it sent an event of more than {EVENT_BYTES_MAX} bytes")));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self, out: &mut Vec<Frame>) {
        let raw = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&raw);
        let mut line: &str = &text;
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments (an empty field name), id, retry and the unknown say nothing to us.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut Vec<Frame>) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) && !data.is_empty() {
            out.push(Frame { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let mut out = Vec::new();
        for piece in pieces {
            decoder.feed(piece, &mut out).unwrap();
        }
        out.extend(decoder.finish());
        out.into_iter().map(|frame| (frame.event, frame.data)).collect()
    }

    fn data(pieces: &[&[u8]]) -> Vec<String> {
        read(pieces).into_iter().map(|(_, data)| data).collect()
    }

    // T3-07
    #[test]
    fn keep_alives_of_every_kind_are_no_events() {
        let stream =
            b": ping\n\ndata:\n\nid: 5\n\nretry: 10\n\nevent: x\n\n: ping\ndata: real\n\n:\n\ndata: next\n\n";
        assert_eq!(data(&[stream]), ["real", "next"]);
        assert_eq!(read(&[b"event: ping\ndata: {}\n\n"]), [("ping".to_owned(), "{}".to_owned())]);
    }

    #[test]
    fn any_line_end_a_bom_and_many_lines() {
        for stream in [
            "data: a\ndata:b\n\n",
            "data: a\rdata:b\r\r",
            "data: a\r\ndata:b\r\n\r\n",
            "\u{feff}data: a\r\ndata:b\n\r",
        ] {
            assert_eq!(data(&[stream.as_bytes()]), ["a\nb"], "{stream:?}");
        }
        assert_eq!(data(&[b"data:  two\n\ndata\ndata: x\n\n"]), [" two", "\nx"]);
        assert_eq!(data(&[b"data: [DONE]"]), ["[DONE]"], "the last empty line may be missing");
    }

    #[test]
    fn an_event_is_bounded() {
        let mut decoder = SseDecoder::default();
        let mut out = Vec::new();
        let piece = vec![b'x'; 1 << 20];
        decoder.feed(b"data: ", &mut out).unwrap();
        let fault = (0..9).find_map(|_| decoder.feed(&piece, &mut out).err());
        assert!(fault.is_some());
        // Many short data lines are one event too.
        let mut decoder = SseDecoder::default();
        let line = [b"data: ".as_slice(), &vec![b'y'; 1000], b"\n"].concat();
        assert!((0..9000).any(|_| decoder.feed(&line, &mut out).is_err()));
    }

    proptest! {
        // T3-07
        #[test]
        fn where_the_pieces_are_cut_changes_nothing(
            lines in proptest::collection::vec("(data: ?[a-zé€😀{}\\[\\]]{0,6}|: c|event: e|id: 1|)(\n|\r\n|\r)", 0..14),
            cuts in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let whole = lines.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&[&whole]), read(&pieces));
            let bytes: Vec<&[u8]> = whole.chunks(1).collect();
            prop_assert_eq!(read(&[&whole]), read(&bytes));
        }
    }
}
