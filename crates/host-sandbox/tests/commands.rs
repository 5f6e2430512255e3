//! The `Commands` port on real commands, confined and not.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::CancellationToken;
use host_ports::commands::{CommandCode, Commands as _, OutputRule};
use std::time::{Duration, Instant};
use support::{Agent, alive};

fn both() -> [Agent; 2] {
    [Agent::native(), Agent::off()]
}

// T7-01, EXE-3, EXE-5: the deadline stays active while a background child holds a pipe; what was printed is kept.
#[tokio::test]
async fn a_background_child_cannot_make_a_call_wait() {
    for agent in both() {
        for tail in ["", ">/dev/null"] {
            let marker = agent.marker();
            let mut spec = agent.spec(&["/bin/sh", "-c", &format!("sleep {marker} {tail} & echo hi")]);
            spec.timeout = Duration::from_millis(700);
            let begun = Instant::now();
            let outcome = agent.run(spec).await;
            assert!(begun.elapsed() < Duration::from_secs(3));
            assert_eq!(
                (outcome.code, outcome.stdout.as_str()),
                (CommandCode::Timeout, "hi\n"),
                "{}",
                outcome.message
            );
            assert_eq!(outcome.exit_code, Some(0));
            assert_eq!(alive(&marker), 0);
        }
    }
}

// T7-01: one that holds nothing doesn't keep the call, and is gone when it returns.
#[tokio::test]
async fn a_child_that_let_go_of_the_pipes_is_ended_with_the_call() {
    for agent in both() {
        let marker = agent.marker();
        let script = format!("setsid sleep {marker} >/dev/null 2>&1 </dev/null & echo hi");
        let begun = Instant::now();
        let outcome = agent.sh(&script).await;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (CommandCode::Ok, "hi\n"), "{}", outcome.message);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(alive(&marker), 0);
    }
}

// EXE-5: also those that left the group, ignore SIGTERM, or fork on and on.
#[tokio::test]
async fn a_timeout_leaves_nothing_behind() {
    for agent in both() {
        let marker = agent.marker();
        let script = format!(
            "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep {marker}\" &) ; \
             (while :; do setsid sleep {marker} & sleep 0.01; done) & echo up; sleep {marker}"
        );
        let mut spec = agent.spec(&["/bin/bash", "-c", &script]);
        spec.timeout = Duration::from_millis(500);
        let outcome = agent.run(spec).await;
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (CommandCode::Timeout, "up\n"),
            "{}",
            outcome.message
        );
        assert_eq!(alive(&marker), 0);
    }
}

// EXE-3
#[tokio::test]
async fn a_cancelled_turn_ends_the_command_and_says_so() {
    for agent in both() {
        let marker = agent.marker();
        let cancel = CancellationToken::new();
        let spec = agent.spec(&["/bin/sh", "-c", &format!("echo begun; sleep {marker}")]);
        let running = agent.sandbox().run(spec, cancel.clone());
        let (outcome, ()) = tokio::join!(running, async {
            while alive(&marker) == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            cancel.cancel();
        });
        assert_eq!((outcome.code, outcome.stdout.as_str()), (CommandCode::Aborted, "begun\n"));
        assert_eq!(alive(&marker), 0);
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_ended() {
    for agent in both() {
        let marker = agent.marker();
        let spec = agent.spec(&["/bin/sleep", &marker]);
        let running = agent.sandbox().run(spec, CancellationToken::new());
        let _ = tokio::time::timeout(Duration::from_millis(400), running).await;
        support::wait_gone(&marker).await;
    }
}

// EXE-3: the deadline covers a child that doesn't read.
#[tokio::test]
async fn stdin_is_written_under_the_same_deadline() {
    for agent in both() {
        let mut spec = agent.spec(&["/usr/bin/wc", "-c"]);
        spec.stdin = vec![b'x'; 3_000_000];
        assert_eq!(agent.run(spec).await.stdout.trim(), "3000000");
        let mut spec = agent.spec(&["/bin/sleep", &agent.marker()]);
        spec.stdin = vec![b'x'; 3_000_000];
        spec.timeout = Duration::from_millis(400);
        assert_eq!(agent.run(spec).await.code, CommandCode::Timeout);
        let mut spec = agent.spec(&["/bin/true"]);
        spec.stdin = vec![b'x'; 3_000_000];
        assert_eq!(agent.run(spec).await.code, CommandCode::Ok);
    }
}

// T7-03, EXE-2: gigabytes pass through bounded memory and are counted.
#[tokio::test(flavor = "multi_thread")]
async fn two_gigabytes_do_not_fill_memory() {
    let agent = Agent::native();
    let mut spec = agent.spec(&["/bin/sh", "-c", "yes 0123456789abcdef | head -c 2000000000"]);
    spec.timeout = Duration::from_secs(120);
    let before = resident_kib();
    let running = agent.run(spec);
    // The host answers meanwhile.
    let (outcome, other) = tokio::join!(running, agent.sh("echo alive"));
    assert_eq!(other.stdout, "alive\n");
    assert_eq!((outcome.code, outcome.stdout_bytes), (CommandCode::Ok, 2_000_000_000), "{}", outcome.message);
    assert!(outcome.truncated && outcome.stdout.len() < 20_000);
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB");
}

fn status_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find(|line| line.starts_with(field)).expect("the field");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

fn peak_kib() -> u64 {
    status_kib("VmHWM:")
}

// T7-03
#[tokio::test]
async fn endless_output_ends_by_the_limit_or_the_deadline() {
    let agent = Agent::native();
    let mut spec = agent.spec(&["/usr/bin/yes"]);
    spec.timeout = Duration::from_millis(600);
    let outcome = agent.run(spec).await;
    assert_eq!(outcome.code, CommandCode::Timeout);
    assert!(outcome.stdout_bytes > 1_000_000);
    let mut spec = agent.spec(&["/usr/bin/yes"]);
    spec.output = OutputRule { total_bytes_max: Some(1_000_000), ..OutputRule::default() };
    assert_eq!(agent.run(spec).await.code, CommandCode::OutputLimit);
}

// T7-05, EXE-6
#[tokio::test]
async fn a_character_cut_between_chunks_is_whole_and_a_broken_one_is_replaced_once() {
    let bytes = r"printf '\342'; sleep 0.1; printf '\202\254'; sleep 0.1; printf '\360\237\230'";
    for agent in both() {
        let outcome = agent.sh(&format!("{bytes}; ({bytes}) >&2")).await;
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("€\u{fffd}", "€\u{fffd}"));
        let outcome = agent.sh(r"printf 'a\0b\033[31mc\r\n'").await;
        assert_eq!(outcome.stdout, "a\0b\u{1b}[31mc\r\n");
    }
}

// T7-05: no cut of a preview or of the inline limit falls inside a character.
#[tokio::test]
async fn long_lines_of_wide_characters_are_cut_between_characters() {
    let agent = Agent::native();
    let perl =
        "binmode STDOUT, ':utf8'; print \"\\x{20ac}\" x 1000000, \"\\n\", \"\\x{1f600}\" x 50, \"\\n\"";
    for chars in [None, Some(7), Some(501)] {
        let mut spec = agent.spec(&["/usr/bin/perl", "-e", perl]);
        spec.output = OutputRule {
            inline_bytes_max: 100,
            preview_line_chars_max: 10,
            preview_chars_max: chars,
            ..OutputRule::default()
        };
        let outcome = agent.run(spec).await;
        assert_eq!((outcome.code, outcome.stdout_bytes), (CommandCode::Ok, 3_000_202), "{}", outcome.stderr);
        assert!(outcome.truncated && !outcome.stdout.contains('\u{fffd}'), "{}", outcome.stdout);
        if chars.is_none() {
            let lines: Vec<&str> = outcome.stdout.lines().collect();
            assert_eq!(lines[0], "€€€€€€€€€€… [999990 more characters]");
            assert_eq!(lines[1], "😀😀😀😀😀😀😀😀😀😀… [40 more characters]");
        }
    }
}

// T7-07
#[tokio::test]
async fn a_working_directory_that_is_gone_is_said_and_harms_nothing_else() {
    for agent in both() {
        std::fs::create_dir(agent.workspace().join("d")).expect("made");
        let outcome = agent.sh("cd d; rm -rf ../d; pwd; echo ok").await;
        assert_eq!(outcome.code, CommandCode::Ok);
        let mut spec = agent.spec(&["/bin/sh", "-c", "echo ok"]);
        spec.cwd = Some("d".to_owned());
        let outcome = agent.run(spec).await;
        assert_eq!(outcome.code, CommandCode::WorkdirNotFound);
        let workspace = agent.workspace();
        assert!(
            outcome.message.contains(&format!("commands start in {}", workspace.display())),
            "{}",
            outcome.message
        );
        assert_eq!(agent.sh("pwd").await.stdout.trim(), workspace.display().to_string());
        std::fs::rename(&workspace, agent.folder().join("elsewhere")).expect("moved");
        let outcome = agent.sh("echo ok").await;
        assert_eq!(outcome.code, CommandCode::WorkdirNotFound);
        assert!(outcome.message.contains("the workspace") && outcome.message.contains("make it again"));
        std::fs::rename(agent.folder().join("elsewhere"), &workspace).expect("moved back");
        assert_eq!(agent.sh("echo ok").await.stdout, "ok\n");
    }
}

#[tokio::test]
async fn a_working_directory_outside_the_roots_is_refused_by_what_it_is() {
    let agent = Agent::native();
    std::fs::create_dir(agent.folder().join("workspace-evil")).expect("made");
    std::os::unix::fs::symlink("..", agent.workspace().join("out")).expect("linked");
    for bad in ["/", "..", "../workspace-evil", "out", "out/workspace-evil", "/proc/self/root/etc"] {
        let mut spec = agent.spec(&["/bin/pwd"]);
        spec.cwd = Some(bad.to_owned());
        assert_eq!(agent.run(spec).await.code, CommandCode::WorkdirDenied, "{bad}");
    }
}

// T7-09, EXE-5: code, signal, not started and deadline are four different things, also by the numbers.
#[tokio::test]
async fn exit_codes_signals_and_what_never_began_are_told_apart() {
    use CommandCode::{NonzeroExit, Ok, Signal, SpawnError, Timeout};
    for agent in both() {
        for (script, code, exit, signal) in [
            ("exit 0", Ok, Some(0), None),
            ("exit 1", NonzeroExit, Some(1), None),
            ("exit 126", NonzeroExit, Some(126), None),
            ("exit 127", NonzeroExit, Some(127), None),
            ("exit 137", NonzeroExit, Some(137), None),
            ("exit 139", NonzeroExit, Some(139), None),
            ("kill -SEGV $$", Signal, None, Some(11)),
            ("kill -KILL $$", Signal, None, Some(9)),
            ("kill -TERM $$", Signal, None, Some(15)),
        ] {
            let outcome = agent.sh(&format!("echo before; {script}")).await;
            assert_eq!((outcome.code, outcome.exit_code, outcome.signal), (code, exit, signal), "{script}");
            assert_eq!(outcome.stdout, "before\n");
            assert_eq!(outcome.message.is_empty(), code == Ok);
        }
        let outcome = agent.run(agent.spec(&["no-such-program"])).await;
        assert_eq!((outcome.code, outcome.exit_code, outcome.signal), (SpawnError, None, None));
        let outcome = agent.run(agent.spec(&["/etc/hostname"])).await;
        assert_eq!(outcome.code, SpawnError, "{}", outcome.message);
        let mut spec = agent.spec(&["/bin/sleep", &agent.marker()]);
        spec.timeout = Duration::from_millis(300);
        let outcome = agent.run(spec).await;
        assert_eq!((outcome.code, outcome.exit_code), (Timeout, None));
    }
}

// T7-11, EXE-7, SBX-7
#[tokio::test]
async fn nothing_of_the_hosts_environment_reaches_a_command() {
    // SAFETY: set before any child is started by this test; others don't read it.
    unsafe { std::env::set_var("T_API_KEY", "abc123xyz") };
    for agent in both() {
        let mut spec = agent.spec(&[
            "/bin/bash",
            "-c",
            "env; tr '\\0' ' ' </proc/self/cmdline; for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ | grep -v '^PATH='; done 2>/dev/null | head -c 100000; ps auxwwe 2>/dev/null | head -c 100000",
        ]);
        spec.env.insert("PASSED".to_owned(), "on".to_owned());
        spec.output.inline_bytes_max = 1 << 20;
        let outcome = agent.run(spec).await;
        assert!(outcome.stdout.contains("PASSED=on"), "{}", outcome.stderr);
        let confined = agent.sandbox().policy().mode == host_sandbox::Mode::Native;
        let own: Vec<&str> = outcome.stdout.lines().take(12).collect();
        assert!(!own.iter().any(|line| line.contains("abc123xyz")));
        if confined {
            assert!(!outcome.stdout.contains("abc123xyz"));
        }
        let outcome = agent.sh("env | cut -d= -f1 | sort | tr '\\n' ' '").await;
        assert_eq!(outcome.stdout.trim(), "HOME LANG PATH PWD TERM TMPDIR");
    }
}

#[tokio::test]
async fn broken_requests_are_refused_before_anything_starts() {
    let agent = Agent::native();
    for (argv, code) in [
        (&[][..], CommandCode::InvalidExecutable),
        (&[""][..], CommandCode::InvalidExecutable),
        (&["a\0b"][..], CommandCode::InvalidExecutable),
        (&["a\nb"][..], CommandCode::InvalidExecutable),
        (&["/bin/echo", "a\0b"][..], CommandCode::InvalidArgs),
    ] {
        assert_eq!(agent.run(agent.spec(argv)).await.code, code, "{argv:?}");
    }
}
