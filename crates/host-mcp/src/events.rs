//! Server-sent events (WHATWG HTML, section 9.2), bounded while they are read.

use bytes::Bytes;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Its type; `None` = `message`.
    pub(crate) event: Option<String>,
    /// Its data lines, joined.
    pub(crate) data: String,
    /// Its id.
    pub(crate) id: Option<String>,
    /// How long to wait before the stream is opened anew, in milliseconds.
    pub(crate) retry: Option<u64>,
}

impl Event {
    /// Whether it can carry a message.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.event.as_deref(), None | Some("" | "message")) && !self.data.trim().is_empty()
    }
}

/// An event over the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is over the bound of {0} bytes")]
pub(crate) struct EventTooLarge(pub(crate) usize);

/// Turns pieces of a body into events. Comments, empty events and unknown fields vanish.
pub(crate) struct Events {
    bytes_max: usize,
    line: Vec<u8>,
    current: Event,
    has_data: bool,
    after_cr: bool,
    begun: bool,
}

impl Events {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Events {
            bytes_max,
            line: Vec::new(),
            current: Event::default(),
            has_data: false,
            after_cr: false,
            begun: false,
        }
    }

    /// Feeds one piece.
    ///
    /// # Errors
    /// Where an event is over the bound; the stream can't be read any further.
    pub(crate) fn feed(&mut self, piece: &Bytes) -> Result<Vec<Event>, EventTooLarge> {
        let mut out = Vec::new();
        let mut rest: &[u8] = piece;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            self.line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            if self.line.len() + self.current.data.len() > self.bytes_max {
                return Err(EventTooLarge(self.bytes_max));
            }
            let Some(end) = end else { break };
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(&mut out);
        }
        Ok(out)
    }

    fn end_line(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let mut line: &str = &line;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.trim_start_matches('\u{feff}');
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.current);
            self.has_data = false;
            if event != Event::default() {
                out.push(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.current.data.push('\n');
                }
                self.current.data.push_str(value);
            }
            "event" => self.current.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.current.id = Some(value.to_owned()),
            "retry" => self.current.retry = value.parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(text: &str) -> Vec<Event> {
        Events::new(1000).feed(&Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    // T3-07
    #[test]
    fn keep_alives_carry_no_message() {
        let text = ": ping\n\ndata:\n\nevent: ping\ndata: {}\n\nid: 5\n\nretry: 10\n\n: ping\n\ndata: {\"a\":\ndata: 1}\n\n";
        let all = events(text);
        let messages: Vec<_> = all.iter().filter(|it| it.is_message()).collect();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].data, "{\"a\":\n1}");
        assert!(all.iter().any(|it| it.id.as_deref() == Some("5")));
        assert!(all.iter().any(|it| it.retry == Some(10)));
    }

    #[test]
    fn an_event_over_the_bound_ends_the_stream() {
        let mut parser = Events::new(10);
        assert_eq!(parser.feed(&Bytes::from_static(b"data: 123456789012345")), Err(EventTooLarge(10)));
    }

    proptest! {
        #[test]
        fn cuts_of_the_stream_change_nothing(at in 0usize..60, end in prop::sample::select(vec!["\n", "\r", "\r\n"])) {
            let text = format!("\u{feff}event: message{end}data: {{\"é\":1}}{end}id: 7{end}{end}data: x{end}{end}");
            let bytes = text.as_bytes();
            let at = at.min(bytes.len());
            let mut parser = Events::new(1000);
            let mut cut = parser.feed(&Bytes::copy_from_slice(&bytes[..at])).unwrap();
            cut.extend(parser.feed(&Bytes::copy_from_slice(&bytes[at..])).unwrap());
            prop_assert_eq!(cut, events(&text));
        }
    }
}
