//! One file of a zip archive, as Python packages are (PKWARE's APPNOTE, without encryption and zip64).

use flate2::read::DeflateDecoder;
use std::io::Read as _;

const END: [u8; 4] = [0x50, 0x4b, 5, 6];
const ENTRY: [u8; 4] = [0x50, 0x4b, 1, 2];
const LOCAL: [u8; 4] = [0x50, 0x4b, 3, 4];

/// The bytes of a named file in an archive; `None` where it isn't there, is damaged, or has more than
/// `bytes_max` bytes. Who needs a certain file checks its sum.
pub fn unpacked(archive: &[u8], name: &str, bytes_max: u64) -> Option<Vec<u8>> {
    let tail = archive.len().saturating_sub(66_000);
    let end = tail + archive[tail..].windows(4).rposition(|it| it == END)?;
    let mut at = usize::try_from(number(archive, end + 16, 4)?).ok()?;
    let count = number(archive, end + 10, 2)?;
    for _ in 0..count {
        if archive.get(at..at + 4)? != ENTRY {
            return None;
        }
        let long = |offset, width| number(archive, at + offset, width);
        let size = |offset| long(offset, 2).and_then(|it| usize::try_from(it).ok());
        let (name_len, extra, comment) = (size(28)?, size(30)?, size(32)?);
        if archive.get(at + 46..at + 46 + name_len)? == name.as_bytes() {
            let (method, packed, local) = (long(10, 2)?, long(20, 4)?, long(42, 4)?);
            return content(archive, usize::try_from(local).ok()?, method, packed, bytes_max);
        }
        at += 46 + name_len + extra + comment;
    }
    None
}

fn content(archive: &[u8], at: usize, method: u64, packed: u64, bytes_max: u64) -> Option<Vec<u8>> {
    if archive.get(at..at.checked_add(4)?)? != LOCAL {
        return None;
    }
    let (name_len, extra) = (number(archive, at + 26, 2)?, number(archive, at + 28, 2)?);
    let from = at + 30 + usize::try_from(name_len + extra).ok()?;
    let data = archive.get(from..from.checked_add(usize::try_from(packed).ok()?)?)?;
    let mut out = Vec::new();
    let read = match method {
        0 => data.take(bytes_max + 1).read_to_end(&mut out),
        8 => DeflateDecoder::new(data).take(bytes_max + 1).read_to_end(&mut out),
        _ => return None,
    };
    (read.is_ok() && out.len() as u64 <= bytes_max).then_some(out)
}

/// A little-endian number.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(width)?)?;
    Some(part.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::io::Write as _;

    fn le(value: usize, width: usize) -> Vec<u8> {
        value.to_le_bytes()[..width].to_vec()
    }

    fn archive(files: &[(&str, &[u8], u8)]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, content, method) in files {
            let data = if *method == 8 {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(content).unwrap();
                encoder.finish().unwrap()
            } else {
                content.to_vec()
            };
            let common = [
                le(20, 2),
                le(0, 2),
                le(usize::from(*method), 2),
                le(0, 4),
                le(0, 4),
                le(data.len(), 4),
                le(content.len(), 4),
                le(name.len(), 2),
                le(0, 2),
            ]
            .concat();
            directory.extend(
                [
                    &ENTRY[..],
                    &le(20, 2),
                    &common,
                    &le(0, 10 - 2),
                    &le(0, 2),
                    &le(out.len(), 4),
                    name.as_bytes(),
                ]
                .concat(),
            );
            out.extend([&LOCAL[..], &common, name.as_bytes(), &data].concat());
        }
        let start = out.len();
        out.extend(&directory);
        let count = le(files.len(), 2);
        out.extend(
            [&END[..], &le(0, 4), &count, &count, &le(directory.len(), 4), &le(start, 4), &le(0, 2)].concat(),
        );
        out
    }

    #[test]
    fn a_file_is_found_and_bounded() {
        let text = "tea ".repeat(500);
        let it = archive(&[("a", b"x", 0), ("dir/b", text.as_bytes(), 8), ("c", b"odd", 14)]);
        assert_eq!(unpacked(&it, "a", 10).unwrap(), b"x");
        assert_eq!(unpacked(&it, "dir/b", 2000).unwrap(), text.as_bytes());
        assert_eq!(unpacked(&it, "dir/b", 1999), None);
        assert_eq!(unpacked(&it, "b", 2000), None);
        assert_eq!(unpacked(&it, "c", 2000), None);
    }

    #[test]
    fn damaged_archives_are_nothing() {
        let it = archive(&[("dir/b", "tea ".repeat(50).as_bytes(), 8)]);
        for cut in 0..it.len() {
            let _nothing_or_whole = unpacked(&it[..cut], "dir/b", 2000);
            let mut odd = it.clone();
            odd[cut] ^= 0xff;
            let _nothing_or_something = unpacked(&odd, "dir/b", 2000);
        }
        assert_eq!(unpacked(&[], "x", 1), None);
    }
}
