//! Frames: what a streamed body is cut into before a decoder reads it.

use crate::bedrock::event_stream::EventStreamDecoder;
use crate::sse::{EVENT_BYTES_MAX, SseDecoder};

/// One frame: the name of its event, where it has one, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) event: String,
    pub(crate) data: String,
}

/// A body that can't be cut into frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameFault(pub(crate) String);

/// The framing of a body.
#[derive(Debug)]
pub(crate) enum Framer {
    /// Server-sent events.
    Sse(SseDecoder),
    /// AWS's binary event stream.
    EventStream(EventStreamDecoder),
    /// One JSON document: what servers send that know no streaming.
    Whole(Vec<u8>),
}

impl Framer {
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameFault> {
        match self {
            Framer::Sse(decoder) => decoder.feed(bytes, out),
            Framer::EventStream(decoder) => decoder.feed(bytes, out),
            Framer::Whole(whole) => {
                if whole.len() + bytes.len() > EVENT_BYTES_MAX {
                    return Err(FrameFault(format!("it sent more than {EVENT_BYTES_MAX} bytes at once")));
                }
                whole.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// What is left at the end. A frame that was cut in its middle is none.
    pub(crate) fn finish(self) -> Option<Frame> {
        let last = match self {
            Framer::Sse(decoder) => decoder.finish(),
            Framer::EventStream(_) => None,
            Framer::Whole(whole) => {
                Some(Frame { event: String::new(), data: String::from_utf8_lossy(&whole).into_owned() })
            }
        };
        last.filter(|frame| {
            frame.data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&frame.data).is_ok()
        })
    }
}
