//! The answer that says there is nothing to say (CHN-7).

/// The sentinel, as a model is told of it.
pub const NOTHING_TO_REPORT: &str = "NOTHING_TO_REPORT";

/// Whether an answer means silence on a proactive delivery: it is empty, or the sentinel is all of it or
/// its last line, in any case and with any space around it.
pub fn is_silent(text: &str) -> bool {
    let text = text.trim();
    let last = text.lines().next_back().unwrap_or("").trim();
    text.is_empty() || last.eq_ignore_ascii_case(NOTHING_TO_REPORT)
}

#[cfg(test)]
mod tests {
    use super::is_silent;

    // CHN-7
    #[test]
    fn silence_is_the_whole_text_or_its_last_line() {
        for silent in
            ["", "  \n", "NOTHING_TO_REPORT", " nothing_to_report \n", "All checked.\nNOTHING_TO_REPORT\n"]
        {
            assert!(is_silent(silent), "{silent:?}");
        }
        for said in ["NOTHING_TO_REPORT\nbut the disk is full", "it said NOTHING_TO_REPORT", "ok"] {
            assert!(!is_silent(said), "{said:?}");
        }
    }
}
