//! AWS's binary event stream: length, headers, payload and two checksums for each message.

use crate::frame::{Frame, FrameFault};
use crate::sse::EVENT_BYTES_MAX;

/// Lengths and the first checksum.
const PRELUDE: usize = 12;
/// The last checksum.
const TRAILER: usize = 4;

/// Bytes in pieces of any size in, whole messages out.
#[derive(Debug, Default)]
pub(crate) struct EventStreamDecoder {
    buffer: Vec<u8>,
}

impl EventStreamDecoder {
    /// Takes a piece and gives the messages that it completes.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameFault> {
        self.buffer.extend_from_slice(bytes);
        let mut from = 0;
        while let Some((frame, length)) = message(&self.buffer[from..])? {
            from += length;
            out.push(frame);
        }
        self.buffer.drain(..from);
        Ok(())
    }
}

fn fault(why: &str) -> FrameFault {
    FrameFault(format!("its event stream is damaged ({why})"))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The first message of a buffer and its length; `None` while it isn't whole.
fn message(bytes: &[u8]) -> Result<Option<(Frame, usize)>, FrameFault> {
    let (Some(total), Some(headers), Some(check)) = (word(bytes, 0), word(bytes, 4), word(bytes, 8)) else {
        return Ok(None);
    };
    if crc32(&bytes[..8]) != check {
        return Err(fault("checksum of the prelude"));
    }
    let (total, headers) = (total as usize, headers as usize);
    if !(PRELUDE + TRAILER..=EVENT_BYTES_MAX).contains(&total) || headers > total - PRELUDE - TRAILER {
        return Err(fault("lengths"));
    }
    let Some(whole) = bytes.get(..total) else { return Ok(None) };
    if word(whole, total - TRAILER) != Some(crc32(&whole[..total - TRAILER])) {
        return Err(fault("checksum"));
    }
    let (head, payload) = whole[PRELUDE..total - TRAILER].split_at(headers);
    let event = event_name(head)?;
    let data = String::from_utf8_lossy(payload).into_owned();
    Ok(Some((Frame { event, data }, total)))
}

/// The name of an event; an exception's name starts with `!`.
fn event_name(mut head: &[u8]) -> Result<String, FrameFault> {
    let (mut event, mut exception) = (String::new(), None);
    while let Some((&length, rest)) = head.split_first() {
        let (name, rest) = rest.split_at_checked(length as usize).ok_or_else(|| fault("header"))?;
        let (&kind, rest) = rest.split_first().ok_or_else(|| fault("header"))?;
        let (value, rest) = match kind {
            0 | 1 => (&rest[..0], rest),
            2 => rest.split_at_checked(1).ok_or_else(|| fault("header"))?,
            3 => rest.split_at_checked(2).ok_or_else(|| fault("header"))?,
            4 => rest.split_at_checked(4).ok_or_else(|| fault("header"))?,
            5 | 8 => rest.split_at_checked(8).ok_or_else(|| fault("header"))?,
            9 => rest.split_at_checked(16).ok_or_else(|| fault("header"))?,
            6 | 7 => {
                let (size, rest) = rest.split_at_checked(2).ok_or_else(|| fault("header"))?;
                let size = usize::from(u16::from_be_bytes([size[0], size[1]]));
                rest.split_at_checked(size).ok_or_else(|| fault("header"))?
            }
            _ => return Err(fault("header type")),
        };
        head = rest;
        let value = || String::from_utf8_lossy(value).into_owned();
        match name {
            b":event-type" => event = value(),
            b":exception-type" | b":error-code" => exception = Some(value()),
            _ => {}
        }
    }
    Ok(exception.map_or(event, |name| format!("!{name}")))
}

/// CRC-32 (IEEE 802.3), bit by bit: messages are small.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

/// One message with text headers, as the service would send it.
#[cfg(test)]
pub(crate) fn encode(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&(value.len() as u16).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = (PRELUDE + head.len() + payload.len() + TRAILER) as u32;
    let mut out = total.to_be_bytes().to_vec();
    out.extend_from_slice(&(head.len() as u32).to_be_bytes());
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload.as_bytes());
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    // ENG-2
    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let mut stream =
            encode(&[(":event-type", "messageStart"), (":message-type", "event")], r#"{"role":"assistant"}"#);
        stream.extend(encode(&[(":exception-type", "throttlingException")], r#"{"message":"é"}"#));
        for size in 1..stream.len() {
            let mut decoder = EventStreamDecoder::default();
            let mut out = Vec::new();
            for piece in stream.chunks(size) {
                decoder.feed(piece, &mut out).unwrap();
            }
            let names: Vec<&str> = out.iter().map(|frame| frame.event.as_str()).collect();
            assert_eq!(names, ["messageStart", "!throttlingException"]);
            assert_eq!(out[1].data, r#"{"message":"é"}"#);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let whole = encode(&[(":event-type", "x")], "{}");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            assert!(EventStreamDecoder::default().feed(&damaged, &mut Vec::new()).is_err(), "byte {at}");
        }
    }
}
