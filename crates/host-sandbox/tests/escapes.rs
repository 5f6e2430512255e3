//! QUA-4: known ways out of a sandbox, on each engine: none works, or the engine had said that it doesn't enforce
//! the rule.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_ports::commands::CommandCode;
use host_sandbox::{EngineKind, HostList, Network};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::time::Duration;
use support::Agent;

const ENGINES: [EngineKind; 2] = [EngineKind::Bubblewrap, EngineKind::Landlock];

/// An engine, and whether the workspace belongs to another user than the host's, which only root can arrange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    engine: EngineKind,
    owner: bool,
}

fn cases() -> Vec<Case> {
    let root = rustix::process::geteuid().is_root();
    let owners = if root { &[false, true][..] } else { &[false] };
    let all = |&owner: &bool| ENGINES.map(|engine| Case { engine, owner });
    owners.iter().flat_map(all).collect()
}

impl Case {
    fn agent(self, network: Network) -> Agent {
        Agent::on(
            &[self.engine],
            |policy| {
                policy.network = network;
                if self.engine == EngineKind::Landlock {
                    policy.deny_write.clear();
                }
            },
            |setup| {
                if self.owner {
                    use std::os::unix::fs::PermissionsExt as _;
                    let workspace = &setup.policy.workspace;
                    let folder = workspace.parent().expect("a folder");
                    std::os::unix::fs::chown(workspace, Some(65534), Some(65534)).expect("given");
                    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711)).expect("set");
                }
            },
        )
    }
}

fn agent(case: Case) -> Agent {
    case.agent(Network::None)
}

/// Runs scripts that try to read the secret; each prints it where it got out.
async fn none_reads_the_secret(scripts: &[&str]) {
    for engine in cases() {
        let agent = agent(engine);
        let folder = agent.folder();
        for script in scripts {
            let script = script.replace("SECRET", &folder.join("secret").display().to_string());
            let outcome = agent.bash(&format!("({script}) 2>&1; true")).await;
            assert!(!outcome.stdout.contains("the-secret"), "{engine:?}: {script}\n{}", outcome.stdout);
            assert_eq!(outcome.code, CommandCode::Ok, "{engine:?}: {script}\n{}", outcome.message);
        }
    }
}

// QUA-4: by path, link, descriptor and somebody else's root.
#[tokio::test]
async fn a_secret_outside_is_not_read() {
    none_reads_the_secret(&[
        "cat SECRET",
        "cat ../secret",
        "ln -s SECRET l; cat l",
        "ln SECRET h; cat h",
        "ln -s .. up; cat up/secret",
        "cat /proc/self/root/SECRET",
        "cat /proc/1/root/SECRET",
        "for p in /proc/[0-9]*; do cat $p/root/SECRET $p/cwd/../secret; done",
        "for f in /proc/self/fd/*; do cat $f/secret $f/../secret; done",
        "for f in /proc/[0-9]*/fd/*; do timeout 1 head -c 100 $f </dev/null; done",
        "mkdir m; mount --bind .. m; cat m/secret",
        "unshare -Urm sh -c 'mkdir m; mount --bind .. m; cat m/secret'",
        "unshare -r cat SECRET",
        "chroot /proc/1/root cat SECRET",
        "nsenter -t 1 -m cat SECRET",
        "perl -e 'chroot(\"..\"); for (1..20) { chdir \"..\" } print `cat SECRET`'",
        "LD_PRELOAD=SECRET cat SECRET",
        "tar cf - -C .. secret | tar xOf -",
        "cp SECRET here; cat here",
        "mv SECRET here; cat here",
        "dd if=SECRET",
        "bash -c 'exec 9<SECRET; cat <&9'",
    ])
    .await;
}

// QUA-4: inherited descriptors.
#[tokio::test]
async fn no_descriptor_of_the_host_reaches_a_child() {
    for engine in cases() {
        let agent = agent(engine);
        // One that anybody who forks carelessly would hand down.
        let secret = std::fs::File::open(agent.folder().join("secret")).expect("opened");
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).expect("set");
        let perl = "for (3 .. 1020) { if (open(my $f, '<&=', $_)) { print \"$_\\n\" } }";
        let outcome = agent.run(agent.spec(&["/usr/bin/perl", "-e", perl])).await;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (CommandCode::Ok, ""), "{engine:?}");
    }
}

// QUA-4: writes outside.
#[tokio::test]
async fn nothing_outside_is_written() {
    for engine in cases() {
        let agent = agent(engine);
        let folder = agent.folder();
        std::fs::create_dir(folder.join("workspace-evil")).expect("made");
        let secret = folder.join("secret").display().to_string();
        for script in [
            "echo evil > SECRET",
            "echo evil > ../outside",
            "echo evil > ../workspace-evil/x",
            "ln -s ../workspace-evil d; echo evil > d/x",
            "ln -s ../dangling l; echo evil > l",
            "rm -f SECRET",
            "mv SECRET gone",
            "chmod 777 SECRET; chown 1:1 SECRET; touch SECRET",
            "mkdir a; mv a ../a",
            "truncate -s 0 SECRET",
            "mknod dev b 8 0 && cat dev",
            "echo evil > /etc/evil; echo evil > /usr/evil; echo evil > /usr/bin/evil",
        ] {
            let script = script.replace("SECRET", &secret);
            let outcome = agent.bash(&format!("({script}) 2>&1; true")).await;
            assert_eq!(outcome.code, CommandCode::Ok, "{}", outcome.message);
            assert_eq!(
                std::fs::read_to_string(&secret).expect("kept"),
                "the-secret\n",
                "{engine:?}: {script}"
            );
        }
        for made in ["outside", "dangling", "workspace-evil/x", "a"] {
            assert!(!folder.join(made).exists(), "{engine:?}: {made}");
        }
        assert!(
            !std::path::Path::new("/etc/evil").exists() && !std::path::Path::new("/usr/bin/evil").exists()
        );
    }
}

// QUA-4: the machine's own switches, also for a host that runs as root. Opened, never written.
#[tokio::test]
async fn the_machines_switches_cannot_be_opened_for_writing() {
    let perl = "for my $p (qw(/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger \
                /proc/sys/net/ipv4/ip_forward /proc/mtrr /proc/kcore /proc/self/oom_score_adj_x /sys/power/state \
                /dev/mem /dev/kmsg /dev/sda /dev/vda /proc/irq/default_smp_affinity)) \
                { if (sysopen(my $f, $p, 1)) { print \"$p\\n\" } }";
    for engine in cases() {
        let agent = agent(engine);
        let outcome = agent.run(agent.spec(&["/usr/bin/perl", "-e", perl])).await;
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (CommandCode::Ok, ""),
            "{engine:?} {}",
            outcome.stderr
        );
    }
}

// QUA-4: system calls that widen what a process can do.
#[tokio::test]
async fn dangerous_system_calls_are_refused() {
    // number, arguments, name (x86-64)
    let calls = "101:0:ptrace 272:268435456:unshare_user 272:131072:unshare_mount 165:0:mount 161:0:chroot \
                 321:0:bpf 298:0:perf 425:8:io_uring 435:0:clone3 250:0:keyctl 310:1:vm_readv 308:0:setns \
                 175:0:module 246:0:kexec 169:0:reboot 304:0:by_handle 41:17:packet 41:40:vsock 41:38:alg \
                 1073741863:0:x32_getpid 323:1:userfaultfd 438:0:pidfd_getfd";
    let perl = format!(
        "for my $call (split ' ', '{calls}') {{ my ($number, $first, $name) = split ':', $call; \
         my $result = syscall($number + 0, $first + 0, 0, 0, 0, 0); my $errno = $! + 0; \
         print \"$name \", $result == -1 ? $errno : 'worked', \"\\n\" }}"
    );
    if std::env::consts::ARCH != "x86_64" {
        return;
    }
    for engine in cases() {
        let agent = agent(engine);
        let outcome = agent.run(agent.spec(&["/usr/bin/perl", "-e", &perl])).await;
        assert_eq!(outcome.code, CommandCode::Ok, "{}", outcome.stderr);
        assert_eq!(outcome.stdout.lines().count(), 22, "{}", outcome.stdout);
        for line in outcome.stdout.lines() {
            // EPERM, ENOSYS; Landlock's own filter knows no sockets at all.
            assert!(line.ends_with(" 1") || line.ends_with(" 38"), "{engine:?} {line}");
        }
    }
}

// QUA-4: other processes can't be seen, signalled, traced or read.
#[tokio::test]
async fn other_processes_are_out_of_reach() {
    for engine in cases() {
        let agent = agent(engine);
        let mut other = std::process::Command::new("/bin/sleep")
            .arg(agent.marker())
            .env("OTHERS_SECRET", "the-secret")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        let (pid, host) = (other.id(), std::process::id());
        let script = format!(
            "for p in {pid} {host}; do cat /proc/$p/environ /proc/$p/maps /proc/$p/mem | head -c 100; \
             ls /proc/$p/fd /proc/$p/root/; kill -0 $p && echo signalled; kill -TERM $p && echo ended; done 2>/dev/null; echo end"
        );
        let outcome = agent.bash(&script).await;
        let survived = other.try_wait().expect("asked").is_none();
        other.kill().expect("killed");
        other.wait().expect("waited");
        assert_eq!(outcome.stdout, "end\n", "{engine:?}");
        assert!(survived, "{engine:?}: it was ended");
    }
}

// QUA-4, SBX-3: TCP, UDP, DNS, local sockets by path and by abstract name.
#[tokio::test]
async fn nothing_leaves_over_any_kind_of_socket() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    udp.set_nonblocking(true).expect("set");
    tcp.set_nonblocking(true).expect("set");
    let (tcp_port, udp_port) = (tcp.local_addr().expect("it").port(), udp.local_addr().expect("it").port());
    for engine in cases() {
        let agent = agent(engine);
        let socket = agent.folder().join("service.sock");
        let service = UnixListener::bind(&socket).expect("bound");
        service.set_nonblocking(true).expect("set");
        let name = format!("mono-agent-test-{}-{:?}-{}", std::process::id(), engine.engine, engine.owner);
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
                name.as_bytes(),
            )
            .expect("a name");
        let hidden = UnixListener::bind_addr(&address).expect("bound");
        hidden.set_nonblocking(true).expect("set");
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{tcp_port} && echo tcp; echo leak >/dev/udp/127.0.0.1/{udp_port}; \
             echo leak >/dev/udp/8.8.8.8/53 && echo dns; \
             perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"{}\") and print \"path\\n\"; \
             IO::Socket::UNIX->new(Peer => \"\\0{name}\") and print \"abstract\\n\"'; echo end",
            socket.display()
        );
        let outcome = agent.bash(&format!("({script}) 2>/dev/null")).await;
        assert!(tcp.accept().is_err() && service.accept().is_err() && hidden.accept().is_err(), "{engine:?}");
        assert!(udp.recv(&mut [0; 16]).is_err(), "{engine:?}: a datagram came");
        assert!(
            !outcome.stdout.contains("tcp") && !outcome.stdout.contains("path"),
            "{engine:?} {}",
            outcome.stdout
        );
        assert!(!outcome.stdout.contains("abstract"), "{engine:?} {}", outcome.stdout);
    }
}

// QUA-4: with the host's network shared, its local sockets still are not.
#[tokio::test]
async fn an_open_network_does_not_open_local_sockets() {
    for engine in cases() {
        let agent = engine.agent(Network::All);
        let name = format!("mono-agent-open-{}-{:?}-{}", std::process::id(), engine.engine, engine.owner);
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
                name.as_bytes(),
            )
            .expect("a name");
        let hidden = UnixListener::bind_addr(&address).expect("bound");
        hidden.set_nonblocking(true).expect("set");
        let script = format!(
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"\\0{name}\") and print \"abstract\\n\"'; echo end"
        );
        let outcome = agent.bash(&script).await;
        assert_eq!(outcome.stdout, "end\n", "{engine:?}");
        assert!(hidden.accept().is_err());
    }
}

fn serve_once(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("it").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(8).flatten() {
            let mut stream = stream;
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let _ = stream.read(&mut [0; 2048]);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all(format!("{head}{answer}").as_bytes());
        }
    });
    port
}

/// Keeps decisions.
#[derive(Default)]
struct Seen(std::sync::Mutex<Vec<(String, bool)>>);
impl host_sandbox::EgressLog for Seen {
    fn decided(&self, decision: &host_sandbox::EgressDecision) {
        self.0.lock().expect("free").push((decision.host.clone(), decision.allowed));
    }
}

// SBX-3: listed hosts are reached through the proxy, by HTTP, CONNECT and SOCKS5; others are not, and all is told.
#[tokio::test]
async fn the_proxy_is_the_only_way_out_and_checks_names() {
    let port = serve_once("hello");
    let seen = std::sync::Arc::new(Seen::default());
    let log = std::sync::Arc::clone(&seen);
    let agent = Agent::build(
        |policy| {
            policy.network =
                Network::Allowlist(HostList::parse(&["localhost", "*.nowhere.invalid"]).expect("valid"))
        },
        |setup| setup.egress = log,
    );
    let curl = |options: &str, host: &str| format!("curl -sS -m 10 {options} http://{host}:{port}/ 2>&1");
    let reached = [curl("", "localhost"), curl("-p", "localhost"), curl("--proxy $ALL_PROXY", "localhost")];
    for script in reached {
        assert_eq!(agent.bash(&script).await.stdout, "hello", "{script}");
    }
    for (options, host) in [
        ("", "127.0.0.1"),
        ("-p", "127.0.0.1"),
        ("--proxy $ALL_PROXY", "127.0.0.1"),
        ("", "example.com"),
        ("-p", "169.254.169.254"),
        ("-H 'Host: localhost'", "127.0.0.1"),
        ("--noproxy '*'", "localhost"),
        ("--noproxy '*'", "127.0.0.1"),
    ] {
        let outcome = agent.bash(&curl(options, host)).await;
        assert_ne!(outcome.stdout, "hello", "{options} {host}");
    }
    let seen = seen.0.lock().expect("free");
    assert!(
        seen.contains(&("localhost".to_owned(), true)) && seen.contains(&("127.0.0.1".to_owned(), false))
    );
    assert!(seen.contains(&("example.com".to_owned(), false)));
}

// SBX-1: the host's own state is hidden where it lies inside a root.
#[tokio::test]
async fn the_hosts_state_inside_a_root_is_hidden() {
    let agent = Agent::build(
        |_| {},
        |setup| {
            let state = setup.policy.workspace.join(".state");
            std::fs::create_dir(&state).expect("made");
            std::fs::write(state.join("log"), "the-secret").expect("written");
            setup.state = Some(state);
        },
    );
    let outcome = agent
        .bash("(ls -a .state; cat .state/log; echo x > .state/log; mv .state s; rm -rf .state) 2>&1; true")
        .await;
    assert!(!outcome.stdout.contains("the-secret"), "{}", outcome.stdout);
    let log = agent.workspace().join(".state/log");
    assert_eq!(std::fs::read_to_string(log).expect("kept"), "the-secret");
}

// QUA-4: a hostile child that races with the checks of working directories and protected names.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_with_links_does_not_get_out() {
    let agent = agent(Case { engine: EngineKind::Bubblewrap, owner: false });
    let race = "mkdir -p d; for i in $(seq 300); do mv d x; ln -s .. d; rm d; mv x d; done 2>/dev/null; true";
    let racing = agent.bash(race);
    let probing = async {
        for _ in 0..15 {
            let mut spec = agent.spec(&["/bin/sh", "-c", "cat secret ../secret"]);
            spec.cwd = Some("d".to_owned());
            let outcome = agent.run(spec).await;
            assert!(!outcome.stdout.contains("the-secret"), "{}", outcome.stdout);
        }
    };
    tokio::join!(racing, probing);
}

// QUA-4: the same suite for a host that runs as an ordinary user, where the machine lets us become one.
#[test]
fn the_suite_holds_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/usr/bin/setpriv").exists() {
        return;
    }
    // The test program may lie where only root can go.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("escapes");
    std::fs::copy(std::env::current_exe().expect("a path"), &program).expect("copied");
    let open = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
    };
    open(folder.path());
    open(&program);
    let output = std::process::Command::new("/usr/bin/setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

// SBX-2: a workspace below a home that only its owner can open, in a folder that may not even be listed.
#[tokio::test]
async fn a_workspace_below_a_private_home_works() {
    use std::os::unix::fs::PermissionsExt as _;
    for engine in cases() {
        let agent = agent(engine);
        let open = engine.owner && engine.engine == EngineKind::Landlock;
        let mode = if open { 0o711 } else { 0o700 };
        std::fs::set_permissions(agent.folder(), std::fs::Permissions::from_mode(mode)).expect("set");
        let outcome = agent.sh("echo x > made && cat made && pwd").await;
        assert_eq!(
            outcome.stdout,
            format!("x\n{}\n", agent.workspace().display()),
            "{engine:?} {}",
            outcome.message
        );
    }
}

/// The process that forks this program's children.
fn forkers() -> Vec<u32> {
    let mine = std::process::id();
    let children = |thread: std::path::PathBuf| std::fs::read_to_string(thread.join("children"));
    let threads = std::fs::read_dir(format!("/proc/{mine}/task")).expect("listed").flatten();
    let all = threads.filter_map(|thread| children(thread.path()).ok()).collect::<Vec<_>>().join(" ");
    let is_forker = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0forker\0"))
    };
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_forker).collect()
}

// QUA-4, EXE-5: a command can't end, stop or speak for the process that watches over it, nor for the one that forks.
#[tokio::test]
async fn the_helper_is_out_of_reach() {
    for engine in cases() {
        let agent = agent(engine);
        assert_eq!(agent.sh("true").await.code, CommandCode::Ok);
        let forkers = forkers();
        assert!(!forkers.is_empty(), "no process forks our children");
        let others: Vec<String> = forkers.iter().map(u32::to_string).collect();
        let script = format!(
            "for p in 1 $PPID {}; do [ $p = $$ ] || for s in STOP KILL TERM HUP; do kill -$s $p; done; done 2>/dev/null; \
             for p in 1 $PPID; do for f in /proc/$p/fd/*; do \
             (printf 'exit 0\\nmemory 1\\n' | timeout 2 dd of=$f oflag=nonblock conv=notrunc) done; \
             (echo x > /proc/$p/mem; echo x > /proc/$p/exe); done 2>/dev/null; sleep 0.2; exit 3",
            others.join(" ")
        );
        let outcome = agent.bash(&script).await;
        assert_eq!(
            (outcome.code, outcome.exit_code),
            (CommandCode::NonzeroExit, Some(3)),
            "{engine:?} {}",
            outcome.message
        );
        assert_eq!(self::forkers(), forkers, "{engine:?}");
    }
}

// QUA-4: nothing that the engine needed stays open in the helper: no folder outside is reached through it.
#[tokio::test]
async fn the_helper_holds_nothing_of_the_outside() {
    for engine in cases() {
        let agent = agent(engine);
        let script = "for p in 1 $PPID; do for f in /proc/$p/fd/* /proc/$p/cwd /proc/$p/root; do \
                      cat $f/../secret $f/secret $f/../../secret; readlink $f; done; done 2>/dev/null; \
                      grep -c ptrace /proc/1/environ 2>/dev/null; true";
        let outcome = agent.bash(script).await;
        assert!(!outcome.stdout.contains("the-secret"), "{engine:?} {}", outcome.stdout);
        assert!(
            !outcome.stdout.contains(&agent.folder().display().to_string()),
            "{engine:?} {}",
            outcome.stdout
        );
    }
}
