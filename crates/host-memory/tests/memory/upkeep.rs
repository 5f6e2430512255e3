//! What goes on behind the turns, by the clock.

use crate::fixture::World;
use host_memory::{Notes, Upkeep, content_hash};
use host_vocab::cron::CronSchedule;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn backups(it: &World) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(it.folder.path())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with(".memory-forget-backup-"))
        .collect();
    names.sort();
    names
}

// REC-2: a page of the entities at the start, and then by the schedule (A1.13, A18.1).
#[tokio::test]
async fn memory_is_put_in_order_by_its_schedule() {
    let it = World::new();
    it.store.remember_now("Bob lives in Lyon").unwrap();
    // It is 10:00 in UTC.
    let schedule = CronSchedule::parse("30 */2 * * *", "").unwrap();
    let upkeep = Upkeep::new(it.store.clone(), Notes::Nobody).with_order(schedule);
    let page = it.path("index.md");
    let made = || std::fs::remove_file(&page).is_ok();
    upkeep.work().await;
    assert!(made(), "at the start");
    for (pause, due) in [(29, false), (1, true), (30, false), (89, false), (1, true), (600, true), (1, false)]
    {
        it.clock.advance(Duration::from_secs(pause * 60));
        upkeep.work().await;
        assert_eq!(made(), due, "{pause} minutes later");
    }
}

// REM-6: what was to be forgotten doesn't stay in backups for good: the three newest, and none for longer than 30 days
// (A16.7).
#[tokio::test]
async fn backups_go_by_number_and_age() {
    let it = World::new();
    let upkeep = Upkeep::new(it.store.clone(), Notes::Nobody);
    for n in 0..5 {
        let fact = format!("fact number {n}");
        it.store.remember_now(&fact).unwrap();
        let id = format!("RM-{}", content_hash(&fact));
        let plan = it.store.forget_prepare(&[id], "asked").unwrap();
        it.store.forget_apply(&plan).unwrap();
        it.clock.advance(24 * HOUR);
    }
    std::fs::create_dir(it.folder.path().join(".memory-forget-backup-by-hand")).unwrap();
    upkeep.work().await;
    let kept = backups(&it);
    assert_eq!(kept.len(), 3, "{kept:?}");
    it.clock.advance(26 * 24 * HOUR);
    upkeep.work().await;
    assert_eq!(backups(&it), kept, "29 days");
    it.clock.advance(4 * 24 * HOUR);
    upkeep.work().await;
    assert_eq!(backups(&it).len(), 1, "only the one that tells no time");
}
