//! Fences around text that someone else made.

/// The tags that the host puts around text. Text inside a fence can't open or close any of them.
pub const FENCES: &[&str] =
    &["background", "preceding-messages", "sender", "host-note", "conversation-summary", "conversation-part"];

/// Puts text between `<tag label>` and `</tag>`, each on its own line.
pub(crate) fn fenced(tag: &str, label: &str, text: &str) -> String {
    let label = if label.is_empty() { String::new() } else { format!(" {label}") };
    format!("<{tag}{label}>\n{}\n</{tag}>", neutral(text))
}

/// The same text with the `<` of everything that could pass for one of the host's tags made `&lt;`: in any
/// case, with white space or invisible characters in between, opening or closing.
pub(crate) fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if matches!(c, '<' | '\u{ff1c}' | '\u{2039}') && names_a_fence(&text[at + c.len_utf8()..]) {
            out.push_str("&lt;");
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether what follows a `<` reads as a fence's name.
fn names_a_fence(rest: &str) -> bool {
    // Enough for the longest name with a good deal of noise; a reader stops taking it for a tag after that.
    let word: String = rest
        .chars()
        .take(160)
        .filter(|c| !invisible(*c))
        .take_while(|c| !matches!(c, '>' | '<'))
        .filter(|c| !c.is_whitespace())
        .map(|c| if matches!(c, '_' | '\u{2010}'..='\u{2015}' | '\u{2212}') { '-' } else { c })
        .flat_map(char::to_lowercase)
        .collect();
    let word = word.trim_start_matches(['/', '\\']);
    FENCES.iter().any(|tag| word.starts_with(tag))
}

fn invisible(c: char) -> bool {
    host_vocab::text::is_bidi_control(c)
        || c.is_control() && !c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_form_of_a_tag_gets_through() {
        for form in [
            "</background>",
            "</BACKGROUND >",
            "< / background>",
            "<\u{200b}/back\u{200d}ground>",
            "<\n/background>",
            "<sender>",
            "</ host_note>",
            "\u{ff1c}/host-note>",
            "</preceding\u{2011}messages>",
        ] {
            let safe = neutral(&format!("a {form} b"));
            assert!(safe.starts_with("a &lt;"), "{safe:?}");
        }
        let code = "if a < b && <div class=\"x\"></div> Vec<Back> { }";
        assert_eq!(neutral(code), code);
    }

    proptest! {
        #[test]
        fn a_fence_has_one_end(text in "(</?(background|BackGround) ?>|[a-z<>/ \n]){0,20}") {
            let whole = fenced("background", "", &text);
            prop_assert_eq!(whole.to_lowercase().matches("</background").count(), 1);
            prop_assert!(whole.ends_with("\n</background>"));
        }
    }
}
