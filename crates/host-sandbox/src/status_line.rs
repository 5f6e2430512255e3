//! What the helper says, line by line.

use rustix::fd::OwnedFd;

/// One thing that the helper says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The command runs.
    Started,
    /// It ended with a code.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// The working directory can't be entered.
    Workdir(i32),
    /// The program can't be started.
    Spawn(i32),
    /// The helper itself can't do what it is told; a sentence.
    Refused(String),
    /// The tree used more memory than it may, and was ended.
    Memory(u64),
    /// The tree had more processes than it may, and was ended.
    Pids(u64),
}

/// The lines read so far.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

/// The longest line that makes sense.
const LINE_BYTES_MAX: usize = 4096;

impl Lines {
    /// Reads what is there. `None` = the helper is gone.
    pub(crate) fn read(&mut self, status: &OwnedFd) -> Option<Vec<Said>> {
        let mut chunk = [0; 512];
        match rustix::io::read(status, &mut chunk) {
            Ok(0) => return None,
            Ok(n) => self.0.extend_from_slice(&chunk[..n]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return None,
        }
        let mut said = Vec::new();
        while let Some(end) = self.0.iter().position(|&b| b == b'\n') {
            let line: Vec<u8> = self.0.drain(..=end).collect();
            said.extend(parse(&String::from_utf8_lossy(&line[..end])));
        }
        if self.0.len() > LINE_BYTES_MAX {
            self.0.clear();
        }
        Some(said)
    }
}

fn parse(line: &str) -> Option<Said> {
    let (word, rest) = line.split_once(' ')?;
    Some(match word {
        "started" => Said::Started,
        "exit" => Said::Exit(rest.parse().ok()?),
        "signal" => Said::Signal(rest.parse().ok()?),
        "workdir" => Said::Workdir(rest.parse().ok()?),
        "spawn" => Said::Spawn(rest.parse().ok()?),
        "memory" => Said::Memory(rest.parse().ok()?),
        "pids" => Said::Pids(rest.parse().ok()?),
        "refused" => Said::Refused(rest.to_owned()),
        _ => return None,
    })
}
