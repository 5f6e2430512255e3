//! Looking facts up.

use crate::fixture::World;
use host_ports::memory::{Recall as _, RecallError};

fn remember(it: &World, texts: &[&str]) {
    for text in texts {
        it.store.remember_now(text).unwrap();
    }
}

// REC-2, T9-11
#[tokio::test]
async fn words_of_every_script_are_found() {
    let it = World::new();
    let texts = [
        "周五上午在三楼评审预算方案",
        "重新执行make-qzx之后完成",
        "明日はがくせいに会う",
        "내일 서울에서 만나요",
        "พรุ่งนี้ไปตลาดกับแม่",
        "Die Straße in Köln ist gesperrt",
        "Le crème brûlée est prêt",
    ];
    remember(&it, &texts);
    for (query, text) in [
        ("评审", texts[0]),
        ("楼", texts[0]),
        ("qzx", texts[1]),
        ("make", texts[1]),
        ("がくせい", texts[2]),
        ("서울", texts[3]),
        ("ตลาด", texts[4]),
        ("STRASSE", texts[5]),
        ("creme brulee", texts[6]),
        ("Ｃｒèｍｅ", texts[6]),
    ] {
        assert_eq!(it.recalled(query).await.first().map(String::as_str), Some(text), "{query}");
    }
}

// REC-1, REC-2: nothing rather than something wrong.
#[tokio::test]
async fn what_does_not_fit_is_not_recalled() {
    let it = World::new();
    remember(
        &it,
        &[
            "Ada prefers tea in the morning",
            "The build server is in Oslo",
            "Invoice 4411 was paid on 2026-05-02",
        ],
    );
    assert_eq!(it.recalled("zanzibar shipping costs").await, Vec::<String>::new());
    assert_eq!(it.recalled("invoice 9988").await, Vec::<String>::new());
    assert_eq!(it.recalled("invoice 4411").await, ["Invoice 4411 was paid on 2026-05-02"]);
}

// REC-2: forms of a word.
#[tokio::test]
async fn forms_of_a_word_are_found() {
    let it = World::new();
    remember(&it, &["Ada manages the yearly budgets", "Bob repaired both bicycles"]);
    assert_eq!(it.recalled("budget").await, ["Ada manages the yearly budgets"]);
    assert_eq!(it.recalled("repairing a bicycle").await, ["Bob repaired both bicycles"]);
}

#[tokio::test]
async fn queries_have_bounds() {
    let it = World::new();
    assert_eq!(it.store.recall("?! …", 5).await, Err(RecallError::Empty));
    assert_eq!(it.store.recall("", 5).await, Err(RecallError::Empty));
    assert_eq!(it.store.recall(&"x".repeat(2049), 5).await, Err(RecallError::TooLong));
    for odd in ["\"", "a\0b", "NEAR(", "a* OR b", "\u{202e}x", "-x", "text:x", &"wort ".repeat(400)] {
        assert!(matches!(it.store.recall(odd, 5).await, Ok(_) | Err(RecallError::Empty)), "{odd}");
    }
}

// REC-2: the index comes from the notes, whoever changed them.
#[tokio::test]
async fn edits_by_hand_and_a_lost_index_change_nothing_but_the_answers() {
    let it = World::new();
    remember(&it, &["Ada prefers tea", "Bob prefers coffee"]);
    let edited = it.text("daily/2026-09-03.md").replace("prefers coffee", "prefers cocoa");
    it.write("daily/2026-09-03.md", &edited);
    assert_eq!(it.recalled("cocoa").await, ["Bob prefers cocoa"]);
    assert_eq!(it.recalled("coffee").await.len(), 0);
    std::fs::write(it.path(".index/memory.sqlite"), "no database").unwrap();
    assert_eq!(it.recalled("cocoa").await, ["Bob prefers cocoa"]);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(it.path(&format!(".index/memory.sqlite{end}")));
    }
    assert_eq!(it.recalled("tea").await, ["Ada prefers tea"]);
    std::fs::remove_file(it.path("daily/2026-09-03.md")).unwrap();
    assert_eq!(it.recalled("tea").await.len(), 0);
}

// REC-2
#[tokio::test]
async fn only_live_facts_each_once() {
    let it = World::new();
    it.write(
        "daily/2026-09-01.md",
        "- [~] Bob lives in Lyon\n  <!--mem id=C-1 status=invalidated created=2026-09-01T00:00:00.000Z refs= -->\n\
         - [x] Bob moved to Nice\n  <!--mem id=C-2 type=task status=done created=2026-09-01T00:00:00.000Z refs= -->\n\
         - – Bob likes figs\n  <!--mem id=C-3 created=2026-09-01T00:00:00.000Z refs= -->\n",
    );
    it.write(
        "daily/2026-09-02.md",
        "- [~] Bob likes figs\n  <!--mem id=C-3 status=dropped created=2026-09-01T00:00:00.000Z refs= -->\n\
         - [x] Bob moved to Nice\n  <!--mem id=C-2 type=task status=done created=2026-09-01T00:00:00.000Z refs= -->\n",
    );
    assert_eq!(it.recalled("Bob").await, ["Bob moved to Nice"]);
}

// REC-2: one file that can't be read hides itself alone, and is not passed over where all must be known.
#[tokio::test]
async fn a_damaged_source_hides_no_other() {
    let it = World::new();
    remember(&it, &["Ada prefers tea"]);
    std::fs::write(it.path("daily/2026-09-01.md"), b"- \xff\xfe").unwrap();
    std::fs::create_dir(it.path("daily/2026-08-01.md")).unwrap();
    it.write(
        "daily/2026-09-02.md",
        "- – Bob likes figs\n  <!--mem id=C-3 created=2026-09-01T00:00:00.000Z refs= -->\n",
    );
    let recalled = it.store.recall("figs", 5).await.unwrap();
    assert_eq!((recalled.hits.len(), recalled.degraded.is_some()), (1, true));
    assert!(it.store.remember_now("Eve lives in Nice").is_err());
    std::fs::remove_file(it.path("daily/2026-09-01.md")).unwrap();
    assert!(it.store.remember_now("Eve lives in Nice").is_ok());
}
