//! Files that come with a turn, stored through one descriptor.

use crate::state::{StateError, ensure_private_dir};
use host_turn::{Attachment, AttachmentKind};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The longest cleaned name, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// How much of a file its media type is told by.
const SNIFF_BYTES: u64 = 4_096;

/// Why a file could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// The source can't be read.
    #[error("the file can't be read: {0}")]
    Source(io::Error),
    /// The source is a folder, FIFO, socket or device.
    #[error("only a regular file can be attached")]
    NotAFile,
    /// More than the bound.
    #[error("the file is larger than {bytes_max} bytes")]
    TooLarge {
        /// The bound.
        bytes_max: u64,
    },
    /// The folder of attachments can't be used.
    #[error(transparent)]
    Folder(#[from] StateError),
    /// The copy could not be written.
    #[error("the file could not be stored: {0}")]
    Store(io::Error),
}

/// Copies a local file that a person named (their own path, links followed) into
/// `<attachments>/<turn>/<name>`, and tells of the stored copy what its descriptor says after write and sync.
///
/// # Errors
/// See [`AttachmentError`]; then nothing is stored.
pub fn store_file(
    attachments: &Path,
    turn: &str,
    source: &Path,
    bytes_max: u64,
) -> Result<Attachment, AttachmentError> {
    let handle = rustix::fs::open(source, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|err| AttachmentError::Source(err.into()))?;
    let stat = rustix::fs::fstat(&handle).map_err(|err| AttachmentError::Source(err.into()))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(AttachmentError::NotAFile);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened =
        rustix::fs::open(source, flags, Mode::empty()).map_err(|err| AttachmentError::Source(err.into()))?;
    let mut file = File::from(opened);
    let metadata = file.metadata().map_err(AttachmentError::Source)?;
    if !metadata.is_file() {
        return Err(AttachmentError::NotAFile);
    }
    if metadata.len() > bytes_max {
        return Err(AttachmentError::TooLarge { bytes_max });
    }
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    store(attachments, turn, &name, &mut file, bytes_max)
}

/// Stores bytes from elsewhere (an upload, a messenger) under a cleaned name.
///
/// # Errors
/// See [`AttachmentError`]; then nothing is stored.
pub fn store(
    attachments: &Path,
    turn: &str,
    name: &str,
    content: &mut dyn Read,
    bytes_max: u64,
) -> Result<Attachment, AttachmentError> {
    let folder_path = attachments.join(turn_folder(turn));
    ensure_private_dir(attachments)?;
    ensure_private_dir(&folder_path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&folder_path, flags, Mode::empty())
        .map_err(|err| AttachmentError::Store(err.into()))?;
    let name = clean_name(name);
    let (stored_name, mut file) = create(&folder, &name).map_err(AttachmentError::Store)?;
    let done = fill(&mut file, content, bytes_max).and_then(|()| describe(&mut file));
    match done {
        Ok((media_type, metadata)) => Ok(Attachment {
            kind: if is_picture(&media_type) { AttachmentKind::Image } else { AttachmentKind::Document },
            path: folder_path.join(&stored_name).to_string_lossy().into_owned(),
            name: stored_name,
            media_type,
            size_bytes: metadata.len(),
            dev: metadata.dev(),
            ino: metadata.ino(),
        }),
        Err(err) => {
            let _ = rustix::fs::unlinkat(&folder, &stored_name, AtFlags::empty());
            Err(err)
        }
    }
}

/// Removes what was stored under a turn's id; what isn't there is no fault.
pub fn remove(attachments: &Path, turn: &str) {
    let _gone = std::fs::remove_dir_all(attachments.join(turn_folder(turn)));
}

fn fill(file: &mut File, content: &mut dyn Read, bytes_max: u64) -> Result<(), AttachmentError> {
    let mut left = bytes_max;
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(AttachmentError::Source(err)),
        };
        left = left.checked_sub(read as u64).ok_or(AttachmentError::TooLarge { bytes_max })?;
        file.write_all(&buffer[..read]).map_err(AttachmentError::Store)?;
    }
    file.sync_all().map_err(AttachmentError::Store)
}

fn describe(file: &mut File) -> Result<(String, std::fs::Metadata), AttachmentError> {
    file.rewind().map_err(AttachmentError::Store)?;
    let mut head = Vec::new();
    file.take(SNIFF_BYTES).read_to_end(&mut head).map_err(AttachmentError::Store)?;
    let metadata = file.metadata().map_err(AttachmentError::Store)?;
    Ok((media_type(&head).to_owned(), metadata))
}

/// A new file of that name; where one is there already, `name (2).ext` and so on.
fn create(folder: &std::os::fd::OwnedFd, name: &str) -> io::Result<(String, File)> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        _ => (name, String::new()),
    };
    for number in 1..=1_000 {
        let candidate = if number == 1 { name.to_owned() } else { format!("{stem} ({number}){ending}") };
        match rustix::fs::openat(folder, &candidate, flags, Mode::from_raw_mode(0o600)) {
            Ok(opened) => return Ok((candidate, File::from(opened))),
            Err(rustix::io::Errno::EXIST) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A turn's id as a folder name; what could not be one is hashed.
fn turn_folder(turn: &str) -> String {
    let plain = turn.len() <= 128
        && turn.starts_with(|c: char| c.is_ascii_alphanumeric())
        && turn.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if plain {
        return turn.to_owned();
    }
    host_vocab::text::hex(&Sha256::digest(turn)[..16])
}

/// A name to show and store: one segment, no control, direction or invisible characters, no leading or
/// trailing dots and spaces, no device name of Windows, at most 200 bytes with its ending kept.
pub fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|c| !is_hidden(*c)).collect();
    let safe: String = shown
        .chars()
        .map(|c| if matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*') { '_' } else { c })
        .collect();
    let words = safe.split_whitespace().collect::<Vec<_>>().join(" ");
    let trimmed = words.trim_matches(['.', ' ']);
    if trimmed.is_empty() {
        return "file".to_owned();
    }
    let stem = trimmed.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let device = matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    let named = if device { format!("_{trimmed}") } else { trimmed.to_owned() };
    shorten(&named)
}

fn shorten(name: &str) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name.to_owned();
    }
    match name.rsplit_once('.') {
        Some((stem, ending)) if ending.len() <= 16 => {
            let stem = host_vocab::text::prefix(stem, NAME_BYTES_MAX - ending.len() - 1);
            format!("{}.{ending}", stem.trim_end_matches(['.', ' ']))
        }
        _ => host_vocab::text::prefix(name, NAME_BYTES_MAX).to_owned(),
    }
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || host_vocab::text::is_bidi_control(c)
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The media type that the first bytes of a file show; never what its name claims.
pub fn media_type(head: &[u8]) -> &'static str {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
        (b"\x7fELF", "application/octet-stream"),
    ];
    if let Some((_, media)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return media;
    }
    match (head.get(..4), head.get(8..12)) {
        (Some(b"RIFF"), Some(b"WEBP")) => return "image/webp",
        (Some(b"RIFF"), Some(b"WAVE")) => return "audio/wav",
        _ => {}
    }
    if head.get(4..8) == Some(b"ftyp") {
        return "video/mp4";
    }
    let text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character that the sample cuts is no fault of the text.
        Err(err) => err.error_len().is_none(),
    };
    if text && !head.contains(&0) { "text/plain" } else { "application/octet-stream" }
}

fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}
