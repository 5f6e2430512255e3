//! Long runs of encoded bytes: nobody can read them, and they may be a private artifact (RUN-8).

use std::borrow::Cow;

/// A run of so many characters of an encoding is no text.
const RUN_MIN: usize = 512;

/// The text with a marker in the place of each such run.
pub(super) fn left_out(text: &str) -> Cow<'_, str> {
    if text.len() < RUN_MIN {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| is_letter(**byte)).count();
        if run >= RUN_MIN && looks_encoded(&bytes[at..at + run]) {
            out.push_str(&text[done..at]);
            out.push_str(&format!("[{run} bytes of encoded data omitted]"));
            done = at + run;
        }
        at += run.max(1);
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

/// A run of one letter, or a row of names, is text; encoded bytes use digits and letters all over.
fn looks_encoded(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    run.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let kinds = seen.iter().filter(|it| **it).count();
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let longest_part =
        run.split(|byte| matches!(byte, b'/' | b'-' | b'_')).map(<[u8]>::len).max().unwrap_or(0);
    kinds >= 12 && digits * 20 >= run.len() && longest_part >= 48
}
