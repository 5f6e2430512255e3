//! Frames: one JSON object a line.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// The largest frame that is written, in bytes with its line feed (RET-4).
pub const FRAME_BYTES_MAX: usize = 256 * 1024;
/// The largest frame that is read (RET-4).
pub const READ_FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side broke off.
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
    /// A line is over the bound.
    #[error("a frame is over {0} bytes")]
    TooLarge(usize),
    /// A line is not what was expected.
    #[error("a frame can't be read: {0}")]
    Malformed(String),
}

/// A stream of frames in both directions.
pub struct Frames<R, W> {
    reader: BufReader<R>,
    writer: W,
    /// A line that is not whole yet, so that reading can be given up and taken up again.
    begun: Vec<u8>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Frames<R, W> {
    /// Over a pair of halves.
    pub fn new(reader: R, writer: W) -> Self {
        Frames { reader: BufReader::new(reader), writer, begun: Vec::new() }
    }

    /// Takes the halves apart again, for reading and writing at once.
    pub fn split(self) -> (Frames<R, tokio::io::Sink>, Frames<tokio::io::Empty, W>) {
        let reader = Frames { reader: self.reader, writer: tokio::io::sink(), begun: self.begun };
        let writer = Frames::new(tokio::io::empty(), self.writer);
        (reader, writer)
    }

    /// Reads one frame; `None` = the other side is done. Dropping the future loses nothing.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        if !read_line(&mut self.reader, &mut self.begun, READ_FRAME_BYTES_MAX).await? {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.begun);
        serde_json::from_slice(&line).map(Some).map_err(|error| FrameError::Malformed(error.to_string()))
    }

    /// Writes one frame.
    ///
    /// # Errors
    /// See [`FrameError`]; a frame over [`READ_FRAME_BYTES_MAX`] is not written at all.
    pub async fn write<T: Serialize>(&mut self, frame: &T) -> Result<(), FrameError> {
        let line = serde_json::to_vec(frame).map_err(|error| FrameError::Malformed(error.to_string()))?;
        self.write_line(line).await
    }

    /// Writes one frame that is JSON already.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn write_line(&mut self, mut line: Vec<u8>) -> Result<(), FrameError> {
        line.push(b'\n');
        if line.len() > READ_FRAME_BYTES_MAX {
            return Err(FrameError::TooLarge(READ_FRAME_BYTES_MAX));
        }
        self.writer.write_all(&line).await?;
        self.writer.flush().await?;
        Ok(())
    }
}

/// Reads up to a line feed without ever holding more than the bound.
async fn read_line<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<bool, FrameError> {
    loop {
        let piece = reader.fill_buf().await?;
        if piece.is_empty() {
            return Ok(!line.is_empty());
        }
        let (taken, done) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at, true),
            None => (piece.len(), false),
        };
        if line.len() + taken > bytes_max {
            return Err(FrameError::TooLarge(bytes_max));
        }
        line.extend_from_slice(&piece[..taken]);
        reader.consume(taken + usize::from(done));
        if done {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn frames_go_both_ways_and_are_bounded() {
        let (a, b) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(a);
        let mut left = Frames::new(read, write);
        let (read, write) = tokio::io::split(b);
        let mut right = Frames::new(read, write);
        left.write(&json!({"op": "status"})).await.unwrap();
        assert_eq!(right.read::<Value>().await.unwrap(), Some(json!({"op": "status"})));
        drop(left);
        assert_eq!(right.read::<Value>().await.unwrap(), None);
        let huge = vec![b'x'; READ_FRAME_BYTES_MAX + 10];
        let mut reader = Frames::new(&huge[..], tokio::io::sink());
        assert!(matches!(reader.read::<Value>().await, Err(FrameError::TooLarge(_))));
        let mut reader = Frames::new(&b"not json\n"[..], tokio::io::sink());
        assert!(matches!(reader.read::<Value>().await, Err(FrameError::Malformed(_))));
    }
}
