//! The end of a write-ahead file that nobody closed. SQLite skips what is torn there and later writes over
//! it; here it is measured and kept aside first (T9-01).

use crate::{OpenError, folder, key};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

const HEADER: u64 = 32;
const FRAME_HEADER: usize = 24;
/// The most that is kept of one torn end.
const KEPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many torn ends are kept; the oldest goes.
const KEPT_FILES_MAX: usize = 16;

/// Copies the torn end of a write-ahead file into `<dir>/aside/`, and gives its size in bytes. 0 where the
/// file ends in order.
pub(crate) fn keep_torn(dir: &Path, wal: &Path) -> Result<u64, OpenError> {
    let Some(file) = folder::open_private(wal)? else { return Ok(0) };
    let size = file.metadata().map_err(|e| OpenError::io(wal, e))?.len();
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let Some(from) = torn_from(&mut reader, size).map_err(|e| OpenError::io(wal, e))? else { return Ok(0) };
    let aside = dir.join("aside");
    folder::private_folder(&aside)?;
    let mut copy = || -> std::io::Result<()> {
        // The name begins with the time, so that names sort by age.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path = aside.join(format!("wal-{:020}-{}", now.as_nanos(), key::random_hex(4)?));
        let mut kept = File::from(folder::open_or_create(&path)?);
        reader.seek(SeekFrom::Start(from))?;
        std::io::copy(&mut (&mut reader).take(KEPT_BYTES_MAX), &mut kept)?;
        kept.flush()?;
        drop_oldest(&aside)
    };
    match copy() {
        Ok(()) => {}
        // The torn end belongs to a write that was never acknowledged: no reason not to start.
        Err(error) => tracing::warn!(%error, "the torn end of the write-ahead file could not be kept"),
    }
    Ok(size - from)
}

fn drop_oldest(aside: &Path) -> std::io::Result<()> {
    let mut names: Vec<_> = std::fs::read_dir(aside)?.flatten().map(|entry| entry.path()).collect();
    names.sort();
    for old in names.iter().rev().skip(KEPT_FILES_MAX) {
        std::fs::remove_file(old)?;
    }
    Ok(())
}

/// Where the torn end begins: behind the last whole transaction, if more of the same generation follows.
/// A restarted file has older frames behind its end; those have other salts and are no damage.
fn torn_from(reader: &mut (impl Read + Seek), size: u64) -> std::io::Result<Option<u64>> {
    if size == 0 {
        return Ok(None);
    }
    let mut header = [0u8; HEADER as usize];
    if size < HEADER {
        return Ok(Some(0));
    }
    reader.read_exact(&mut header)?;
    let Some(mut sums) = Sums::of_header(&header) else { return Ok(Some(0)) };
    let page = word(&header, 8, true) as usize;
    if !(512..=65536).contains(&page) || !page.is_power_of_two() {
        return Ok(Some(0));
    }
    let mut frame = vec![0u8; FRAME_HEADER + page];
    let (mut at, mut whole) = (HEADER, HEADER);
    loop {
        let left = size - at;
        if left == 0 {
            break;
        }
        if left < frame.len() as u64 {
            return Ok(Some(whole));
        }
        reader.read_exact(&mut frame)?;
        if frame[8..16] != header[16..24] {
            break;
        }
        sums.add(&frame[..8]);
        sums.add(&frame[FRAME_HEADER..]);
        if !sums.are(&frame[16..24]) {
            return Ok(Some(whole));
        }
        at += frame.len() as u64;
        if word(&frame, 4, true) != 0 {
            whole = at;
        }
    }
    Ok((whole < at).then_some(whole))
}

/// The running checksum of SQLite's write-ahead file (its file format document, section 4.2).
struct Sums {
    big: bool,
    a: u32,
    b: u32,
}

impl Sums {
    fn of_header(header: &[u8; HEADER as usize]) -> Option<Sums> {
        let big = match word(header, 0, true) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return None,
        };
        let mut sums = Sums { big, a: 0, b: 0 };
        sums.add(&header[..24]);
        sums.are(&header[24..32]).then_some(sums)
    }

    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            self.a = self.a.wrapping_add(word(pair, 0, self.big)).wrapping_add(self.b);
            self.b = self.b.wrapping_add(word(pair, 4, self.big)).wrapping_add(self.a);
        }
    }

    fn are(&self, stored: &[u8]) -> bool {
        word(stored, 0, true) == self.a && word(stored, 4, true) == self.b
    }
}

fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn wal() -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let conn = rusqlite::Connection::open(dir.path().join("a.sqlite")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1);").unwrap();
        conn.execute_batch("INSERT INTO t VALUES(2)").unwrap();
        std::fs::read(dir.path().join("a.sqlite-wal")).unwrap()
    }

    fn torn(bytes: &[u8]) -> Option<u64> {
        torn_from(&mut Cursor::new(bytes), bytes.len() as u64).unwrap()
    }

    #[test]
    fn only_a_whole_transaction_is_an_end() {
        // T9-01
        let whole = wal();
        assert_eq!(torn(&whole), None);
        assert_eq!(torn(&[]), None);
        let frame = FRAME_HEADER + 4096;
        let last = whole.len() - frame;
        for cut in [last + 1, last + 20, last + frame / 2, whole.len() - 1] {
            assert_eq!(torn(&whole[..cut]), Some(last as u64), "cut at {cut}");
        }
        let mut flipped = whole.clone();
        flipped[last + 100] ^= 1;
        assert_eq!(torn(&flipped), Some(last as u64));
        let mut stale = whole.clone();
        stale.extend(vec![7u8; frame]);
        assert_eq!(torn(&stale), None, "frames of an earlier generation are no damage");
        assert_eq!(torn(&whole[..20]), Some(0));
    }
}
