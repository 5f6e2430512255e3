//! Files that are no text: told by their first bytes, never by their name.

use super::ReadInput;
use crate::file_access::failed;
use host_ports::files::OpenedFile;
use host_surface::{ToolError, ToolOutput};
use host_vocab::{Block, Media};

/// The largest picture that is shown, in bytes: what the gate lets through.
const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;

const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"BZh", "bzip2 archive"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg sound"),
    (b"ID3", "MP3 sound"),
    (b"\x00asm", "WebAssembly"),
    (b"BM", "BMP picture"),
    (b"II*\0", "TIFF picture"),
    (b"MM\0*", "TIFF picture"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

/// What a file is, by its first bytes.
pub(super) fn describe(sample: &[u8]) -> &'static str {
    if sample.get(4..8) == Some(b"ftyp") {
        return "video or HEIF picture";
    }
    match (sample.get(..4), sample.get(8..12)) {
        (Some(b"RIFF"), Some(b"WEBP")) => return "image/webp",
        (Some(b"RIFF"), _) => return "RIFF sound or video",
        _ => {}
    }
    MAGIC.iter().find(|(magic, _)| sample.starts_with(magic)).map_or("unknown type", |(_, kind)| kind)
}

/// A picture as a block; `None` = this is for others.
pub(super) fn read(
    opened: &mut OpenedFile,
    sample: &[u8],
    input: &ReadInput,
) -> Result<Option<ToolOutput>, ToolError> {
    let kind = describe(sample);
    if kind == "application/pdf" {
        return super::pdf::read(opened, input).map(Some);
    }
    if !kind.starts_with("image/") {
        return Ok(None);
    }
    if opened.bytes > IMAGE_BYTES_MAX {
        let message = format!(
            "{} is a picture of {} bytes, over the limit of {IMAGE_BYTES_MAX}; make it smaller first",
            opened.shown, opened.bytes
        );
        return Err(ToolError::new("too_large", message));
    }
    let content = opened.read_whole(IMAGE_BYTES_MAX).map_err(failed)?;
    let line = format!("{} ({kind}, {} bytes)", opened.shown, content.len());
    let image = Block::Image { media: Media::from_bytes(&content, kind) };
    Ok(Some(ToolOutput { content: vec![Block::text(line), image], ..ToolOutput::default() }))
}
