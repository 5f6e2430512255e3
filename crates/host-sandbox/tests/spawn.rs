//! The `Spawn` port: long-lived children that never outlive their host.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::spawn::{ChildExit, Confine, Spawn as _, SpawnError, SpawnSpec};
use std::collections::BTreeMap;
use std::time::Duration;
use support::{Agent, alive, wait_gone};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

fn shell(agent: &Agent, script: &str, confine: Confine) -> SpawnSpec {
    SpawnSpec {
        label: "mcp:test".to_owned(),
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: BTreeMap::from([("ONLY".to_owned(), "this".to_owned())]),
        cwd: agent.workspace(),
        confine,
    }
}

fn confined() -> Confine {
    Confine::Sandbox { read: vec![], write: vec![], own: vec![], network: None }
}

// SBX-1, SBX-7
#[tokio::test]
async fn a_child_talks_over_its_pipes_and_has_only_its_own_environment() {
    let agent = Agent::native();
    for confine in [confined(), Confine::Off] {
        let script = "read line; echo \"got $line $ONLY\"; echo oops >&2; env | grep -c HOST_SECRET; exit 7";
        let mut child = agent.sandbox().spawn(shell(&agent, script, confine)).await.expect("started");
        child.stdin.write_all(b"hello\n").await.expect("written");
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.read_to_string(&mut out).await.expect("read");
        child.stderr.read_to_string(&mut err).await.expect("read");
        assert_eq!((out.as_str(), err.as_str()), ("got hello this\n0\n", "oops\n"));
        assert_eq!(child.handle.wait().await, ChildExit::Code(7));
    }
}

// EXE-5
#[tokio::test]
async fn ending_a_child_ends_everything_that_it_started() {
    let agent = Agent::native();
    for confine in [confined(), Confine::Off] {
        let marker = agent.marker();
        let script = format!(
            "setsid sh -c 'exec sleep {marker}' & setsid sleep {marker} & trap '' TERM; echo up; sleep {marker}"
        );
        let mut child =
            agent.sandbox().spawn(shell(&agent, &script, confine.clone())).await.expect("started");
        let mut line = String::new();
        BufReader::new(&mut child.stdout).read_line(&mut line).await.expect("read");
        assert!(alive(&marker) >= 1);
        child.handle.kill(Duration::from_millis(200)).await;
        // They are killed by now; on a machine that is busy the kernel may take a moment to take them away.
        let begun = std::time::Instant::now();
        while alive(&marker) > 0 && begun.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(alive(&marker), 0, "{confine:?}");
        assert!(matches!(child.handle.wait().await, ChildExit::Signal(_) | ChildExit::Code(_)));
    }
}

// MCP-6, CTX-2: a folder of the hidden state that is the child's own is there, and nothing beside it.
#[tokio::test]
async fn a_childs_own_folder_shows_through_the_hidden_state() {
    let agent = Agent::build(
        |_| {},
        |setup| {
            let state = setup.policy.workspace.join(".state");
            std::fs::create_dir_all(state.join("homes/one")).expect("made");
            std::fs::create_dir_all(state.join("homes/two")).expect("made");
            std::fs::write(state.join("secret"), "s3cret").expect("written");
            setup.state = Some(state);
        },
    );
    let home = agent.workspace().join(".state/homes/one");
    let home_of_one = host_ports::spawn::OwnFolder { path: home.clone(), writable: true };
    for own in [vec![], vec![home_of_one]] {
        let is_own = !own.is_empty();
        let confine = Confine::Sandbox { read: vec![], write: vec![], own, network: None };
        let script = "cd .state/homes/one && echo kept > file; cat file; cd ../../..; cat .state/secret; \
                      ls .state .state/homes .state/homes/two; (: > .state/x); true";
        let mut child = agent.sandbox().spawn(shell(&agent, script, confine)).await.expect("started");
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.read_to_string(&mut out).await.expect("read");
        child.stderr.read_to_string(&mut err).await.expect("read");
        assert!(!out.contains("s3cret") && !out.contains("two"), "{out}");
        assert_eq!(out.contains("kept"), is_own, "{out} {err}");
        assert!(!agent.workspace().join(".state/x").exists());
    }
    assert_eq!(std::fs::read_to_string(home.join("file")).expect("kept"), "kept\n");
}

#[tokio::test]
async fn a_polite_child_may_end_by_itself() {
    let agent = Agent::native();
    for confine in [confined(), Confine::Off] {
        let script = "trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done";
        let mut child = agent.sandbox().spawn(shell(&agent, script, confine)).await.expect("started");
        let mut line = String::new();
        BufReader::new(&mut child.stdout).read_line(&mut line).await.expect("read");
        child.handle.kill(Duration::from_secs(5)).await;
        assert_eq!(child.handle.wait().await, ChildExit::Code(3));
    }
}

#[tokio::test]
async fn dropping_a_child_ends_its_tree() {
    let agent = Agent::native();
    for confine in [confined(), Confine::Off] {
        let marker = agent.marker();
        let script = format!("setsid sleep {marker} & sleep {marker}");
        let child = agent.sandbox().spawn(shell(&agent, &script, confine)).await.expect("started");
        drop(child);
        wait_gone(&marker).await;
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told_apart() {
    let agent = Agent::native();
    for confine in [confined(), Confine::Off] {
        let mut spec = shell(&agent, "", confine.clone());
        spec.program = "no-such-program-here".to_owned();
        let error = agent.sandbox().spawn(spec).await.err();
        assert_eq!(error, Some(SpawnError::NotFound("no-such-program-here".to_owned())));
        let mut spec = shell(&agent, "", confine);
        spec.cwd = "/no/such/folder".into();
        assert!(matches!(agent.sandbox().spawn(spec).await.err(), Some(SpawnError::Failed(_))));
    }
}

/// The host of the next test: starts a confined and an unconfined child and waits to be killed.
#[tokio::test]
async fn host_that_will_be_killed() {
    let Ok(marker) = std::env::var("TEST_HOST_MARKER") else { return };
    let agent = Agent::native();
    let script = format!("setsid sleep {marker} & setsid sh -c 'sleep {marker} & wait' & sleep {marker}");
    let _one = agent.sandbox().spawn(shell(&agent, &script, confined())).await.expect("started");
    let _two = agent.sandbox().spawn(shell(&agent, &script, Confine::Off)).await.expect("started");
    println!("\nup");
    tokio::time::sleep(Duration::from_secs(120)).await;
}

// EXE-5: no orphan after the host was killed with no chance to clean up.
#[tokio::test]
async fn children_go_with_a_host_that_is_killed() {
    let agent = Agent::native();
    let marker = agent.marker();
    let mut host = std::process::Command::new(std::env::current_exe().expect("a path"))
        .args(["host_that_will_be_killed", "--exact", "--nocapture"])
        .env("TEST_HOST_MARKER", &marker)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("started");
    for _ in 0..400 {
        if alive(&marker) >= 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert!(alive(&marker) >= 6, "only {} children came up", alive(&marker));
    host.kill().expect("killed");
    host.wait().expect("waited");
    wait_gone(&marker).await;
}

// EXE-5: what forks the children may be ended by anybody; the next child is started all the same.
#[tokio::test]
async fn the_process_that_forks_is_replaced() {
    let agent = Agent::native();
    let forker = |agent: &Agent| {
        let _ = agent;
        let mine = std::process::id();
        let threads = std::fs::read_dir(format!("/proc/{mine}/task")).expect("listed").flatten();
        let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let all = lists.collect::<Vec<_>>().join(" ");
        let is_forker = |pid: &&str| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0forker\0"))
        };
        all.split_whitespace().find(is_forker).and_then(|pid| pid.parse::<i32>().ok())
    };
    assert_eq!(agent.sh("echo one").await.stdout, "one\n");
    let first = forker(&agent).and_then(rustix::process::Pid::from_raw).expect("there is one");
    rustix::process::kill_process(first, rustix::process::Signal::KILL).expect("ended");
    assert_eq!(agent.sh("echo two").await.stdout, "two\n");
    assert_ne!(forker(&agent).and_then(rustix::process::Pid::from_raw), Some(first));
}
