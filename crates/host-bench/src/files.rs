//! The file tools' bodies, through the gate, beside `rg`, `fdfind` and the raw operation, on a tree of 100,000
//! files that is made for it. Warm cache; a peer's own start is taken off its figure.

use crate::row::{Row, median};
use host_files::{AgentFiles, FilesConfig};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::files::Files;
use host_surface::{How, Offer};
use host_testkit::TestSurface;
use host_tools::{EditTool, GlobTool, GrepTool, ReadTool};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const FILES: usize = 100_000;
const ROUNDS: usize = 9;
/// What our searches leave out by themselves.
const LEFT_OUT: [&str; 7] = [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"];

fn make_tree(root: &Path) {
    let write = |path: std::path::PathBuf, text: String| std::fs::write(path, text).expect("room");
    for n in 0..FILES {
        let folder = root.join(format!("a{}/b{}", n / 1_000, n / 20 % 50));
        if n % 20 == 0 {
            std::fs::create_dir_all(&folder).expect("room");
        }
        let ending = ["rs", "py", "md", "txt", "json"][n % 5];
        let word = if n % 500 == 0 { "needle_in_here" } else { "ordinary" };
        let body = "    let value = compute(1, 2, 3);\n".repeat(n % 40);
        write(folder.join(format!("file{n}.{ending}")), format!("fn f{n}() {{\n    // {word}\n{body}}}\n"));
    }
    // Older versions of fdfind obey .gitignore in repositories alone.
    std::fs::create_dir(root.join(".git")).expect("room");
    write(root.join(".gitignore"), "*.log\n/target/\nnode_modules/\n".to_owned());
    write(root.join("raw.txt"), "fifty bytes a line, more or less, as code often is\n".repeat(5_000));
    let code: String = (0..4_000).map(|n| format!("    let name_{n} = other( {n}, \"text\" );\n")).collect();
    write(root.join("edit.rs"), format!("fn main() {{\n{code}}}\n"));
    let defs = |n| format!("pub fn f{n}(a: u8) -> u8 {{\n    a + {}\n}}\n\n", n % 9);
    write(root.join("outline.rs"), (0..2_500).map(defs).collect());
}

async fn surface(root: &Path) -> TestSurface {
    let files = AgentFiles::new(&FilesConfig::workspace(root)).expect("a folder of ours");
    let files: Arc<dyn Files> = Arc::new(files);
    let offers = vec![
        Offer::ready(ReadTool::new(Arc::clone(&files))),
        Offer::ready(EditTool::new(Arc::clone(&files))),
        Offer::ready(GlobTool::new(Arc::clone(&files))),
        Offer::ready(GrepTool::new(files)),
    ];
    TestSurface::seal(offers, ToolPolicy::allow_all(), ApprovalRules::default()).await
}

/// The middle time of a tool's body, in milliseconds.
async fn ours(surface: &TestSurface, tool: &str, arguments: &Value) -> f64 {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let settled = surface.call(tool, arguments.clone()).await;
        assert_eq!(settled.how, How::Done, "{}", settled.text());
        if round > 0 {
            times.push(settled.duration.as_secs_f64() * 1e3);
        }
    }
    median(times)
}

fn middle(mut once: impl FnMut()) -> f64 {
    once();
    let mut time = || {
        let begun = Instant::now();
        once();
        begun.elapsed().as_secs_f64() * 1e3
    };
    median((0..ROUNDS).map(|_| time()).collect())
}

/// A peer's middle time without its start, and the start.
fn theirs(program: &str, flags: &[&str], root: &Path) -> (f64, f64) {
    let run = |flags: &[&str]| {
        let output = Command::new(program).args(flags).current_dir(root).output().expect("it is installed");
        assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let start = middle(|| run(&["--version"]));
    (middle(|| run(flags)) - start, start)
}

async fn searches(surface: &TestSurface, root: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let not: Vec<String> = LEFT_OUT.iter().map(|name| format!("!{name}")).collect();
    for (what, pattern) in [("Grep, a word", "needle_in_here"), ("Grep, an expression", "need\\w+_here")] {
        let mut flags = vec!["--no-config", "--hidden", "--no-require-git", "-l", pattern, "."];
        flags.extend(not.iter().flat_map(|glob| ["-g", glob.as_str()]));
        let arguments = json!({"pattern": pattern, "head_limit": 1000});
        rows.push(searched(surface, ("Grep", what), &arguments, ("rg", &flags), root).await);
    }
    for (what, pattern) in [("Glob, many hits", "*.rs"), ("Glob, few hits", "*97.md")] {
        let mut flags = vec!["--hidden", "--color", "never", "--type", "f", "--glob", pattern];
        flags.extend(LEFT_OUT.iter().flat_map(|name| ["-E", *name]));
        let arguments = json!({"pattern": pattern, "limit": 1000, "max_output_chars": 200_000});
        rows.push(searched(surface, ("Glob", what), &arguments, ("fdfind", &flags), root).await);
    }
    rows
}

async fn searched(
    surface: &TestSurface,
    (tool, what): (&str, &str),
    arguments: &Value,
    (program, flags): (&str, &[&str]),
    root: &Path,
) -> Row {
    let mine = ours(surface, tool, arguments).await;
    let (peer, start) = theirs(program, flags, root);
    let beside = format!("{program}, its start of {start:.1} off");
    Row::beside("files", &format!("{what}, {FILES} files"), mine, "ms", &beside, peer).bound("≤ 1.2×")
}

async fn single_files(surface: &TestSurface, root: &Path) -> Vec<Row> {
    let read = |name: &str| {
        let path = root.join(name);
        middle(|| drop(std::hint::black_box(std::fs::read_to_string(&path).expect("ours"))))
    };
    let raw = ours(surface, "Read", &json!({"file_path": "raw.txt", "raw": true})).await;
    let outline = ours(surface, "Read", &json!({"file_path": "outline.rs"})).await;
    let edit = json!({
        "file_path": "edit.rs", "old_string": "let name_3990 = other(3990, “text”);",
        "new_string": "let x = 1;", "dryRun": true,
    });
    let edit = ours(surface, "Edit", &edit).await;
    let beside =
        |what, figure, name| Row::beside("files", what, figure, "ms", "fs::read_to_string", read(name));
    vec![
        beside("Read of 250 kB, raw", raw, "raw.txt").bound("≤ 1 ms"),
        beside("Read of 140 kB of code, outline", outline, "outline.rs"),
        beside("fuzzy Edit in 170 kB, preview", edit, "edit.rs").bound("≤ 10 ms"),
    ]
}

pub fn run() -> Vec<Row> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there");
    make_tree(&root);
    runtime.block_on(async {
        let surface = surface(&root).await;
        let mut rows = searches(&surface, &root).await;
        rows.extend(single_files(&surface, &root).await);
        rows
    })
}
