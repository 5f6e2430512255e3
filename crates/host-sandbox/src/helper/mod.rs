//! The host's own program, started again in a hidden mode as the root of one child's process tree.
//!
//! It starts the command, collects every orphan below it, ends the whole tree when it is told to or when the
//! host is gone, holds the tree to its bounds, and reports how the command really ended. Under bubblewrap it
//! is process 1 of the namespace; elsewhere it is a subreaper.

pub(crate) mod confine;
mod filter;
mod forward;
mod order;
mod program;
mod supervise;
mod tree;

pub(crate) use order::{FileGrants, Filter, Forward, Order, Role, SocketRule};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word that asks for the hidden mode.
pub(crate) const HELPER_WORD: &str = "__sandbox-helper";

static READY: AtomicBool = AtomicBool::new(false);

/// Runs the hidden mode if the arguments (program name first) ask for it. A program that starts children
/// calls this before anything else in `main`, and ends with the code where there is one.
pub fn helper_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    run(args).map(ExitCode::from)
}

/// What [`crate::helper_entry!`] calls before a test program's own `main`.
#[doc(hidden)]
pub fn helper_enter() {
    if let Some(code) = run(std::env::args_os()) {
        std::process::exit(i32::from(code));
    }
}

fn run(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    READY.store(true, Ordering::SeqCst);
    let mut args = args.into_iter().skip(1);
    if args.next()? != HELPER_WORD {
        return None;
    }
    let fd = args.next().and_then(|arg| arg.to_str().and_then(|arg| arg.parse::<i32>().ok()));
    Some(fd.map_or(supervise::USAGE, supervise::main))
}

/// Makes a program that has no `main` of ours (a test) able to start children: its hidden mode is entered
/// before the test harness begins.
#[macro_export]
macro_rules! helper_entry {
    () => {
        #[used]
        #[unsafe(link_section = ".init_array")]
        static HOST_SANDBOX_HELPER: extern "C" fn() = {
            extern "C" fn enter() {
                $crate::helper_enter();
            }
            enter
        };
    };
}

/// The program that answers to the hidden mode.
#[derive(Debug, Clone)]
pub struct Helper {
    program: PathBuf,
}

/// Why there is no helper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HelperError {
    /// The program doesn't know the hidden mode.
    #[error("this program cannot start children: it must call host_sandbox::helper_main first thing in main")]
    NotEntered,
    /// Its own path can't be found out.
    #[error("the host's own program could not be found, so it cannot start children")]
    NoProgram,
}

impl Helper {
    /// This very program.
    ///
    /// # Errors
    /// Where [`helper_main`] wasn't called, or the program's path is unknown.
    pub fn own() -> Result<Self, HelperError> {
        if !READY.load(Ordering::SeqCst) {
            return Err(HelperError::NotEntered);
        }
        let program = std::env::current_exe().map_err(|_| HelperError::NoProgram)?;
        Ok(Helper { program })
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }
}
