//! Reading by date.

use crate::fixture::World;
use host_memory::JournalDesk;
use host_ports::memory::{Journal as _, JournalError, JournalPage, JournalRange};
use host_vocab::RunId;
use std::fmt::Write as _;

fn september(limit: Option<i64>) -> JournalRange {
    JournalRange {
        from_date: "2026-09-01".into(),
        through_date: "2026-09-30".into(),
        time_zone: "Europe/Amsterdam".into(),
        limit,
    }
}

fn many(it: &World, count: usize, text: &str) {
    let mut notes = String::new();
    for n in 0..count {
        let (minute, second) = (n / 60, n % 60);
        let _ = write!(
            notes,
            "- – {text} {n}\n  <!--mem id=C-{n:05} created=2026-09-03T{:02}:{:02}:{second:02}.000Z refs= -->\n",
            minute / 60,
            minute % 60,
        );
    }
    it.write("daily/2026-09-03.md", &notes);
}

async fn all(desk: &JournalDesk, run: &RunId, first: JournalPage) -> Vec<String> {
    let mut texts = Vec::new();
    let mut page = first;
    loop {
        assert!(
            page.entries.len() <= 25
                && serde_json::to_string(&page.entries).unwrap().len() <= 8 * 1024 + 2600
        );
        texts.extend(page.entries.iter().map(|it| it.text.clone()));
        let Some(cursor) = page.next_cursor else { return texts };
        assert!(cursor.len() <= 2048);
        page = desk.next(run, &cursor).await.unwrap();
    }
}

// JRN-2, JRN-3
#[tokio::test]
async fn pages_of_a_snapshot_neither_repeat_nor_skip() {
    let it = World::new();
    many(&it, 30, "entry");
    let desk = JournalDesk::new(it.store.clone());
    let run = RunId::fresh();
    let first = desk.first(&run, &september(None)).await.unwrap();
    assert_eq!(first.entries.len(), 10);
    assert!(first.coverage.has_next_page && first.coverage.range_complete);
    // Later inserts, before and after, are not in this snapshot.
    it.store.remember_now("a late fact").unwrap();
    it.write(
        "daily/2026-09-02.md",
        "- – early\n  <!--mem id=C-x created=2026-09-02T00:00:00.000Z refs= -->\n",
    );
    let texts = all(&desk, &run, first).await;
    assert_eq!(texts, (0..30).map(|n| format!("entry {n}")).collect::<Vec<_>>());
    let next = desk.first(&run, &september(Some(25))).await.unwrap();
    assert_eq!(next.coverage.snapshot_entries, 32);
    assert_eq!(next.entries[0].text, "early");
}

// JRN-2
#[tokio::test]
async fn no_forged_cursor_reads() {
    let it = World::new();
    many(&it, 30, "entry");
    let desk = JournalDesk::new(it.store.clone());
    let (run, other) = (RunId::fresh(), RunId::fresh());
    let cursor = desk.first(&run, &september(Some(5))).await.unwrap().next_cursor.unwrap();
    let theirs = desk.first(&other, &september(Some(5))).await.unwrap().next_cursor.unwrap();
    assert_eq!(desk.next(&other, &cursor).await, Err(JournalError::Cursor));
    assert_eq!(desk.next(&run, &theirs).await, Err(JournalError::Cursor));
    for at in 0..cursor.len() {
        for letter in ['A', 'B', 'x', '-', '_', '9'] {
            let mut forged = cursor.clone();
            forged.replace_range(at..=at, &letter.to_string());
            if forged != cursor {
                assert_eq!(desk.next(&run, &forged).await, Err(JournalError::Cursor), "{forged}");
            }
        }
    }
    for forged in
        ["", "x", "AQAA", &cursor[1..], &format!("{cursor}="), &format!("{cursor}A"), &"A".repeat(5000)]
    {
        assert_eq!(desk.next(&run, forged).await, Err(JournalError::Cursor));
    }
    // The genuine one reads, as often as it is asked.
    let page = desk.next(&run, &cursor).await.unwrap();
    assert_eq!(page, desk.next(&run, &cursor).await.unwrap());
    assert_eq!(page.entries[0].text, "entry 5");
    // Another desk knows nothing of it, and a run that ended has nothing left.
    assert_eq!(JournalDesk::new(it.store.clone()).next(&run, &cursor).await, Err(JournalError::Cursor));
    desk.end(&run);
    assert_eq!(desk.next(&run, &cursor).await, Err(JournalError::Cursor));
}

// JRN-3
#[tokio::test]
async fn bounds_of_snapshots_and_pages() {
    let it = World::new();
    many(&it, 1001, "entry");
    let desk = JournalDesk::new(it.store.clone());
    let run = RunId::fresh();
    let first = desk.first(&run, &september(Some(25))).await.unwrap();
    assert_eq!(first.coverage.snapshot_entries, 1000);
    assert!(!first.coverage.range_complete && !first.no_data);
    assert_eq!(first.coverage.truncation.as_deref(), Some("entry_limit"));
    assert_eq!(first.coverage.last_included.as_ref().unwrap().id, "C-00999");
    assert_eq!(all(&desk, &run, first).await.len(), 1000);
    for _ in 1..4 {
        assert!(desk.first(&run, &september(None)).await.is_ok());
    }
    assert_eq!(desk.first(&run, &september(None)).await, Err(JournalError::Snapshots { snapshots_max: 4 }));
    assert!(desk.first(&RunId::fresh(), &september(None)).await.is_ok());
    for limit in [0, -1, 26, i64::MAX] {
        let refused = desk.first(&RunId::fresh(), &september(Some(limit))).await;
        assert_eq!(refused.map_err(|err| err.code()), Err("invalid_limit"));
    }

    let long = World::new();
    many(&long, 1000, &"ä€".repeat(1500));
    let desk = JournalDesk::new(long.store.clone());
    let first = desk.first(&run, &september(Some(25))).await.unwrap();
    assert_eq!(first.coverage.truncation.as_deref(), Some("byte_limit"));
    assert!(first.entries.iter().all(|it| it.text.len() <= 2048 && it.text_truncated));
    assert!(first.entries.len() < 5 && first.coverage.has_next_page);
}

// JRN-4
#[tokio::test]
async fn entries_show_their_state_and_hide_what_is_unsafe() {
    let it = World::new();
    it.write(
        "daily/2026-09-03.md",
        "- [~] Bob lives in Lyon\n  <!--mem id=C-1 type=note status=invalidated salience=0.9 isInsight=0 created=2026-09-03T08:00:00+02:00 refs= -->\n\
         - – Bob lives in Nice\n  <!--mem id=C-2 type=note status=open created=2026-09-03T08:00:01.5Z refs=supersedes:C-1,session:secret-session -->\n\
         - [~] Bob was forgotten\n  <!--mem id=C-3 status=dropped created=2026-09-03T09:00:00Z refs= -->\n\
         - – the password=swordfish\n  <!--mem id=C-4 created=2026-09-03T10:00:00Z refs= -->\n\
         - – moves\u{202e}the cursor\n  <!--mem id=C-5\u{202e} created=2026-09-03T11:00:00Z refs= -->\n",
    );
    it.write(
        "observations/2026-09-03.md",
        "- – raw\n  <!--mem id=O-1 created=2026-09-03T09:00:00Z refs= -->\n",
    );
    it.write("audit/2026-09-03.md", "- – raw\n  <!--mem id=A-1 created=2026-09-03T09:00:00Z refs= -->\n");
    it.write("2026-09-05.md", "- – old layout\n  <!--mem id=L-1 created=2026-09-05T09:00:00Z refs= -->\n");
    let desk = JournalDesk::new(it.store.clone());
    let page = desk.first(&RunId::fresh(), &september(None)).await.unwrap();
    insta::assert_json_snapshot!(page);
}

// JRN-5
#[tokio::test]
async fn an_empty_range_and_a_failing_store_differ() {
    let it = World::new();
    let desk = JournalDesk::new(it.store.clone());
    let empty = desk.first(&RunId::fresh(), &september(None)).await.unwrap();
    assert_eq!((empty.status, empty.no_data, empty.coverage.range_complete), ("ok", true, true));
    std::fs::create_dir_all(it.path(".index")).unwrap();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(it.path(&format!(".index/memory.sqlite{end}")));
    }
    std::fs::create_dir_all(it.path(".index/memory.sqlite/x")).unwrap();
    let failed = desk.first(&RunId::fresh(), &september(None)).await;
    assert_eq!(failed, Err(JournalError::Unavailable));
    let said = failed.unwrap_err().to_string();
    assert!(!said.contains('/') && !said.to_lowercase().contains("sql"), "{said}");
}
