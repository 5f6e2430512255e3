//! Live prompt state at rest.

use crate::events::{block_on, conversation};
use host_ports::model::{AssistantPart, Message};
use host_ports::sessions::{Loaded, PromptState, Sessions};
use host_store::{Durability, OpenError, PromptVault};
use host_vocab::Block;
use std::path::Path;

const CANARY: &str = "canary-5f1d0c";

fn state(text: &str) -> PromptState {
    PromptState {
        messages: vec![
            Message::User { content: vec![Block::text(text)] },
            Message::Assistant {
                parts: vec![AssistantPart::Reasoning {
                    provider: "anthropic".into(),
                    text: "hm".into(),
                    raw: serde_json::json!({"signature": "abc="}),
                }],
            },
        ],
        model: "anthropic:x".into(),
        updated_at: 7,
        provider_session: None,
    }
}

fn vault(dir: &Path) -> PromptVault {
    PromptVault::open(dir, Durability::Process).unwrap()
}

fn everything(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        bytes.extend(path.to_string_lossy().as_bytes());
        bytes.extend(if path.is_dir() { everything(&path) } else { std::fs::read(&path).unwrap() });
    }
    bytes
}

#[test]
fn a_prompt_comes_back_exactly_and_nothing_of_it_is_on_the_disk() {
    // ENG-7, QUA-5
    let dir = tempfile::tempdir().unwrap();
    let id = conversation(&format!("web:{CANARY}"));
    let first = vault(dir.path());
    assert_eq!(block_on(first.load(&id)), Loaded::Nothing);
    for text in ["one", CANARY, &CANARY.repeat(10_000)] {
        block_on(first.save(&id, &state(text))).unwrap();
        assert_eq!(block_on(first.load(&id)), Loaded::State(state(text)));
    }
    let other = conversation("web:other");
    assert_eq!(block_on(first.load(&other)), Loaded::Nothing);
    let open = everything(dir.path());
    first.close();
    let closed = everything(dir.path());
    for bytes in [open, closed] {
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
    }
    let second = vault(dir.path());
    assert_eq!(block_on(second.load(&id)), Loaded::State(state(&CANARY.repeat(10_000))));
    block_on(second.forget(&id)).unwrap();
    assert_eq!(block_on(second.load(&id)), Loaded::Nothing);
}

#[test]
fn clearing_counts_and_leaves_nothing() {
    // ENG-9
    let dir = tempfile::tempdir().unwrap();
    let vault = vault(dir.path());
    assert_eq!(block_on(vault.clear()).unwrap(), (0, 0));
    for n in 0..5 {
        block_on(vault.save(&conversation(&format!("web:{n}")), &state(&"x".repeat(50_000)))).unwrap();
    }
    let full = std::fs::metadata(dir.path().join("sessions.sqlite-wal")).unwrap().len();
    let (count, bytes) = block_on(vault.clear()).unwrap();
    assert_eq!(count, 5);
    assert!(bytes > 250_000 && bytes < full);
    assert_eq!(block_on(vault.load(&conversation("web:0"))), Loaded::Nothing);
    let left: u64 = ["sessions.sqlite", "sessions.sqlite-wal"]
        .iter()
        .map(|name| std::fs::metadata(dir.path().join(name)).unwrap().len())
        .sum();
    assert!(left < 40_000, "{left}");
}

#[test]
fn a_lost_or_damaged_key_makes_prompts_unreadable_but_deletes_none() {
    // ENG-7
    for bytes in [None, Some(vec![1u8; 32]), Some(vec![1u8; 5])] {
        let dir = tempfile::tempdir().unwrap();
        let id = conversation("web:a");
        let first = vault(dir.path());
        block_on(first.save(&id, &state("a"))).unwrap();
        first.close();
        let key = dir.path().join("keys/sessions.key");
        let right = std::fs::read(&key).unwrap();
        match &bytes {
            None => std::fs::remove_file(&key).unwrap(),
            Some(bytes) => std::fs::write(&key, bytes).unwrap(),
        }
        let second = vault(dir.path());
        for _ in 0..2 {
            let Loaded::Unreadable(why) = block_on(second.load(&id)) else { panic!("{bytes:?}") };
            assert!(!why.contains('/'), "{why}");
        }
        second.close();
        // The right key comes back, and so does the prompt.
        std::fs::write(&key, &right).unwrap();
        let third = vault(dir.path());
        assert_eq!(block_on(third.load(&id)), Loaded::State(state("a")));
        third.close();
        std::fs::remove_file(&key).unwrap();
        let fourth = vault(dir.path());
        block_on(fourth.save(&id, &state("new"))).unwrap();
        assert_eq!(block_on(fourth.load(&id)), Loaded::State(state("new")), "overwritten by a new turn");
    }
}

#[test]
fn a_prompt_belongs_to_its_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let vault = vault(dir.path());
    let (a, b) = (conversation("web:a"), conversation("web:b"));
    block_on(vault.save(&a, &state("a"))).unwrap();
    block_on(vault.save(&b, &state("b"))).unwrap();
    let conn = rusqlite::Connection::open(dir.path().join("sessions.sqlite")).unwrap();
    conn.execute_batch(
        "CREATE TEMP TABLE t AS SELECT id, nonce, sealed FROM prompts;
         UPDATE prompts SET (nonce, sealed) = (SELECT nonce, sealed FROM t WHERE t.id != prompts.id)",
    )
    .unwrap();
    assert!(matches!(block_on(vault.load(&a)), Loaded::Unreadable(_)));
    conn.execute_batch("UPDATE prompts SET sealed = x'00'").unwrap();
    assert!(matches!(block_on(vault.load(&b)), Loaded::Unreadable(_)));
}

#[test]
fn a_damaged_file_is_kept_aside_and_said() {
    // ENG-7
    let dir = tempfile::tempdir().unwrap();
    let id = conversation("web:a");
    let first = vault(dir.path());
    block_on(first.save(&id, &state("a"))).unwrap();
    first.close();
    std::fs::write(dir.path().join("sessions.sqlite"), b"rubbish").unwrap();
    let second = vault(dir.path());
    assert!(matches!(block_on(second.load(&id)), Loaded::Unreadable(_)));
    block_on(second.save(&id, &state("b"))).unwrap();
    assert_eq!(block_on(second.load(&id)), Loaded::State(state("b")));
    let aside = std::fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().contains("damaged"))
        .expect("kept");
    assert_eq!(std::fs::read(aside.path()).unwrap(), b"rubbish");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    vault(dir.path()).close();
    let key = dir.path().join("keys/sessions.key");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let error = PromptVault::open(dir.path(), Durability::Process).err().unwrap();
    assert!(matches!(error, OpenError::Unsafe { .. }), "{error:?}");
    assert!(error.to_string().contains("sessions.key") && error.to_string().contains("chmod 600"));
}
