//! Storing facts.

use crate::fixture::World;
use host_memory::{Tier, content_hash};
use host_ports::memory::RememberError;

// REM-1
#[tokio::test]
async fn a_fact_is_one_normalised_line_that_is_recallable_at_once() {
    let it = World::new();
    let done = it.store.remember_now("  Ada\n prefers\tｔｅａ ").unwrap();
    assert_eq!(done.text, "Ada prefers tea");
    assert_eq!(done.id, format!("RM-{}", content_hash("Ada prefers tea")));
    assert_eq!((done.duplicate, done.recovered, done.source.as_str()), (false, false, "daily/2026-09-03.md"));
    let text = it.text("daily/2026-09-03.md");
    assert_eq!(done.bytes_written, text.len() as u64);
    insta::assert_snapshot!(text);
    assert_eq!(it.recalled("what does Ada drink, tea?").await, ["Ada prefers tea"]);
    // Case counts: other words are another fact.
    assert!(!it.store.remember_now("ada prefers tea").unwrap().duplicate);
}

// REM-1
#[test]
fn five_hundred_characters_after_normalising() {
    let it = World::new();
    assert!(it.store.remember_now(&"字".repeat(500)).is_ok());
    assert!(it.store.remember_now(&format!("  {} {}  ", "a".repeat(249), "b".repeat(250))).is_ok());
    assert_eq!(it.store.remember_now(&"a".repeat(501)), Err(RememberError::TooLong { chars: 501 }));
    // One character becomes eighteen.
    assert_eq!(it.store.remember_now(&"\u{fdfa}".repeat(40)), Err(RememberError::TooLong { chars: 720 }));
    assert_eq!(it.store.remember_now(" \n\u{3000} "), Err(RememberError::Empty));
    assert_eq!(it.facts().len(), 2);
}

// REM-3, T10-03
#[test]
fn the_same_fact_is_stored_once_on_any_day() {
    let it = World::new();
    let first = it.store.remember_now("Bob lives in Lyon").unwrap();
    let second = it.store.remember_now("Bob  lives in Lyon").unwrap();
    assert_eq!((second.duplicate, second.recovered, second.bytes_written), (true, false, 0));
    it.next_day();
    let third = it.again().remember_now("Bob lives in Lyon").unwrap();
    assert_eq!((third.duplicate, &third.id, third.source.as_str()), (true, &first.id, "daily/2026-09-03.md"));
    assert_eq!(it.facts(), ["Bob lives in Lyon"]);
    assert!(!it.path("daily/2026-09-04.md").exists());
}

// REM-3, T10-03: the append landed, the index did not, and the day has changed.
#[tokio::test]
async fn a_bullet_without_an_index_row_is_completed() {
    let it = World::new();
    it.store.remember_now("Bob lives in Lyon").unwrap();
    let other = World::new();
    other.write("daily/2026-09-03.md", &it.text("daily/2026-09-03.md"));
    other.next_day();
    let done = other.store.remember_now("Bob lives in Lyon").unwrap();
    assert_eq!((done.duplicate, done.recovered, done.bytes_written), (false, true, 0));
    assert_eq!(done.source, "daily/2026-09-03.md");
    assert!(other.store.remember_now("Bob lives in Lyon").unwrap().duplicate);
    assert_eq!(other.recalled("Lyon").await, ["Bob lives in Lyon"]);
    // The other way round: a row whose bullet was removed by hand is no fact.
    other.write("daily/2026-09-03.md", "");
    let anew = other.store.remember_now("Bob lives in Lyon").unwrap();
    assert_eq!((anew.duplicate, anew.recovered, anew.source.as_str()), (false, false, "daily/2026-09-04.md"));
}

// REM-3: a tier changes the prefix of ids, not what is known.
#[test]
fn another_tier_knows_the_fact() {
    let it = World::of(Tier::Journal, None);
    let done = it.store.remember_now("Bob lives in Lyon").unwrap();
    assert!(done.id.starts_with("J-"));
    let lite = crate::fixture::open(&it.root(), it.clock.clone(), Tier::Lite, None);
    assert!(lite.remember_now("Bob lives in Lyon").unwrap().duplicate);
}

// REM-3: A6.6
#[test]
fn an_id_with_other_words_is_a_conflict() {
    let it = World::new();
    it.store.remember_now("Bob lives in Lyon").unwrap();
    let text = it.text("daily/2026-09-03.md").replace("Lyon", "Paris");
    it.write("daily/2026-09-03.md", &text);
    assert!(matches!(it.store.remember_now("Bob lives in Lyon"), Err(RememberError::Conflict { .. })));
    assert_eq!(it.text("daily/2026-09-03.md"), text);
}

// REM-4, T10-07
#[test]
fn secrets_leave_no_byte() {
    let it = World::new();
    for text in [
        "prod db password is hunter2 and key sk-test-abc123def456ghi789",
        "the login is Ｔｒ０ｕｂ４ｄｏｒ",
        "xoxb-1234567890-abcdefghij",
    ] {
        assert_eq!(it.store.remember_now(text), Err(RememberError::Secret), "{text}");
    }
    for text in ["a\u{202e}b", "a\u{1b}[31mb", "a\u{200b}b"] {
        assert!(matches!(it.store.remember_now(text), Err(RememberError::Unsafe { .. })), "{text:?}");
    }
    assert!(matches!(it.store.remember_now("a <!--mem id=x -->"), Err(RememberError::Unsafe { .. })));
    assert!(!it.path("daily").exists());
}

// REM-5
#[test]
fn a_canonical_write_with_a_failed_index_says_so_and_the_retry_completes_it() {
    let it = World::new();
    // Nothing can be opened where a folder stands.
    std::fs::create_dir_all(it.path(".index/memory.sqlite/x")).unwrap();
    let first = it.store.remember_now("Bob lives in Lyon");
    assert!(
        matches!(&first, Err(RememberError::Unindexed { place, .. }) if place == "daily/2026-09-03.md"),
        "{first:?}"
    );
    assert!(matches!(it.store.remember_now("Bob lives in Lyon"), Err(RememberError::Unindexed { .. })));
    assert_eq!(it.facts(), ["Bob lives in Lyon"]);
    std::fs::remove_dir_all(it.path(".index/memory.sqlite")).unwrap();
    let done = it.store.remember_now("Bob lives in Lyon").unwrap();
    assert_eq!((done.duplicate, done.recovered), (false, true));
    assert_eq!(it.facts(), ["Bob lives in Lyon"]);
}

// REM-5
#[test]
fn a_failure_before_anything_durable_says_not_stored() {
    let it = World::new();
    it.write("elsewhere/x", "");
    std::os::unix::fs::symlink(it.path("elsewhere"), it.path("daily")).unwrap();
    assert!(matches!(it.store.remember_now("Bob lives in Lyon"), Err(RememberError::NotStored { .. })));
    assert!(!it.path("elsewhere/2026-09-03.md").exists());
    std::fs::remove_file(it.path("daily")).unwrap();
    // A day's file that leads out of the folder.
    it.write("target.md", "# mine\n");
    std::fs::create_dir(it.path("daily")).unwrap();
    std::os::unix::fs::symlink(it.path("target.md"), it.path("daily/2026-09-03.md")).unwrap();
    assert!(matches!(it.store.remember_now("Bob lives in Lyon"), Err(RememberError::NotStored { .. })));
    assert_eq!(it.text("target.md"), "# mine\n");
}

// REM-6
#[test]
fn a_day_of_the_old_layout_is_not_hidden() {
    let it = World::new();
    let old = "- ◦ Met Bob  <!--mem id=E-1 created=2026-09-03T08:00:00.000Z -->\n";
    it.write("2026-09-03.md", old);
    let refused = it.store.remember_now("Bob lives in Lyon");
    assert_eq!(refused, Err(RememberError::LegacyLayout { date: "2026-09-03".into() }));
    assert_eq!((it.text("2026-09-03.md").as_str(), it.path("daily/2026-09-03.md").exists()), (old, false));
    it.next_day();
    assert!(it.store.remember_now("Bob lives in Lyon").is_ok());
    assert_eq!(it.facts(), ["Bob lives in Lyon", "Met Bob"]);
}

// REM-6
#[test]
fn what_was_forgotten_or_superseded_is_not_stored_again() {
    let it = World::new();
    for (text, status, error) in [
        ("Bob lives in Lyon", "dropped", RememberError::Forgotten),
        ("Bob lives in Nice", "invalidated", RememberError::Superseded),
    ] {
        let source = it.store.remember_now(text).unwrap().source;
        let id = content_hash(text);
        let notes = it
            .text(&source)
            .replace(&format!("{id} type=note status=open"), &format!("{id} type=note status={status}"));
        it.write(&source, &notes);
        assert_eq!(it.store.remember_now(text), Err(error.clone()));
        it.next_day();
        assert_eq!(it.again().remember_now(text), Err(error));
    }
    // Also what a model had noted under another id.
    it.write(
        "daily/2026-08-01.md",
        "- [~] Eve likes figs\n  <!--mem id=C-1 status=dropped created=2026-08-01T00:00:00.000Z refs= -->\n",
    );
    assert_eq!(it.store.remember_now("Eve likes figs"), Err(RememberError::Forgotten));
}

// REC-2: what people and other programs wrote stays to the byte.
#[test]
fn a_file_with_other_text_is_only_added_to() {
    let it = World::new();
    let mine = "# Thursday\n\nprose without an end";
    it.write("daily/2026-09-03.md", mine);
    it.store.remember_now("Bob lives in Lyon").unwrap();
    let text = it.text("daily/2026-09-03.md");
    assert!(text.starts_with(&format!("{mine}\n- – Bob lives in Lyon\n")), "{text}");
    assert!(it.store.remember_now("Bob lives in Lyon").unwrap().duplicate);
}

// T10-01: a power cut left half a record of ours, which was never acknowledged.
#[test]
fn half_a_record_goes_and_the_rest_stays() {
    let it = World::new();
    it.store.remember_now("Bob lives in Lyon").unwrap();
    it.store.remember_now("Eve lives in Nice").unwrap();
    let whole = it.text("daily/2026-09-03.md");
    let first = whole.find("- – Eve").unwrap();
    for end in (first + 30)..(whole.len() - 1) {
        if !whole.is_char_boundary(end) || !whole[first..end].contains("  <!--mem ") {
            continue;
        }
        it.write("daily/2026-09-03.md", &whole[..end]);
        let done = it.again().remember_now("Eve lives in Nice").unwrap();
        // The comment may have been whole but for its line feed.
        assert!(!done.duplicate || whole[..end].ends_with("-->"), "{end}");
        assert_eq!(it.facts(), ["Bob lives in Lyon", "Eve lives in Nice"], "{end}");
    }
}

// REM-2
#[test]
fn a_read_only_memory_takes_nothing() {
    let it = World::new();
    let files = host_files::MemoryFolder::open(&it.root()).unwrap();
    let index = host_store::MemoryIndex::new(&files.index_path());
    let store = host_memory::MemoryStore::new(host_memory::StoreParts {
        files: std::sync::Arc::new(files),
        index: std::sync::Arc::new(index),
        refusal: host_memory::Refusal::new(std::sync::Arc::default(), [("A", "b")]),
        clock: it.clock.clone(),
        embedder: None,
        tier: Tier::Lite,
        read_only: true,
    });
    assert!(!store.is_writable());
    assert_eq!(store.remember_now("x"), Err(RememberError::Unsupported));
}
