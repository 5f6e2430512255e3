//! Glob, Grep and ListDir.

use super::Agent;
use serde_json::json;
use std::fs;
use std::time::{Duration, SystemTime};

async fn tree() -> Agent {
    let agent = Agent::new().await;
    for (path, text) in [
        ("src/main.rs", "fn main() {\n    helper();\n}\n"),
        ("src/lib.rs", "pub fn helper() {}\n// Helper\n"),
        ("src/deep/x.py", "def helper():\n    pass\n"),
        (".hidden/y.rs", "fn hidden() {}\n"),
        ("node_modules/z/i.js", "helper()\n"),
        ("target/out.rs", "fn helper() {}\n"),
        (".git/config.rs", "fn helper() {}\n"),
        (".gitignore", "target/\n"),
        ("bin.dat", "helper\0helper\n"),
    ] {
        agent.put(path, text);
    }
    agent
}

fn age(agent: &Agent, path: &str, seconds: u64) {
    let file = fs::File::options().append(true).open(agent.app.join(path)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

// TOO-1
#[tokio::test]
async fn glob_gives_the_newest_first() {
    let agent = tree().await;
    age(&agent, "src/main.rs", 10);
    age(&agent, "src/lib.rs", 500);
    age(&agent, ".hidden/y.rs", 100);
    let text = agent.ok("Glob", json!({"pattern":"**/*.rs"})).await;
    assert!(text.starts_with("src/main.rs\n.hidden/y.rs\nsrc/lib.rs\n[not searched: .git,"), "{text}");
    assert_eq!(agent.ok("Glob", json!({"pattern":"*.rs"})).await, text, "without a slash at any depth");
    let one = agent.ok("Glob", json!({"pattern":"**/*.rs","limit":1,"offset":1})).await;
    assert!(one.starts_with(".hidden/y.rs\n[2–2 of 3 files shown; next: offset 2]"), "{one}");
    let below = agent.ok("Glob", json!({"pattern":"*.{rs,py}","path":"src"})).await;
    assert!(below.contains("src/deep/x.py\n") && below.contains("src/lib.rs\n"), "{below}");
    let exact = agent.ok("Glob", json!({"pattern":"src/*"})).await;
    assert!(!exact.contains("deep"), "{exact}");
    assert!(agent.ok("Glob", json!({"pattern":"*.nothing"})).await.starts_with("No files found."));
    for pattern in ["/etc/*", "../*", "", "a[", "a/../../*"] {
        assert_eq!(agent.fails("Glob", json!({"pattern":pattern})).await.0, "invalid_pattern", "{pattern}");
    }
    assert_eq!(agent.fails("Glob", json!({"pattern":"*","path":"src/main.rs"})).await.0, "not_a_directory");
    assert_eq!(
        agent.fails("Glob", json!({"pattern":"*","limit":2,"max_matches":3})).await.0,
        "invalid_range"
    );
}

// TOO-1
#[tokio::test]
async fn grep_has_three_modes() {
    let agent = tree().await;
    let text = agent.ok("Grep", json!({"pattern":"helper"})).await;
    assert_eq!(
        text, "src/deep/x.py\nsrc/lib.rs\nsrc/main.rs",
        "binary, ignored and excluded files are not searched"
    );
    let content = agent.ok("Grep", json!({"pattern":"helper","output_mode":"content","type":"rust"})).await;
    assert_eq!(content, "src/lib.rs:1:pub fn helper() {}\nsrc/main.rs:2:    helper();");
    let context = json!({"pattern":"helper","output_mode":"content","context":1,"glob":"*.rs"});
    let context = agent.ok("Grep", context).await;
    assert_eq!(
        context,
        "src/lib.rs:1:pub fn helper() {}\nsrc/lib.rs-2-// Helper\n--\nsrc/main.rs-1-fn main() {\nsrc/main.rs:2:    helper();\nsrc/main.rs-3-}"
    );
    let count =
        agent.ok("Grep", json!({"pattern":"helper","output_mode":"count","case_insensitive":true})).await;
    assert_eq!(count, "src/deep/x.py:1\nsrc/lib.rs:2\nsrc/main.rs:1");
    let one = agent.ok("Grep", json!({"pattern":"fn","path":"target/out.rs","output_mode":"content"})).await;
    assert_eq!(one, "target/out.rs:1:fn helper() {}", "a file that is named is searched");
    let inverted = agent.ok("Grep", json!({"pattern":"helper","glob":"!*.py"})).await;
    assert_eq!(inverted, "src/lib.rs\nsrc/main.rs");
    let lines = json!({"pattern":"main.*helper","multiline":true,"output_mode":"content"});
    assert_eq!(agent.ok("Grep", lines).await, "src/main.rs:1:fn main() {\nsrc/main.rs:2:    helper();");
    let paged = agent.ok("Grep", json!({"pattern":"helper","head_limit":1,"offset":1})).await;
    assert_eq!(paged, "src/lib.rs\n[2–2 of 3 lines shown; next: offset 2]");
    assert!(agent.ok("Grep", json!({"pattern":"absent"})).await.starts_with("No matches found."));
}

#[tokio::test]
async fn grep_says_what_is_wrong_with_a_pattern() {
    let agent = tree().await;
    let (code, text) = agent.fails("Grep", json!({"pattern":"a(b"})).await;
    assert_eq!(code, "invalid_pattern");
    assert!(text.contains("unclosed group") && text.contains("a(b"), "{text}");
    assert_eq!(agent.fails("Grep", json!({"pattern":"a\\nb"})).await.0, "invalid_pattern");
    assert!(
        agent.fails("Grep", json!({"pattern":"a","type":"klingon"})).await.1.contains("no such file type")
    );
    assert_eq!(agent.fails("Grep", json!({"pattern":"a","context":2})).await.0, "invalid_range");
    assert_eq!(agent.fails("Grep", json!({"pattern":"a","path":"none"})).await.0, "not_found");
}

// TOO-7
#[tokio::test]
async fn results_are_bounded_while_they_are_made() {
    let agent = Agent::new().await;
    agent.put("long", format!("{}needle{}\n", "x".repeat(100_000), "y".repeat(100_000)));
    let text = agent.ok("Grep", json!({"pattern":"needle","output_mode":"content"})).await;
    assert!(
        text.len() < 800 && text.contains("needle") && text.contains("[line of 200006 bytes]"),
        "{text:.300}"
    );
    agent.put("many", "needle\n".repeat(20_000));
    let text = agent.ok("Grep", json!({"pattern":"^needle","output_mode":"content","head_limit":1000})).await;
    assert!(text.len() < 17_000 && text.contains("next: offset 1000"), "{}", &text[text.len() - 99..]);
    let text =
        agent.ok("Grep", json!({"pattern":"needle","output_mode":"content","max_output_chars":200})).await;
    assert!(text.len() < 300, "{text}");
    agent.put("crlf", "end\r\n");
    assert_eq!(agent.ok("Grep", json!({"pattern":"end$"})).await, "crlf");
    agent.put("wide", b"\xff\xfeh\0i\0\n\0");
    assert_eq!(agent.ok("Grep", json!({"pattern":"hi"})).await, "wide");
}

// FIL-7
#[tokio::test]
async fn a_folder_is_listed_in_order() {
    let agent = tree().await;
    std::os::unix::fs::symlink("src", agent.app.join("s")).unwrap();
    let text = agent.ok("ListDir", json!({})).await;
    assert_eq!(text, ".git/\n.gitignore\t8\n.hidden/\nbin.dat\t14\nnode_modules/\ns\tlink\nsrc/\ntarget/\n");
    let part = agent.ok("ListDir", json!({"path":"src","limit":1,"offset":1})).await;
    assert_eq!(part, "lib.rs\t29\n[1–2 of 3 entries shown; next: offset 2]\n");
    assert_eq!(agent.fails("ListDir", json!({"path":"src","offset":9})).await.0, "invalid_range");
    assert_eq!(agent.fails("ListDir", json!({"path":"src/lib.rs"})).await.0, "not_a_directory");
    agent.put("odd/a\nb", "");
    assert_eq!(agent.ok("ListDir", json!({"path":"odd"})).await, "a b\t0\n");
}
