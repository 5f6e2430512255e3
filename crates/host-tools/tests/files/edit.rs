//! Edit.

use super::Agent;
use serde_json::{Value, json};
use std::fs;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path":path,"old_string":old,"new_string":new})
}

async fn dry_run(agent: &Agent, mut arguments: Value) -> (String, String) {
    arguments["dryRun"] = true.into();
    let settled = agent.call("Edit", arguments).await;
    let id = settled.structured.as_ref().unwrap()["applyId"].as_str().unwrap().to_owned();
    (id, settled.text())
}

/// What follows the first line of a patch.
fn patch_of(text: &str) -> &str {
    &text[text.find("--- a/").unwrap()..]
}

// T8-01
#[tokio::test]
async fn line_feeds_find_crlf() {
    let agent = Agent::new().await;
    for all in [false, true] {
        agent.put("f", "red\r\ngreen\r\nblue");
        let mut arguments = edit("f", "red\ngreen", "R\nG");
        arguments["replace_all"] = all.into();
        let text = agent.ok("Edit", arguments).await;
        assert_eq!(agent.get("f"), b"R\r\nG\r\nblue");
        let expected =
            "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-red\n-green\n+R\n+G\n blue\n\\ No newline at end of file\n";
        assert_eq!(patch_of(&text), expected);
        assert!(!text.contains("approximate"), "{text}");
    }
    agent.put("f", "red\r\ngreen\r\nblue");
    let (id, preview) = dry_run(&agent, edit("f", "red\ngreen", "R\nG")).await;
    assert_eq!(agent.get("f"), b"red\r\ngreen\r\nblue");
    let applied = agent.ok("Edit", json!({"file_path":"f","apply":id})).await;
    assert_eq!(agent.get("f"), b"R\r\nG\r\nblue");
    assert_eq!(patch_of(&applied), patch_of(&preview));

    // other inputs of the kind: new lines within one line, mixed ends, ends that are meant
    agent.put("f", "a\r\nb\r\n");
    agent.ok("Edit", edit("f", "b", "b\nc")).await;
    assert_eq!(agent.get("f"), b"a\r\nb\r\nc\r\n");
    agent.put("f", "a\r\nb\nc\r\nd\n");
    agent.ok("Edit", edit("f", "b\nc\nd", "x\ny")).await;
    assert_eq!(agent.get("f"), b"a\r\nx\ny\n", "the match's own first line end");
    agent.put("f", "a\r\nb\r\n");
    agent.ok("Edit", json!({"file_path":"f","old_string":"\r\n","new_string":"\n","replace_all":true})).await;
    assert_eq!(agent.get("f"), b"a\nb\n");
    agent.put("f", "a\nb");
    agent.ok("Edit", edit("f", "b", "c")).await;
    assert_eq!(agent.get("f"), b"a\nc", "no final line end is added");
}

// T8-03
#[tokio::test]
async fn a_like_match_changes_its_own_bytes_alone() {
    let agent = Agent::new().await;
    let head = "Zoë – 5 m² “ok” ﬂat   \n2\n3\n4\n5\n6\n7\n8\n";
    agent.put("f", format!("{head}x = 'y'\nlast  \n"));
    let text = agent.ok("Edit", edit("f", "x = \u{2018}y\u{2019}", "x = 'z'")).await;
    assert_eq!(agent.get("f"), format!("{head}x = 'z'\nlast  \n").as_bytes());
    assert!(text.contains("approximate"), "{text}");
    assert!(text.contains("-x = 'y'\n+x = 'z'\n"), "{text}");

    let python = "class A:\n    def f(self):\n        if  x:\n            return 1\n\n    def g(self):\n        pass\n";
    agent.put("p.py", python);
    let text = agent
        .ok(
            "Edit",
            edit("p.py", "        if x:\n            return 1", "        if x:\n            return 2"),
        )
        .await;
    let expected = python.replace("if  x:\n            return 1", "if x:\n            return 2");
    assert_eq!(agent.get("p.py"), expected.as_bytes());
    assert!(text.contains("approximate"), "{text}");

    // tabs against spaces, and text given without its indentation
    agent.put("t", "{\n\tone();\n\ttwo();\n}\n");
    agent.ok("Edit", edit("t", "    one();\n    two();", "    one();\n    three();")).await;
    assert_eq!(agent.get("t"), b"{\n\tone();\n\tthree();\n}\n");
    agent.put("t", "    if a {\n        b();\n    }\n");
    agent.ok("Edit", edit("t", "if a {\n    b();\n}", "if a {\n    c();\n    d();\n}")).await;
    assert_eq!(agent.get("t"), b"    if a {\n        c();\n        d();\n    }\n");
    agent.put("t", "call( a, b )\n");
    agent.ok("Edit", edit("t", "call(a, b)", "call(a)")).await;
    assert_eq!(agent.get("t"), b"call(a)\n");
    agent.put("t", "caf\u{e9} \u{2014} ok\nbytes \u{1f600}\n");
    agent.ok("Edit", edit("t", "caf\u{e9} - ok", "caf\u{e9}")).await;
    assert_eq!(agent.get("t"), "caf\u{e9}\nbytes \u{1f600}\n".as_bytes());
}

#[tokio::test]
async fn bytes_that_are_no_utf8_stay() {
    let agent = Agent::new().await;
    agent.put("f", b"caf\xe9 one\ntwo  x\n\xff\xfe\n");
    agent.ok("Edit", edit("f", "two x", "three")).await;
    assert_eq!(agent.get("f"), b"caf\xe9 one\nthree\n\xff\xfe\n");
}

// T8-05
#[tokio::test]
async fn the_byte_order_mark_stays_and_is_one() {
    let agent = Agent::new().await;
    for (old, new, expected) in [
        ("body", "text", "\u{feff}title\ntext\n"),
        ("title", "name", "\u{feff}name\nbody\n"),
        ("\u{feff}title", "\u{feff}name", "\u{feff}name\nbody\n"),
        ("\u{feff}title", "name", "\u{feff}name\nbody\n"),
        ("title\nbody", "x", "\u{feff}x\n"),
    ] {
        agent.put("f", "\u{feff}title\nbody\n");
        agent.ok("Edit", edit("f", old, new)).await;
        assert_eq!(agent.get("f"), expected.as_bytes(), "{old:?}");
    }
    agent.put("f", "a\u{feff}b\nc\n");
    agent.ok("Edit", edit("f", "c", "d")).await;
    assert_eq!(agent.get("f"), "a\u{feff}b\nd\n".as_bytes());
}

// T8-07
#[tokio::test]
async fn texts_are_literal() {
    let agent = Agent::new().await;
    for new in ["$$", "$&", "$1", "${x}", "$name", "\\1", "\\n", "\\", "%s", "&"] {
        agent.put("f", "aXb\n");
        agent.ok("Edit", edit("f", "X", new)).await;
        assert_eq!(agent.get("f"), format!("a{new}b\n").as_bytes());
        agent.put("f", "X X\n");
        agent.ok("Edit", json!({"file_path":"f","old_string":"X","new_string":new,"replace_all":true})).await;
        assert_eq!(agent.get("f"), format!("{new} {new}\n").as_bytes());
    }
    agent.put("f", "a.*[b(\n");
    agent.ok("Edit", edit("f", ".*[", "^$")).await;
    assert_eq!(agent.get("f"), b"a^$b(\n");
    assert_eq!(agent.fails("Edit", edit("f", "a.+b", "x")).await.0, "no_match");
}

// T8-09
#[tokio::test]
async fn a_preview_is_written_once_and_only_on_what_it_was_made_from() {
    let agent = Agent::new().await;
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let changed = |agent: &Agent| agent.put("f", text);
    let apply = |id: &str| json!({"file_path":"f","apply":id});

    changed(&agent);
    let (id, _) = dry_run(&agent, edit("f", "2", "zwei")).await;
    agent.put("f", text.replace('9', "nine"));
    assert_eq!(agent.fails("Edit", apply(&id)).await.0, "file_changed");
    assert_eq!(agent.get("f"), text.replace('9', "nine").as_bytes());
    agent.put("f", text);
    assert_eq!(agent.fails("Edit", apply(&id)).await.0, "unknown_apply_id", "used up");

    let (id, _) = dry_run(&agent, edit("f", "2", "zwei")).await;
    let file = fs::File::options().append(true).open(agent.app.join("f")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    agent.ok("Edit", apply(&id)).await;
    assert_eq!(agent.get("f"), text.replace('2', "zwei").as_bytes(), "another time of change is no change");
    assert_eq!(agent.fails("Edit", apply(&id)).await.0, "unknown_apply_id", "twice");

    changed(&agent);
    let (id, _) = dry_run(&agent, edit("f", "2", "zwei")).await;
    agent.put("g", text);
    assert_eq!(
        agent.fails("Edit", json!({"file_path":"g","apply":id})).await.0,
        "unknown_apply_id",
        "another path"
    );
    fs::remove_file(agent.app.join("f")).unwrap();
    std::os::unix::fs::symlink("g", agent.app.join("f")).unwrap();
    assert_eq!(agent.fails("Edit", apply(&id)).await.0, "file_changed", "a link to the same text");
    assert_eq!(agent.get("g"), text.as_bytes());
    fs::remove_file(agent.app.join("f")).unwrap();

    changed(&agent);
    let (id, _) = dry_run(&agent, edit("f", "2", "zwei")).await;
    fs::remove_file(agent.app.join("f")).unwrap();
    assert_eq!(agent.fails("Edit", apply(&id)).await.0, "file_changed", "deleted");
    assert!(!agent.app.join("f").exists());

    // after a restart nothing waits
    changed(&agent);
    let (id, _) = dry_run(&agent, edit("f", "2", "zwei")).await;
    let other = Agent::new().await;
    other.put("f", text);
    assert_eq!(other.fails("Edit", apply(&id)).await.0, "unknown_apply_id");
    let (code, _) =
        agent.fails("Edit", json!({"file_path":"f","apply":id,"old_string":"a","new_string":"b"})).await;
    assert_eq!(code, "invalid_edit");
    agent.ok("Edit", json!({"file_path":"./f","apply":id})).await;
}

// FIL-5
#[tokio::test]
async fn front_matter_is_kept_compared_and_not_searched() {
    let agent = Agent::new().await;
    let whole = "---\nname: body\n---\n# Title\nbody\n";
    agent.put("skills/a/SKILL.md", whole);
    let path = "skills/a/SKILL.md";
    let (id, preview) = dry_run(&agent, edit(path, "body", "text")).await;
    let expected = format!("--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n # Title\n-body\n+text\n");
    assert_eq!(patch_of(&preview), expected);
    let applied = agent.ok("Edit", json!({"file_path":path,"apply":id})).await;
    assert_eq!(patch_of(&applied), expected);
    assert_eq!(agent.get(path), b"---\nname: body\n---\n# Title\ntext\n");

    let (id, _) = dry_run(&agent, edit(path, "text", "more")).await;
    agent.put(path, "---\nname: changed\n---\n# Title\ntext\n");
    assert_eq!(agent.fails("Edit", json!({"file_path":path,"apply":id})).await.0, "file_changed");
    assert_eq!(agent.fails("Edit", edit(path, "name: changed", "x")).await.0, "no_match");
    agent.put("other.md", whole);
    agent.ok("Edit", edit("other.md", "name: body", "name: x")).await;
    agent.put("blocks/b.md", "---\r\na: b\r\n---\r\nb\r\n");
    agent.ok("Edit", edit("blocks/b.md", "b", "c")).await;
    assert_eq!(agent.get("blocks/b.md"), b"---\r\na: b\r\n---\r\nc\r\n");
}

// FIL-4
#[tokio::test]
async fn all_edits_or_none_and_no_guess() {
    let agent = Agent::new().await;
    let text = "one\ntwo\none\nthree\n";
    agent.put("f", text);
    let (code, message) = agent.fails("Edit", edit("f", "one", "1")).await;
    assert_eq!(code, "ambiguous_match");
    assert!(
        message.contains("1\tone") && message.contains("3\tone") && message.contains("2 equally"),
        "{message}"
    );
    let many = json!({"file_path":"f","edits":[
        {"old_string":"two","new_string":"2"}, {"old_string":"four","new_string":"4"}]});
    let (code, message) = agent.fails("Edit", many).await;
    assert_eq!(code, "no_match");
    assert!(message.contains("edit 1"), "{message}");
    let overlapping = json!({"file_path":"f","edits":[
        {"old_string":"two\none","new_string":"2"}, {"old_string":"one\nthree","new_string":"4"}]});
    let (code, message) = agent.fails("Edit", overlapping).await;
    assert_eq!(code, "overlapping_edits");
    assert!(message.contains("0 and 1") && message.contains("line 3"), "{message}");
    assert_eq!(agent.fails("Edit", edit("f", "two", "two")).await.0, "nothing_changed");
    assert_eq!(agent.fails("Edit", edit("f", "", "two")).await.0, "invalid_edit");
    assert_eq!(agent.fails("Edit", edit("none", "a", "b")).await.0, "not_found");
    let (_, message) = agent.fails("Edit", edit("f", "thre e4", "x")).await;
    assert!(message.contains("4\tthree"), "the nearest line is shown: {message}");
    assert_eq!(agent.get("f"), text.as_bytes());

    // matched against the original, not one after the other
    let swap = json!({"file_path":"f","edits":[
        {"old_string":"two","new_string":"three"}, {"old_string":"three","new_string":"two"}]});
    agent.ok("Edit", swap).await;
    assert_eq!(agent.get("f"), b"one\nthree\none\ntwo\n");
}

#[tokio::test]
async fn near_tells_equal_places_apart() {
    let agent = Agent::new().await;
    let gap = "-\n".repeat(40);
    agent.put("f", format!("fn a\n  x\n{gap}fn b\n  x\n{gap}"));
    let mut arguments = edit("f", "  x", "  y");
    arguments["near"] = "fn b".into();
    agent.ok("Edit", arguments.clone()).await;
    assert_eq!(agent.get("f"), format!("fn a\n  x\n{gap}fn b\n  y\n{gap}").as_bytes());
    arguments["near"] = "fn c".into();
    assert!(agent.fails("Edit", arguments.clone()).await.1.contains("`near` is not in"));
    arguments["near"] = "fn b".into();
    arguments["old_string"] = "  x\n".into();
    let (code, message) = agent.fails("Edit", arguments).await;
    assert_eq!(code, "no_match");
    assert!(message.contains("not within 15 lines"), "{message}");
}

#[tokio::test]
async fn what_is_no_text_is_not_edited() {
    let agent = Agent::new().await;
    agent.put("f", b"a\0b");
    assert_eq!(agent.fails("Edit", edit("f", "a", "b")).await.0, "binary_file");
    agent.put("huge", vec![b'a'; 5 << 20]);
    assert_eq!(agent.fails("Edit", edit("huge", "b", "c")).await.0, "too_large");
}
