//! Which engine is chosen, what it says of itself, and the generated matrix.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::commands::{CommandCode, Commands as _};
use host_sandbox::{Effective, EngineKind, Fallback, HostList, Limits, Network, SandboxPolicy, matrix};
use support::Agent;

fn landlock(policy: &mut SandboxPolicy) {
    policy.deny_write.clear();
}

// SBX-2, SBX-4
#[tokio::test]
async fn status_and_check_say_what_is_in_effect() {
    let agent = Agent::native();
    let status = agent.sandbox().status().await;
    assert_eq!(
        (status.effective, status.engine),
        (Effective::Native, Some(EngineKind::Bubblewrap)),
        "{status}"
    );
    assert_eq!(status.engines[1].why, None, "{status}");
    let networks = [
        Network::None,
        Network::Localhost,
        Network::All,
        Network::Allowlist(HostList::parse(&["a.test", "localhost"]).expect("valid")),
        Network::Allowlist(HostList::parse(&["a.test"]).expect("valid")),
    ];
    for network in networks {
        let agent = Agent::with(|policy| policy.network = network.clone());
        let report = agent.sandbox().check().await;
        assert!(report.passed && report.rows.len() >= 6, "{network:?}\n{report}");
    }
    let off = Agent::off();
    assert_eq!(off.sandbox().status().await.effective, Effective::Off);
    assert!(off.sandbox().check().await.passed);
}

// SBX-2: no engine enforces the policy, so the command fails and names the rule.
#[tokio::test]
async fn an_engine_that_misses_a_rule_is_not_used() {
    let agent = Agent::on(&[EngineKind::Landlock], |policy| policy.network = Network::Localhost, |_| {});
    let outcome = agent.sh("echo ran").await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (CommandCode::SandboxPrepareFailed, ""));
    assert!(
        outcome.message.contains("network.mode localhost")
            && outcome.message.contains("apt-get install bubblewrap"),
        "{}",
        outcome.message
    );
    assert_eq!(agent.sandbox().status().await.effective, Effective::Blocked);
    assert!(agent.sandbox().blocked().is_some());
    let everywhere = |policy: &mut SandboxPolicy| policy.deny_write = vec!["**/*.key".to_owned()];
    let agent = Agent::on(&[EngineKind::Landlock], everywhere, |_| {});
    let outcome = agent.sh("echo ran").await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (CommandCode::SandboxPrepareFailed, ""));
    assert!(outcome.message.contains("denyWrite") && outcome.message.contains("**"), "{}", outcome.message);
}

// SBX-1: the unsafe fallback runs, and every status says so.
#[tokio::test]
async fn the_unsafe_fallback_is_loud() {
    let agent = Agent::on(
        &[],
        |policy| {
            policy.fallback = Fallback::UnsafeHostProcess;
            policy.unsafe_allow_host_process = true;
        },
        |_| {},
    );
    assert_eq!(agent.sh("echo ran").await.stdout, "ran\n");
    let status = agent.sandbox().status().await;
    assert_eq!(status.effective, Effective::UnsafeHostProcess);
    assert!(status.to_string().contains("UNCONFINED"));
    assert!(!agent.sandbox().check().await.passed);
}

// SBX-2
#[tokio::test]
async fn landlock_confines_files_and_closes_the_network() {
    let agent = Agent::on(&[EngineKind::Landlock], landlock, |_| {});
    let status = agent.sandbox().status().await;
    assert_eq!(status.engine, Some(EngineKind::Landlock), "{status}");
    let report = agent.sandbox().check().await;
    assert!(report.passed, "{report}");
    assert_eq!(agent.sh("echo x > made; cat made; echo t > $TMPDIR/t; cat $TMPDIR/t").await.stdout, "x\nt\n");
}

// SBX-1, SBX-2, QUA-4: denyWrite under an engine that can only allow: existing entries are granted one by one, and
// no way of writing, replacing or making a protected name is left.
#[tokio::test]
async fn landlock_keeps_protected_names_by_granting_around_them() {
    let agent = Agent::on(&[EngineKind::Landlock], |_| {}, |_| {});
    let workspace = agent.workspace();
    for folder in [".git/hooks", ".git/objects", "src"] {
        std::fs::create_dir_all(workspace.join(folder)).expect("made");
    }
    for file in [".env", ".env.local", ".git/config", ".git/HEAD", ".git/hooks/pre-commit", "README", "src/a"]
    {
        std::fs::write(workspace.join(file), "old\n").expect("written");
    }
    std::fs::hard_link(workspace.join(".env"), workspace.join("other-name")).expect("linked");
    std::os::unix::fs::symlink(".env", workspace.join("link")).expect("linked");
    let status = agent.sandbox().status().await;
    assert_eq!(status.engine, Some(EngineKind::Landlock), "{status}");
    let outcome = agent
        .sh(
            "echo new > README && echo new > src/a && echo new > src/b && mkdir src/d && mv src/b src/d/c && \
             echo new > .git/objects/o && echo new > .git/HEAD && cat .env && rm -r src/d && echo done",
        )
        .await;
    assert_eq!(outcome.stdout, "old\ndone\n", "{}", outcome.stderr);
    for attack in [
        "echo new >> .env",
        "echo new > link",
        "echo new > other-name",
        "rm -f .env",
        "mv .env src/e",
        "mv src/a .env",
        "ln .env src/e && echo new > src/e",
        "cp src/a .env.production",
        "mv .env .env.old; echo new > .env",
        "echo new > .git/hooks/pre-commit",
        "echo new > .git/hooks/post-commit",
        "echo new > .git/config",
        "mv .git g; mkdir .git; echo new > .git/config",
        "rm -rf .git",
        "ln -sf ../src .git/hooks",
        "truncate -s 0 .env",
        "echo new > made-at-the-top",
        "cd src && ln ../.git/config c && echo new > c",
    ] {
        let outcome = agent.sh(&format!("({attack}) 2>&1 1>/dev/null; false")).await;
        assert_eq!(outcome.code, CommandCode::NonzeroExit, "{attack}: {}", outcome.message);
        for file in [".env", ".env.local", ".git/config", ".git/hooks/pre-commit"] {
            let text = std::fs::read_to_string(workspace.join(file));
            assert_eq!(text.ok().as_deref(), Some("old\n"), "{attack}: {file}");
        }
        for file in [".env.production", ".git/hooks/post-commit", "made-at-the-top"] {
            assert!(!workspace.join(file).exists(), "{attack}: {file}");
        }
    }
    let outcome = agent.sh("echo new > made-at-the-top").await;
    assert!(
        outcome.message.contains("denyWrite") && outcome.message.contains("bubblewrap"),
        "{}",
        outcome.message
    );
    assert!(outcome.message.contains(&workspace.display().to_string()), "{}", outcome.message);
    let report = agent.sandbox().check().await;
    assert!(report.passed, "{report}");
}

// SBX-2: bounds.
#[tokio::test]
async fn memory_processes_files_and_time_are_bounded() {
    for engine in [EngineKind::Bubblewrap, EngineKind::Landlock] {
        let with = |limits: Limits| {
            Agent::on(
                &[engine],
                |policy| {
                    landlock(policy);
                    policy.limits = limits;
                },
                |_| {},
            )
        };
        let agent = with(Limits { pids_max: Some(20), ..Limits::NONE });
        let outcome = agent.bash("for i in $(seq 200); do sleep 20 & done; wait").await;
        assert_eq!(outcome.code, CommandCode::Signal, "{engine:?} {}", outcome.message);
        assert!(outcome.message.contains("processes"), "{}", outcome.message);
        let agent = with(Limits { memory_bytes_max: Some(64 << 20), ..Limits::NONE });
        let outcome = agent
            .run(agent.spec(&["/usr/bin/perl", "-e", "$x = 'a' x 300_000_000; sleep 5; print 'had it'"]))
            .await;
        assert!(
            outcome.code != CommandCode::Ok && outcome.stdout.is_empty(),
            "{engine:?} {}",
            outcome.message
        );
        // Many small ones, each under the bound.
        let each = "perl -e '$x = q(a) x 30_000_000; sleep 20' & ";
        let outcome = agent.sh(&format!("{} wait", each.repeat(6))).await;
        assert!(outcome.message.contains("memory"), "{engine:?} {:?} {}", outcome.code, outcome.message);
        let agent = with(Limits { file_bytes_max: Some(1 << 20), ..Limits::NONE });
        assert_ne!(agent.sh("head -c 2000000 /dev/zero > big").await.code, CommandCode::Ok, "{engine:?}");
        let agent = with(Limits { cpu_seconds_max: Some(1), ..Limits::NONE });
        assert_ne!(agent.sh("while :; do :; done").await.code, CommandCode::Ok, "{engine:?}");
    }
}

// SBX-2: a child under Landlock finds nothing of the last one, though it has the same private folder, and a root
// that was swapped for another folder is not granted by what was granted before.
#[tokio::test]
async fn a_private_folder_is_empty_for_the_next_child() {
    let agent = Agent::on(&[EngineKind::Landlock], landlock, |_| {});
    let left = agent
        .sh("echo left > $TMPDIR/f && mkdir -p $HOME/d/e && ln -s / $HOME/l && chmod 000 $HOME/d && chmod 755 $TMPDIR && echo done")
        .await;
    assert_eq!(left.stdout, "done\n", "{}", left.stderr);
    let next = agent.sh("ls -A $TMPDIR; stat -c %a $TMPDIR; echo mine > $TMPDIR/f && cat $TMPDIR/f").await;
    assert_eq!(next.stdout, "700\nmine\n", "{}", next.stderr);
    let (workspace, other) = (agent.workspace(), agent.folder().join("old-workspace"));
    std::fs::rename(&workspace, &other).expect("moved");
    std::fs::create_dir(&workspace).expect("made");
    let outcome = agent.sh("echo x > made && cat made").await;
    assert_eq!(outcome.stdout, "x\n", "{} {}", outcome.message, outcome.stderr);
    assert!(!other.join("made").exists());
    let both = tokio::join!(
        agent.sh("echo a > $TMPDIR/g; sleep 0.3; cat $TMPDIR/g"),
        agent.sh("echo b > $TMPDIR/g; sleep 0.3; cat $TMPDIR/g")
    );
    assert_eq!((both.0.stdout.as_str(), both.1.stdout.as_str()), ("a\n", "b\n"));
}

// SBX-2: docs/sandbox.md holds the matrix that the code gives.
#[test]
fn the_matrix_in_the_docs_is_the_codes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md");
    let (begin, end) = ("<!-- matrix: generated -->\n", "<!-- matrix: end -->");
    let text = std::fs::read_to_string(path).expect("docs/sandbox.md");
    let (head, rest) = text.split_once(begin).expect("the marker");
    let (_, tail) = rest.split_once(end).expect("the end marker");
    let wanted = format!("{head}{begin}\n{}\n{end}{tail}", matrix());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).expect("written");
    } else {
        assert_eq!(text, wanted, "run the test with UPDATE_DOCS=1");
    }
}
