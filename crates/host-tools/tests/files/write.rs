//! Write.

use super::Agent;
use serde_json::json;

// TOO-1, FIL-6
#[tokio::test]
async fn write_creates_replaces_and_keeps_the_shape() {
    let agent = Agent::new().await;
    let text = agent.ok("Write", json!({"file_path":"new/a.txt","content":"one\ntwo\n"})).await;
    assert!(text.starts_with("created new/a.txt: 2 lines"), "{text}");
    let settled = agent.call("Write", json!({"file_path":"new/a.txt","content":"one\nzwei\ndrei\n"})).await;
    assert_eq!(settled.structured.as_ref().unwrap()["lines_added"], 2);
    assert!(
        settled.text().contains("updated new/a.txt: 3 lines now; 2 added, 1 removed"),
        "{}",
        settled.text()
    );
    assert_eq!(agent.get("new/a.txt"), b"one\nzwei\ndrei\n");
    agent.ok("Write", json!({"file_path":"empty","content":""})).await;
    assert_eq!(agent.get("empty"), b"");

    agent.put("crlf", "a\r\nb\r\n");
    let text = agent.ok("Write", json!({"file_path":"crlf","content":"c\nd"})).await;
    assert_eq!(agent.get("crlf"), b"c\r\nd");
    assert!(text.contains("CRLF line ends"), "{text}");
    agent.put("mixed", "a\r\nb\n");
    agent.ok("Write", json!({"file_path":"mixed","content":"c\nd\n"})).await;
    assert_eq!(agent.get("mixed"), b"c\nd\n");
}

// T8-05: overwriting keeps exactly one mark
#[tokio::test]
async fn write_keeps_one_byte_order_mark() {
    let agent = Agent::new().await;
    agent.put("bom", b"\xef\xbb\xbftitle\n");
    agent.ok("Write", json!({"file_path":"bom","content":"other\n"})).await;
    assert_eq!(agent.get("bom"), b"\xef\xbb\xbfother\n");
    agent.ok("Write", json!({"file_path":"bom","content":"\u{feff}third\n"})).await;
    assert_eq!(agent.get("bom"), b"\xef\xbb\xbfthird\n");
}

// FIL-5
#[tokio::test]
async fn write_keeps_front_matter_that_is_not_given() {
    let agent = Agent::new().await;
    agent.put("skills/x/SKILL.md", "---\nname: x\n---\nbody\n");
    agent.ok("Write", json!({"file_path":"skills/x/SKILL.md","content":"new body\n"})).await;
    assert_eq!(agent.get("skills/x/SKILL.md"), b"---\nname: x\n---\nnew body\n");
    agent.ok("Write", json!({"file_path":"skills/x/SKILL.md","content":"---\nname: y\n---\nb\n"})).await;
    assert_eq!(agent.get("skills/x/SKILL.md"), b"---\nname: y\n---\nb\n");
}

#[tokio::test]
async fn write_says_why_it_does_not() {
    let agent = Agent::new().await;
    agent.put("folder/x", "");
    let (code, text) = agent.fails("Write", json!({"file_path":".env","content":"x"})).await;
    assert_eq!(code, "write_denied");
    assert!(text.contains("denyWrite"));
    assert_eq!(agent.fails("Write", json!({"file_path":"folder","content":"x"})).await.0, "is_directory");
    assert_eq!(
        agent.fails("Write", json!({"file_path":"folder/x/y","content":"x"})).await.0,
        "not_a_directory"
    );
    assert_eq!(agent.fails("Write", json!({"file_path":"~/x","content":"x"})).await.0, "invalid_path");
}
