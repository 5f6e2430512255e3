//! A host that runs as root: who its children are, and that they can work in a workspace whoever owns it.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::commands::CommandCode;
use host_sandbox::{EngineKind, Network};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use support::Agent;

const NOBODY: u32 = 65534;

fn we_are_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// An agent whose workspace is somebody else's, below a folder that only root may pass.
fn owned_by_nobody(engine: EngineKind, network: Network) -> Agent {
    Agent::on(
        &[engine],
        |policy| {
            policy.network = network;
            if engine == EngineKind::Landlock {
                policy.deny_write.clear();
            }
        },
        |setup| {
            chown(&setup.policy.workspace, Some(NOBODY), Some(NOBODY)).expect("given");
            let folder = setup.policy.workspace.parent().expect("a folder");
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).expect("set");
            let tools = setup.policy.workspace.with_file_name("tools");
            std::fs::create_dir(&tools).expect("made");
            let tool = tools.join("my-tool");
            std::fs::write(&tool, "#!/bin/sh\necho my tool\n").expect("written");
            std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("set");
            setup.environment.path = format!("{}:/usr/bin:/bin", tools.display());
        },
    )
}

/// What a process says of its rights.
const RIGHTS: &str = "id -u; id -g; grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t'";

// SBX-2: the child is the workspace's owner, without any capability; what it makes is the owner's.
#[tokio::test]
async fn a_child_is_the_owner_of_the_workspace() {
    if !we_are_root() {
        return;
    }
    let agent = owned_by_nobody(EngineKind::Bubblewrap, Network::None);
    let outcome = agent.sh(RIGHTS).await;
    assert_eq!(
        outcome.stdout, "65534\n65534\nCapPrm:0000000000000000\nCapEff:0000000000000000\nNoNewPrivs:1\n",
        "{}",
        outcome.message
    );
    let outcome = agent
        .sh("echo a > f && mkdir d && echo b > d/f && echo t > /tmp/t && echo h > ~/h && echo s > /dev/shm/s \
             && cat f d/f /tmp/t ~/h /dev/shm/s && my-tool; cat ../secret /root/.bashrc 2>/dev/null; ls ..; id -G")
        .await;
    assert_eq!(outcome.stdout, "a\nb\nt\nh\ns\nmy tool\ntools\nworkspace\n65534\n", "{}", outcome.stderr);
    for made in ["f", "d", "d/f"] {
        let about = std::fs::metadata(agent.workspace().join(made)).expect("there");
        assert_eq!((about.uid(), about.gid()), (NOBODY, NOBODY), "{made}");
    }
    let owner = std::fs::metadata(agent.workspace()).expect("there").uid();
    assert_eq!(owner, NOBODY, "the host changed an owner");
    let status = agent.sandbox().status().await;
    assert!(status.identity.contains("user 65534") && status.identity.contains("owns"), "{status}");
    let report = agent.sandbox().check().await;
    assert!(report.passed, "{report}");
}

// SBX-1, QUA-4: what holds for a mapped root holds for an owner too.
#[tokio::test]
async fn an_owner_is_held_as_anybody_is() {
    if !we_are_root() {
        return;
    }
    let agent = owned_by_nobody(EngineKind::Bubblewrap, Network::None);
    let outcome = agent.sh("cat .env && echo A=1 > .env").await;
    assert_eq!(outcome.code, CommandCode::NonzeroExit, "{}", outcome.message);
    assert!(outcome.stderr.contains("Read-only") && !agent.workspace().join(".env").exists());
    let outcome = agent.sh("echo A=1 > .env.local").await;
    assert_eq!(outcome.code, CommandCode::DeniedWrite, "{}", outcome.message);
    assert!(!agent.workspace().join(".env.local").exists());
    let script = "(unshare -Ur true; unshare -m true; mount -t tmpfs x /tmp; kill -9 1; chown 0 f; \
                  echo x > /proc/sys/kernel/core_pattern; echo 1 > /proc/sysrq-trigger; \
                  setpriv --reuid=0 true) 2>/dev/null && echo got out; su -c id 2>/dev/null; echo end";
    let outcome = agent.bash(script).await;
    assert_eq!(outcome.stdout, "end\n", "{}", outcome.message);
    // Root's files are closed to it, where a root is readable for root alone.
    let private = agent.workspace().join("roots-own");
    std::fs::write(&private, "the-secret").expect("written");
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600)).expect("set");
    assert!(!agent.sh("cat roots-own; true").await.stdout.contains("the-secret"));
}

// EXE-3: a tree of another user is ended like any other.
#[tokio::test]
async fn an_owners_tree_is_ended() {
    if !we_are_root() {
        return;
    }
    for engine in [EngineKind::Bubblewrap, EngineKind::Landlock] {
        let agent = owned_by_nobody(engine, Network::None);
        std::fs::set_permissions(agent.folder(), std::fs::Permissions::from_mode(0o711)).expect("set");
        let marker = agent.marker();
        let mut spec = agent.spec(&["/bin/sh", "-c", &format!("setsid sleep {marker} & sleep {marker}")]);
        spec.timeout = std::time::Duration::from_millis(700);
        let outcome = agent.run(spec).await;
        assert_eq!(outcome.code, CommandCode::Timeout, "{engine:?} {}", outcome.message);
        support::wait_gone(&marker).await;
    }
}

// SBX-3: the proxy answers a child of another user.
#[tokio::test]
async fn the_proxy_is_there_for_an_owner() {
    if !we_are_root() {
        return;
    }
    let agent = owned_by_nobody(EngineKind::Bubblewrap, Network::Localhost);
    let report = agent.sandbox().check().await;
    assert!(report.passed, "{report}");
}

// SBX-2: a workspace of root's own: root alone, mapped, without any capability.
#[tokio::test]
async fn a_workspace_of_root_is_worked_in_by_a_powerless_root() {
    if !we_are_root() {
        return;
    }
    for (engine, word) in [(EngineKind::Bubblewrap, "mapped alone"), (EngineKind::Landlock, "root")] {
        let agent = Agent::on(
            &[engine],
            |policy| {
                if engine == EngineKind::Landlock {
                    policy.deny_write.clear();
                }
            },
            |_| {},
        );
        let rights = if engine == EngineKind::Landlock {
            // Processes' folders are closed there.
            "id -u; mknod n b 8 0; chown 1 . ; ls -n -d . | cut -d' ' -f3; echo x > f; cat f"
        } else {
            "id -u; grep CapEff /proc/self/status | grep -c 0000000000000000; echo x > f; cat f"
        };
        let outcome = agent.bash(rights).await;
        let right = if engine == EngineKind::Landlock { "0\n0\nx\n" } else { "0\n1\nx\n" };
        assert_eq!(outcome.stdout, right, "{engine:?} {}", outcome.stderr);
        let status = agent.sandbox().status().await;
        assert!(status.identity.contains(word) && status.identity.contains("without any cap"), "{status}");
    }
}

// SBX-2: Landlock has no view of its own, so an owner who can't get there is told so, and one who can works.
#[tokio::test]
async fn landlock_says_where_an_owner_cannot_go() {
    if !we_are_root() {
        return;
    }
    let agent = owned_by_nobody(EngineKind::Landlock, Network::None);
    let outcome = agent.sh("echo ran").await;
    assert_eq!(outcome.code, CommandCode::SandboxPrepareFailed);
    let folder = agent.folder();
    assert!(outcome.message.contains("user 65534") && outcome.message.contains(&shown(&folder)));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o711)).expect("set");
    let outcome =
        agent.sh("id -u; echo x > f; cat f; echo t > $TMPDIR/t; cat $TMPDIR/t; cat ../secret").await;
    assert_eq!(outcome.stdout, "65534\nx\nt\n", "{} {}", outcome.message, outcome.stderr);
    let report = agent.sandbox().check().await;
    assert!(report.passed, "{report}");
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
