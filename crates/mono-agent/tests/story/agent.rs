//! An agent's folder and the program in it.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder that is an agent, gone with the test.
pub struct Agent {
    folder: tempfile::TempDir,
    /// Variables for every call.
    pub env: Vec<(String, String)>,
}

/// What the program answered.
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    fn of(output: Output) -> Self {
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?}\nstderr: {}", self.stdout, self.stderr))
    }

    /// The JSON lines on standard output.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// The same, where it must have ended with a code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_mono-agent"))
}

impl Agent {
    /// An empty folder: no config at all.
    pub fn empty() -> Self {
        Agent { folder: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// An agent whose model plays a script, with more config merged in.
    pub fn scripted(turns: &[Value], more: Value) -> Self {
        let agent = Agent::empty();
        let script: Vec<String> = turns.iter().map(Value::to_string).collect();
        agent.write("answers.jsonl", &(script.join("\n") + "\n"));
        agent.write("IDENTITY.md", "You are a test agent.\n");
        let mut config = json!({
            "runtime": {"model": "scripted:answers.jsonl"},
            "context": {"identityPath": "IDENTITY.md"},
        });
        merge(&mut config, more);
        agent.write("mono-agent.config.json", &serde_json::to_string_pretty(&config).unwrap());
        agent
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// The program in this folder, with a clean environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.path()).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", self.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end, at most two minutes.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Answer {
        self.run_with(args, "")
    }

    /// The same with standard input.
    #[track_caller]
    pub fn run_with(&self, args: &[&str], input: &str) -> Answer {
        use std::io::Write as _;
        let mut command = self.command(args);
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).unwrap();
        }
        let pid = child.id();
        let (done, ended) = std::sync::mpsc::channel();
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(Duration::from_secs(120)).is_err()
                && let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        let _ = done.send(());
        watch.join().unwrap();
        Answer::of(output)
    }

    /// `call TOOL JSON --json`, whatever its exit code.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.run(&["call", tool, &arguments.to_string(), "--json"]).json()
    }

    /// `explain --json` as rows by name.
    #[track_caller]
    pub fn explain(&self) -> Vec<Value> {
        self.run(&["explain", "--json"]).ends(0).json()["tools"].as_array().unwrap().clone()
    }

    /// The row of one tool.
    #[track_caller]
    pub fn explained(&self, tool: &str) -> Value {
        let rows = self.explain();
        rows.iter()
            .find(|row| row["name"] == tool)
            .unwrap_or_else(|| panic!("no row for {tool}: {rows:#?}"))
            .clone()
    }

    /// Everything that is below the state folder, as bytes.
    pub fn state_bytes(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut out = Vec::new();
        collect(&self.path().join(".mono-agent"), &mut out);
        out
    }
}

fn collect(folder: &Path, out: &mut Vec<(PathBuf, Vec<u8>)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&entry.path(), out);
        } else if kind.is_file() {
            out.push((entry.path(), std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// Waits until something is so, at most this long.
#[track_caller]
pub fn eventually(within: Duration, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < until, "it did not happen within {within:?}");
        std::thread::sleep(Duration::from_millis(25));
    }
}
