//! How hard to think, in the levels that a model has.

use host_ports::model::Effort;

/// The name of a level.
pub(crate) fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Xhigh => "xhigh",
        Effort::Max => "max",
        Effort::Ultra => "ultra",
    }
}

/// The level of a model that is nearest to the asked one (the lower of two), with a note when it is another.
pub(crate) fn nearest(
    asked: Effort,
    levels: &[Effort],
    model: &str,
    notes: &mut Vec<String>,
) -> Option<Effort> {
    let rank = |effort: Effort| effort as i32;
    let found = levels.iter().copied().min_by_key(|level| ((rank(*level) - rank(asked)).abs(), rank(*level)));
    match found {
        None if asked == Effort::None => {}
        None => notes.push(format!("{model} has no levels of effort; `{}` is left out", name(asked))),
        Some(level) if level != asked => {
            notes.push(format!(
                "{model} has no effort `{}`; the nearest level `{}` is used",
                name(asked),
                name(level)
            ));
        }
        Some(_) => {}
    }
    found
}

/// The numbers after a stem in a model's name: `claude-opus-4-6` has 4.6 after `claude-`.
pub(crate) fn version_after(model: &str, stem: &str) -> Option<(u32, u32)> {
    let rest = &model[model.find(stem)? + stem.len()..];
    let mut numbers = rest
        .split(['-', '.', '_', ':', '@', '/'])
        .map(|piece| piece.parse::<u32>().ok().filter(|n| *n < 100));
    let major = numbers.find_map(|number| number)?;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        let table = [
            ("claude-opus-4-6", (4, 6)),
            ("claude-3-5-sonnet-20241022", (3, 5)),
            ("claude-sonnet-4-20250514", (4, 0)),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", (4, 5)),
            ("anthropic/claude-3.7-sonnet", (3, 7)),
        ];
        for (model, version) in table {
            assert_eq!(version_after(model, "claude-"), Some(version), "{model}");
        }
        assert_eq!(version_after("claude-next", "claude-"), None);
        assert_eq!(version_after("gemini-2.5-pro", "gemini-"), Some((2, 5)));
    }

    // ENG-2
    #[test]
    fn the_nearest_level_is_used_and_said() {
        let mut notes = Vec::new();
        let levels = [Effort::Low, Effort::Medium, Effort::High];
        assert_eq!(nearest(Effort::Ultra, &levels, "m", &mut notes), Some(Effort::High));
        assert_eq!(nearest(Effort::None, &levels, "m", &mut notes), Some(Effort::Low));
        assert_eq!(nearest(Effort::Medium, &levels, "m", &mut notes), Some(Effort::Medium));
        assert_eq!(
            notes,
            [
                "m has no effort `ultra`; the nearest level `high` is used",
                "m has no effort `none`; the nearest level `low` is used"
            ]
        );
        assert_eq!(nearest(Effort::High, &[], "m", &mut notes), None);
        assert_eq!(notes[2], "m has no levels of effort; `high` is left out");
    }
}
