//! `denyWrite` on real commands.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::commands::CommandCode;
use support::Agent;

fn quarantined(agent: &Agent) -> Vec<String> {
    fn walk(folder: &std::path::Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), out);
            } else {
                out.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    let mut out = Vec::new();
    walk(&agent.folder().join("state/sandbox/quarantine"), &mut out);
    out.sort();
    out
}

// SBX-1: what exists is read-only, by every way of writing.
#[tokio::test]
async fn existing_names_are_read_only() {
    let agent = Agent::native();
    let ws = agent.workspace();
    std::fs::write(ws.join(".env"), "A=1\n").expect("written");
    std::fs::create_dir_all(ws.join(".git/hooks")).expect("made");
    std::fs::write(ws.join(".git/config"), "[core]\n").expect("written");
    for attempt in [
        "echo B=2 >> .env",
        "rm -f .env; ls .env && false",
        "mv .env x",
        "ln .env hard && echo B=2 >> hard",
        "echo x > .git/hooks/pre-commit",
        "cp /bin/true .git/hooks/pre-push",
        "sed -i s/core/evil/ .git/config",
        "rm -rf .git",
        "chmod 777 .env",
        "truncate -s 0 .env",
        "ln -s /tmp/x .git/hooks/post-merge",
    ] {
        let outcome = agent.sh(attempt).await;
        assert_ne!(outcome.code, CommandCode::Ok, "{attempt}: {}", outcome.stdout);
    }
    assert_eq!(std::fs::read_to_string(ws.join(".env")).expect("read"), "A=1\n");
    assert_eq!(std::fs::read_to_string(ws.join(".git/config")).expect("read"), "[core]\n");
    assert_eq!(std::fs::read_dir(ws.join(".git/hooks")).expect("listed").count(), 0);
    assert_eq!(agent.sh("cat .env; echo fine > other; cat other").await.stdout, "A=1\nfine\n");
}

// SBX-1: a plain name that is missing can't be made, and its placeholder is gone afterwards.
#[tokio::test]
async fn a_missing_name_cannot_be_made_and_leaves_no_trace() {
    let agent = Agent::native();
    let outcome = agent.sh("echo A=1 > .env").await;
    assert_eq!(outcome.code, CommandCode::NonzeroExit, "{}", outcome.message);
    assert!(!agent.workspace().join(".env").exists());
    assert!(quarantined(&agent).is_empty());
}

// SBX-1: a new match of a pattern is moved away and the call fails.
#[tokio::test]
async fn a_new_match_goes_to_quarantine_and_the_call_fails() {
    let agent = Agent::native();
    let outcome = agent.sh("echo A=1 > .env.local; echo done").await;
    assert_eq!((outcome.code, outcome.exit_code), (CommandCode::DeniedWrite, Some(0)));
    assert!(
        outcome.message.contains(".env.local") && outcome.message.contains("quarantine"),
        "{}",
        outcome.message
    );
    assert_eq!(outcome.stdout, "done\n");
    assert!(!agent.workspace().join(".env.local").exists());
    assert_eq!(quarantined(&agent), [".env.local"]);
    assert_eq!(agent.sh("echo ok").await.code, CommandCode::Ok);
    // A whole new tree with protected names in it.
    let outcome =
        agent.sh("mkdir -p .git/hooks && echo x > .git/config && echo y > .git/hooks/pre-commit").await;
    assert_eq!(outcome.code, CommandCode::DeniedWrite);
    assert!(!agent.workspace().join(".git/config").exists());
    assert!(!agent.workspace().join(".git/hooks/pre-commit").exists());
    assert_eq!(quarantined(&agent), [".env.local", "config", "pre-commit"]);
}

// SBX-1: moving the folder of a protected name away is noticed.
#[tokio::test]
async fn a_protected_name_cannot_be_swapped_with_its_folder() {
    let agent = Agent::native();
    let ws = agent.workspace();
    std::fs::create_dir_all(ws.join(".git")).expect("made");
    std::fs::write(ws.join(".git/config"), "[core]\n").expect("written");
    let outcome = agent.sh("mv .git .old && mkdir .git && echo evil > .git/config").await;
    if outcome.exit_code == Some(0) {
        assert_eq!(outcome.code, CommandCode::DeniedWrite, "{}", outcome.message);
    }
    assert_ne!(std::fs::read_to_string(ws.join(".git/config")).unwrap_or_default(), "evil\n");
}

// SBX-1: another name of the same file is noticed too.
#[tokio::test]
async fn a_second_name_of_a_protected_file_is_noticed() {
    let agent = Agent::native();
    let ws = agent.workspace();
    std::fs::write(ws.join(".env"), "A=1\n").expect("written");
    std::fs::hard_link(ws.join(".env"), ws.join("alias")).expect("linked");
    let outcome = agent.sh("sleep 0.02; echo B=2 >> alias").await;
    assert_eq!(outcome.code, CommandCode::DeniedWrite, "{}", outcome.message);
    assert!(outcome.message.contains("another name"));
}

#[tokio::test]
async fn two_calls_at_once_share_a_placeholder() {
    let agent = Agent::native();
    let (long, short) = tokio::join!(agent.sh("sleep 0.5; echo A > .env"), agent.sh("echo ok"));
    assert_eq!(short.code, CommandCode::Ok, "{}", short.message);
    assert_eq!(long.code, CommandCode::NonzeroExit, "{}", long.message);
    assert!(!agent.workspace().join(".env").exists());
}
