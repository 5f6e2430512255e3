//! Times the file tools' bodies through the gate, beside `rg` and `fdfind` with equal flags.
//!
//! `cargo run --release -p host-tools --example file_speed [-- files]` makes a tree of 100,000 files in a
//! temporary folder (warm cache: everything runs once before it is timed) and prints medians in milliseconds.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measurement makes its own files and children"
)]

use host_files::{AgentFiles, FilesConfig};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::files::Files;
use host_surface::{How, Offer};
use host_testkit::TestSurface;
use host_tools::{EditTool, GlobTool, GrepTool, ReadTool};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;

fn main() {
    let files = std::env::args().nth(1).map_or(100_000, |count| count.parse().unwrap());
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    make_tree(&root, files);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(measure(&root));
}

fn make_tree(root: &Path, files: usize) {
    for n in 0..files {
        let folder = root.join(format!("a{}/b{}", n / 1_000, n / 20 % 50));
        if n % 20 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        let ending = ["rs", "py", "md", "txt", "json"][n % 5];
        let word = if n % 500 == 0 { "needle_in_here" } else { "ordinary" };
        let text = format!(
            "fn f{n}() {{\n    // {word}\n{}}}\n",
            "    let value = compute(1, 2, 3);\n".repeat(n % 40)
        );
        fs::write(folder.join(format!("file{n}.{ending}")), text).unwrap();
    }
    // Older versions of fdfind obey .gitignore in repositories alone.
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "*.log\n/target/\nnode_modules/\n").unwrap();
    fs::write(root.join("raw.txt"), "fifty bytes a line, more or less, as code often is\n".repeat(5_000))
        .unwrap();
    let code: String = (0..4_000).map(|n| format!("    let name_{n} = other( {n}, \"text\" );\n")).collect();
    fs::write(root.join("edit.rs"), format!("fn main() {{\n{code}}}\n")).unwrap();
    let defs: String =
        (0..2_500).map(|n| format!("pub fn f{n}(a: u8) -> u8 {{\n    a + {}\n}}\n\n", n % 9)).collect();
    fs::write(root.join("outline.rs"), defs).unwrap();
}

async fn measure(root: &Path) {
    let files: Arc<dyn Files> = Arc::new(AgentFiles::new(&FilesConfig::workspace(root)).unwrap());
    let offers = vec![
        Offer::ready(ReadTool::new(Arc::clone(&files))),
        Offer::ready(EditTool::new(Arc::clone(&files))),
        Offer::ready(GlobTool::new(Arc::clone(&files))),
        Offer::ready(GrepTool::new(files)),
    ];
    let surface = TestSurface::seal(offers, ToolPolicy::allow_all(), ApprovalRules::default()).await;
    let skip = ["!.git", "!.hg", "!.svn", "!.jj", "!node_modules", "!__pycache__", "!.venv"];
    let mut rg = vec!["--no-config", "--hidden", "--no-require-git", "-l", "needle_in_here", "."];
    rg.extend(skip.iter().flat_map(|glob| ["-g", glob]));
    for (name, arguments, program, flags) in [
        ("Grep literal", json!({"pattern":"needle_in_here","head_limit":1000}), "rg", rg.clone()),
        (
            "Grep regex",
            json!({"pattern":"need\\w+_here","head_limit":1000}),
            "rg",
            swapped(&rg, "need\\w+_here"),
        ),
    ] {
        compare(&surface, "Grep", name, arguments, program, &flags, root).await;
    }
    let mut fd = vec!["--hidden", "--color", "never", "--type", "f"];
    fd.extend([
        "-E",
        ".git",
        "-E",
        ".hg",
        "-E",
        ".svn",
        "-E",
        ".jj",
        "-E",
        "node_modules",
        "-E",
        "__pycache__",
    ]);
    fd.extend(["-E", ".venv", "--glob"]);
    for (name, pattern) in [("Glob *.rs", "*.rs"), ("Glob few", "*97.md")] {
        let flags: Vec<&str> = fd.iter().copied().chain([pattern]).collect();
        let arguments = json!({"pattern":pattern,"limit":1000,"max_output_chars":200000});
        compare(&surface, "Glob", name, arguments, "fdfind", &flags, root).await;
    }
    let raw = timed(&surface, "Read", &json!({"file_path":"raw.txt","raw":true})).await;
    println!("Read raw 250 kB   {:8.3} ms", ms(raw));
    let outline = timed(&surface, "Read", &json!({"file_path":"outline.rs"})).await;
    println!("Read outline      {:8.3} ms", ms(outline));
    let edit = json!({"file_path":"edit.rs","old_string":"let name_3990 = other(3990, “text”);","new_string":"let x = 1;","dryRun":true});
    println!("Edit fuzzy (dry)  {:8.3} ms", ms(timed(&surface, "Edit", &edit).await));
}

fn swapped<'a>(flags: &[&'a str], pattern: &'a str) -> Vec<&'a str> {
    flags.iter().map(|flag| if *flag == "needle_in_here" { pattern } else { flag }).collect()
}

async fn compare(
    surface: &TestSurface,
    tool: &str,
    name: &str,
    arguments: Value,
    program: &str,
    flags: &[&str],
    root: &Path,
) {
    let ours = timed(surface, tool, &arguments).await;
    let start = median(|| run(program, &["--version"], root));
    let theirs = median(|| run(program, flags, root));
    let ratio = ours.as_secs_f64() / theirs.saturating_sub(start).as_secs_f64();
    println!(
        "{name:<17} {:8.1} ms   {program} {:8.1} ms + start {:.1} ms   ratio {ratio:.2}",
        ms(ours),
        ms(theirs.saturating_sub(start)),
        ms(start)
    );
}

async fn timed(surface: &TestSurface, tool: &str, arguments: &Value) -> Duration {
    let mut times = Vec::new();
    for _ in 0..=ROUNDS {
        let settled = surface.call(tool, arguments.clone()).await;
        assert_eq!(settled.how, How::Done, "{}", settled.text());
        times.push(settled.duration);
    }
    middle(times.split_off(1))
}

fn median(once: impl Fn() -> Duration) -> Duration {
    once();
    middle((0..ROUNDS).map(|_| once()).collect())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn run(program: &str, flags: &[&str], root: &Path) -> Duration {
    let begun = Instant::now();
    let output = Command::new(program).args(flags).current_dir(root).output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    begun.elapsed()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
