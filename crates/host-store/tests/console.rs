//! The console's rows.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests prepare files; what can't be set up fails the test"
)]

use host_console::{
    Change, ConsoleStore, FollowUp, FollowUpState, Message, RunState, RunStatus, StoreError, Submission,
    Thread, ThreadPlace, ThreadQuery, UserMessage,
};
use host_store::{ConsoleOpenError, ConsoleRows};
use serde_json::json;

fn thread(id: &str, title: &str, updated: &str) -> Thread {
    Thread {
        id: id.into(),
        agent_id: "a".into(),
        title: title.into(),
        title_locked: false,
        pinned: false,
        archived: false,
        origin: "web".into(),
        read_only: false,
        created_at: updated.into(),
        updated_at: updated.into(),
        preview: "p".into(),
        model: None,
        effort: None,
        run_state: Some(RunState {
            status: RunStatus::Succeeded,
            started_at: updated.into(),
            ended_at: None,
            activity: None,
        }),
    }
}

fn said(id: &str, text: &str) -> Message {
    Message::User(UserMessage {
        id: id.into(),
        seq: 1,
        created_at: "2026-01-01T00:00:00.000Z".into(),
        text: text.into(),
        steered: false,
        quote: None,
        attachments: vec![],
    })
}

// WEB-3
#[test]
fn conversations_are_paged_pinned_first_and_survive_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ConsoleRows::open(dir.path()).unwrap();
    for n in 0..5 {
        let mut it = thread(&format!("t{n}"), "x", &format!("2026-01-0{}T00:00:00.000Z", n + 1));
        it.pinned = n == 1;
        it.archived = n == 4;
        rows.apply(&[Change::Thread(it)]).unwrap();
    }
    // One without a message is not listed.
    let empty =
        Thread { preview: String::new(), run_state: None, ..thread("t9", "", "2026-02-01T00:00:00.000Z") };
    rows.apply(&[Change::Thread(empty)]).unwrap();
    assert!(matches!(ConsoleRows::open(dir.path()), Err(ConsoleOpenError::Running)));
    drop(rows);
    let rows = ConsoleRows::open(dir.path()).unwrap();
    let mut query = ThreadQuery { limit: 2, ..ThreadQuery::default() };
    let mut seen = Vec::new();
    loop {
        let page = rows.threads(&query).unwrap();
        let Some(last) = page.last() else { break };
        query.after = Some(ThreadPlace {
            pinned: last.pinned,
            updated_at: last.updated_at.clone(),
            id: last.id.clone(),
        });
        seen.extend(page.into_iter().map(|it| it.id));
    }
    assert_eq!(seen, ["t1", "t3", "t2", "t0"]);
    let archived = ThreadQuery { archived: true, limit: 9, ..ThreadQuery::default() };
    assert_eq!(rows.threads(&archived).unwrap().len(), 1);
}

// WEB-1, WEB-3
#[test]
fn words_are_found_without_accents_and_without_syntax() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ConsoleRows::open(dir.path()).unwrap();
    let of = |id: &str, text: &str| Change::Message { thread: "t".into(), message: said(id, text) };
    rows.apply(&[Change::Thread(thread("t", "100% of it", "2026-01-01T00:00:00.000Z"))]).unwrap();
    rows.apply(&[of("m1", "Wo ist das Café am Fluss?"), of("m2", "nothing here")]).unwrap();
    let found = |words: &str| {
        let hits = rows.search(None, words, 10).unwrap();
        hits.into_iter()
            .map(|it| it.message.map_or_else(|| "title".into(), |it| it.0))
            .collect::<Vec<String>>()
    };
    assert_eq!(found("cafe flu"), ["m1"]);
    assert_eq!(found("0%"), ["title"]);
    assert_eq!(found("\"OR * ("), Vec::<String>::new());
    assert_eq!(found("' AND 1"), Vec::<String>::new());
    let hit = &rows.search(None, "fluss", 10).unwrap()[0];
    assert!(hit.passage.contains("\u{1}Fluss\u{2}"), "{}", hit.passage);
    // An edited message is found by its new words alone.
    rows.apply(&[of("m1", "something else")]).unwrap();
    assert_eq!(found("fluss"), Vec::<String>::new());
    rows.apply(&[Change::DropThread("t".into())]).unwrap();
    assert_eq!(found("else"), Vec::<String>::new());
}

// WEB-2
#[test]
fn several_changes_are_one_and_a_second_submission_of_an_id_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ConsoleRows::open(dir.path()).unwrap();
    let sent = |digest: &str| {
        Change::Submission(Submission {
            id: "s".into(),
            thread: "t".into(),
            digest: digest.into(),
            receipt: json!({"kind": "turn"}),
        })
    };
    rows.apply(&[Change::Thread(thread("t", "x", "2026")), sent("1")]).unwrap();
    let again = [Change::Message { thread: "t".into(), message: said("m", "x") }, sent("2")];
    assert!(matches!(rows.apply(&again), Err(StoreError::Failed(_))));
    assert!(rows.message("t", "m").unwrap().is_none(), "all or none");
    assert_eq!(rows.submission("s").unwrap().unwrap().digest, "1");
}

// ENG-8
#[test]
fn follow_ups_are_listed_until_they_are_settled() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ConsoleRows::open(dir.path()).unwrap();
    let follow_up = |id: &str, state| {
        Change::FollowUp(FollowUp {
            id: id.into(),
            thread_id: "t".into(),
            text: "x".into(),
            created_at: "2026".into(),
            state,
        })
    };
    rows.apply(&[follow_up("a", FollowUpState::Pending), follow_up("b", FollowUpState::Queued)]).unwrap();
    rows.apply(&[follow_up("a", FollowUpState::Applied)]).unwrap();
    let open: Vec<_> = rows.follow_ups(Some("t")).unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(open, ["b"]);
    assert_eq!(rows.follow_up("a").unwrap().unwrap().state, FollowUpState::Applied);
}

// A console's file of a newer program, or another program's, is left as it is.
#[test]
fn a_foreign_file_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("console.sqlite");
    std::fs::write(&path, b"this is no database at all, and it is long enough to be looked at by a reader of its first hundred bytes").unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(&mut std::fs::metadata(&path).unwrap().permissions(), 0o600);
    assert!(ConsoleRows::open(dir.path()).is_err());
    assert!(std::fs::read(&path).unwrap().starts_with(b"this is no"));
}
