//! The root of a tree: start the command, watch, end the tree.
//!
//! It tells the host in lines: `started PID`, then one of `exit CODE` and `signal N`; or `workdir ERRNO`,
//! `spawn ERRNO`, `refused TEXT` where nothing was started; and `memory BYTES` or `pids N` where it ended the
//! tree for going over a bound. The host tells it `t` (ask everyone to end) or closes the pipe (end it).

use crate::command::Program;
use crate::system::{self, End, errno};
use crate::wire::{COMPLAINTS, CONTROL, FORWARD, ORDER, Order, Role, STATUS, STDERR, STDIN, STDOUT};
use crate::{confine, tree};
use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

/// How often the tree's use is looked at: quickly at first, then at leisure.
const WATCH_FIRST: Duration = Duration::from_millis(10);
const WATCH_LAST: Duration = Duration::from_millis(100);

fn say(line: &str) {
    system::write(STATUS, format!("{line}\n").as_bytes());
}

/// Process 1 of a namespace: reads its order and goes on as any root of a tree.
pub(crate) fn init() -> ! {
    let order = system::read_whole(ORDER).ok().and_then(|bytes| Order::decode(&bytes));
    match order {
        Some(order) => run(&order),
        None => system::exit_now(crate::USAGE),
    }
}

/// Does everything.
pub(crate) fn run(order: &Order) -> ! {
    // Nothing that the engine needed to see is for us, let alone for who looks at us.
    system::close_all(COMPLAINTS, i32::MAX);
    system::close(ORDER);
    match start(order) {
        Err(line) => {
            say(&line);
            system::exit_now(0);
        }
        Ok((main, news)) => {
            say(&format!("started {main}"));
            watch(order, main, news)
        }
    }
}

/// Takes on the user, opens what is needed, and starts the command. The error is the line that says why not.
fn start(order: &Order) -> Result<(i32, i32), String> {
    let refused = |what: &'static str| move |error: io::Error| format!("refused {what}: {error}");
    let news = system::child_news().map_err(refused("no news of children"))?;
    if let Some((uid, gid)) = order.user {
        system::become_user(uid, gid)
            .map_err(|error| format!("refused user {uid} can't be taken on: {error}"))?;
    }
    if order.role == Role::Init {
        // A change of user unties a process from its parent.
        system::end_with_parent().map_err(refused("it can't be tied to its parent"))?;
    } else {
        system::new_session();
        system::take_orphans().map_err(refused("orphans can't be collected"))?;
    }
    // A command is the same user as we are: it must not write to our pipes.
    system::not_to_be_looked_at().map_err(refused("it can't be closed to its children"))?;
    if let Some(port) = order.forward {
        hand_out(port).map_err(refused("the way out can't be opened"))?;
    }
    let folder = std::ffi::OsStr::from_bytes(&order.cwd);
    std::env::set_current_dir(folder).map_err(|error| format!("workdir {}", errno(&error)))?;
    let program = Program::new(&order.places, &order.argv, &order.env)
        .ok_or_else(|| "refused an argument holds a NUL".to_owned())?;
    let main = fork(order, &program).map_err(|error| format!("spawn {}", errno(&error)))?;
    system::close_all(STDIN, STDERR);
    system::close_all(crate::wire::RULESET, i32::MAX);
    Ok((main, news))
}

/// Opens a loopback port and gives it to the host: a socket belongs for good to the network where it was made.
fn hand_out(port: u64) -> io::Result<()> {
    let port = u16::try_from(port).map_err(|_| io::ErrorKind::InvalidInput)?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    system::send(FORWARD, b"l", Some(listener.as_raw_fd()))?;
    system::close(FORWARD);
    Ok(())
}

/// Forks and becomes the command there; comes back when it runs, or with the reason why it doesn't.
fn fork(order: &Order, program: &Program) -> io::Result<i32> {
    let (told, tell) = system::pipe()?;
    let pid = system::fork()?;
    if pid == 0 {
        let error = match prepare(order) {
            Ok(()) => program.become_it(),
            Err(error) => error,
        };
        system::write(tell, &errno(&error).to_le_bytes());
        system::exit_now(127);
    }
    system::close(tell);
    let mut number = [0; 4];
    let read = loop {
        match system::read(told, &mut number) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    system::close(told);
    match read {
        Ok(4) => Err(io::Error::from_raw_os_error(i32::from_le_bytes(number))),
        _ => Ok(pid),
    }
}

/// What is between the fork and the command.
fn prepare(order: &Order) -> io::Result<()> {
    system::new_session();
    if order.role == Role::Subreaper {
        system::end_with_parent()?;
    }
    for (from, to) in [(STDIN, 0), (STDOUT, 1), (STDERR, 2)] {
        system::duplicate(from, to)?;
    }
    system::usual_signals();
    confine::apply(order)
}

/// Waits for the host's word and for ended children, and looks at the tree's use in between.
fn watch(order: &Order, main: i32, news: i32) -> ! {
    let bounded = order.memory_bytes_max.is_some() || order.pids_max.is_some();
    let mut pause = WATCH_FIRST;
    loop {
        let [told, child] = system::wait_for([CONTROL, news], bounded.then_some(pause));
        if child {
            system::drain_news(news);
            collect(main);
        }
        if told {
            let mut byte = [0; 1];
            match system::read(CONTROL, &mut byte) {
                Ok(1) => tree::ask_to_end(order.role),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => end_all(order.role, main),
            }
        }
        if !told && !child {
            pause = (pause * 3 / 2).min(WATCH_LAST);
            if let Some(line) = tree::over_limit(order) {
                say(&line);
                end_all(order.role, main);
            }
        }
    }
}

/// Collects every child and orphan that is over; ends this process when there is none left.
fn collect(main: i32) {
    loop {
        match system::collect_child() {
            Ok(Some((pid, end))) if pid == main => match end {
                End::Code(code) => say(&format!("exit {code}")),
                End::Signal(signal) => say(&format!("signal {signal}")),
            },
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(_) => system::exit_now(0),
        }
    }
}

/// Ends the tree for good. In a namespace our own end does it; elsewhere we go on until nobody is left.
fn end_all(role: Role, main: i32) -> ! {
    if role == Role::Init {
        system::exit_now(0);
    }
    loop {
        tree::kill_all(role);
        collect(main);
        std::thread::sleep(Duration::from_millis(1));
    }
}
