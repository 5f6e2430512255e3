use super::*;
use proptest::prelude::*;
use serde_json::json;

fn text(text: &str) -> String {
    Sanitiser::default().text(text, Omission::ToolResult).into_owned()
}

// RUN-8, HIS-7
#[test]
fn paths_become_a_token_and_a_harmless_end() {
    for (given, shown) in [
        ("cat /home/alice/project/src/main.rs:12:5: error", "cat [host-path]/src/main.rs:12:5: error"),
        ("/home/alice/notes.txt", "[host-path]/notes.txt"),
        ("/home/alice", "[host-path]"),
        ("see /etc/hosts.", "see [host-path]/hosts."),
        ("ls / and 1/2 and/or TCP/IP", "ls / and 1/2 and/or TCP/IP"),
        ("src/lib.rs ./x ../y **/z", "src/lib.rs ./x ../y **/z"),
        ("</div><br/>", "</div><br/>"),
        ("https://example.com/home/x?a=/b http://a/b:1", "https://example.com/home/x?a=/b http://a/b:1"),
        ("https://h/x?file=/home/alice/a/b.txt", "https://h/x?file=[host-path]/a/b.txt"),
        ("file:///home/alice/a.txt", "[host-path]/a.txt"),
        ("sqlite:///home/alice/db/x.sqlite", "sqlite://[host-path]/db/x.sqlite"),
        (r"C:\Users\Alice Smith\Documents\a.txt", "[host-path]/Documents/a.txt"),
        (r#""C:\\Users\\alice\\x\\y\\z.rs""#, r#""[host-path]/y/z.rs""#),
        (r"\\server\share\dir\file.txt", "[host-path]/dir/file.txt"),
        ("/Users/John Smith/Documents/report.pdf", "[host-path]/Documents/report.pdf"),
        ("'/Users/John Smith'", "'[host-path]'"),
        ("~/x/y ~bob/z", "[host-path]/x/y [host-path]/z"),
        ("$HOME/.ssh/id_rsa", "[host-path]"),
        ("PATH=/usr/local/bin:/bin", "PATH=[host-path]/local/bin:[host-path]"),
        ("gcc -I/usr/include/foo.h", "gcc -I[host-path]/include/foo.h"),
        ("(/srv/app/a.py, line 3)", "([host-path]/app/a.py, line 3)"),
        ("/work/agent/.mono-agent/artifacts/tool-output/run-1/abc", "[host-path]"),
        (".mono-agent/sessions/a.jsonl", "[host-path]"),
        ("文件在/home/alice/评审/方案.txt里", "文件在[host-path]/评审/方案.txt里"),
        ("评审/预算", "评审/预算"),
        (r"\/home\/alice\/x\/y", "[host-path]/x/y"),
        ("%2Fhome%2Falice%2Fx", "[host-path]/x"),
        ("x]/home/alice/y", "x][host-path]/y"),
        ("[host-path]/a/b/c", "[host-path]/b/c"),
        ("/data/3f2a9c1b7d6e4f50a1b2c3d4e5f60718/x", "[host-path]/x"),
        ("/srv/x/api_token/y", "[host-path]/y"),
        (r"regex \d+ and \n", r"regex \d+ and \n"),
        ("// a comment", "// a comment"),
        ("/a/My\\ Dir/x", "[host-path]/My\\ Dir/x"),
        ("2>/dev/null", "2>[host-path]/null"),
    ] {
        assert_eq!(text(given), shown, "{given}");
    }
}

#[test]
fn the_hosts_own_roots_go_wherever_they_stand() {
    let sanitiser = Sanitiser::new(["/work/agents/one/".to_owned(), "/x".to_owned()]);
    let shown = sanitiser.text("Xpre/work/agents/one/src/a.rs", Omission::ToolResult);
    assert_eq!(shown, "Xpre[host-path]/src/a.rs");
}

// RUN-9: assignment-shaped prose is left out whole; exactly the marker is exempt.
#[test]
fn assigned_secrets() {
    let gone = Omission::ToolResult.sentinel();
    for given in [
        "password=hunter2",
        "the Password: hunter2 was used",
        "{\"client_secret\": \"abc\"}",
        "secret = 'x[redacted]'",
        "password=[redacted]x",
        "password=x[redacted]",
        "password=\"[redacted] \"",
        "db_password => abc",
        "password:\n  hunter2",
        "PASSWD=1",
        r#"{\"password\":\"abc\"}"#,
        "secret：值",
    ] {
        assert_eq!(text(given), gone, "{given}");
    }
    for given in [
        "password=[redacted]",
        "password: \"[redacted]\", user: bob",
        "secret='[redacted]' next",
        r#"{\"password\":\"[redacted]\"}"#,
        "the password is wrong",
        "enter your password:",
        "secretary meeting at noon",
        "no secrets here",
    ] {
        assert_eq!(text(given), given, "{given}");
    }
    assert_eq!(
        Sanitiser::default().text("secret=x", Omission::Diagnostic),
        "[diagnostic omitted: it may hold a credential]"
    );
}

// RUN-9: numbers by family; keys as well as values.
#[test]
fn numbers_under_credential_keys_go_by_family() {
    let given = json!({"credential": 1, "private_key": 2, "bearer": 3, "apiKey": 4, "token": 5, "client_secret": 6,
        "password": 7, "authorization": 8, "Cookie": 9, "credentials": "x", "maxTokens": 10, "n": 11});
    let gone = json!("[redacted]");
    let shown = Sanitiser::default().value(given, Omission::ToolResult);
    for key in [
        "apiKey",
        "token",
        "client_secret",
        "password",
        "authorization",
        "Cookie",
        "credentials",
        "maxTokens",
    ] {
        assert_eq!(shown[key], gone, "{key}");
    }
    for (key, kept) in [("credential", 1), ("private_key", 2), ("bearer", 3), ("n", 11)] {
        assert_eq!(shown[key], json!(kept), "{key}");
    }
}

// HIS-7: keys lose their paths too, safe ones stay, and nothing is lost where two come out alike.
#[test]
fn keys_are_renamed_without_collision() {
    let given =
        json!({"/home/a/x/f": 1, "[host-path]/x/f": 2, "/home/b/x/f": 3, "safe": {"/srv/q": "/home/z/w"}});
    let shown = Sanitiser::default().value(given, Omission::ToolResult);
    assert_eq!(
        shown,
        json!({"[host-path]/x/f#2": 1, "[host-path]/x/f": 2, "[host-path]/x/f#3": 3,
            "safe": {"[host-path]/q": "[host-path]/w"}})
    );
    let again = Sanitiser::default().value(shown.clone(), Omission::ToolResult);
    assert_eq!(again, shown);
}

#[test]
fn encoded_blobs_are_left_out_and_long_text_stays() {
    let blob = "aGVsbG8gd29ybGQ3MTIz4567890".repeat(40);
    assert!(text(&format!("data: {blob} end")).contains("bytes of encoded data omitted] end"));
    let prose = "word ".repeat(400);
    assert_eq!(text(&prose), prose);
    let row = "x".repeat(2000);
    assert_eq!(text(&row), row);
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("/home/alice/"),
        Just("/"),
        Just("\\"),
        Just("\\\\"),
        Just("C:\\Users\\"),
        Just("://"),
        Just("file"),
        Just("http"),
        Just("~"),
        Just("$HOME"),
        Just(" "),
        Just("\""),
        Just("'"),
        Just("["),
        Just("]"),
        Just("."),
        Just(":"),
        Just("[host-path]"),
        Just("%2F"),
        Just(".mono-agent"),
        Just("-I"),
        Just("password"),
        Just("="),
        Just("[redacted]"),
        Just("评"),
        Just("…"),
        Just("\n"),
        Just("a"),
        Just("Bob"),
        Just("?"),
        Just("&"),
        Just("<"),
        Just("home"),
        Just("x.txt"),
        Just("%"),
        Just("\\ "),
        Just("@"),
        Just("secret"),
    ]
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    // RUN-9: what was shown once is shown the same again.
    #[test]
    fn idempotent(pieces in proptest::collection::vec(piece(), 0..14)) {
        let given = pieces.concat();
        let once = text(&given);
        prop_assert_eq!(text(&once), once.clone(), "{}", given);
    }

    // RUN-8: no home survives, whatever stands around it.
    #[test]
    fn no_account_survives(before in "[ \"'(=:,;>\\[{]?", middle in proptest::collection::vec("[a-z]{1,6}", 0..4), after in "[ \"'),;.:]?") {
        let given = format!("{before}/home/zqxaccount/{}{after}", middle.join("/"));
        prop_assert!(!text(&given).contains("zqxaccount"), "{}", given);
        prop_assert!(!text(&given).contains("/home"), "{}", given);
    }

    #[test]
    fn ordinary_prose_stays(given in "[a-zA-Z0-9 ,.!?äöü评审-]{0,120}") {
        prop_assert_eq!(text(&given), given);
    }

    #[test]
    fn values_are_idempotent_and_keep_their_number(keys in proptest::collection::vec(proptest::collection::vec(piece(), 1..5), 1..6)) {
        let map: serde_json::Map<String, Value> = keys.iter().map(|key| (key.concat(), json!(key.concat()))).collect();
        let count = map.len();
        let sanitiser = Sanitiser::default();
        let once = sanitiser.value(Value::Object(map), Omission::ToolResult);
        prop_assert_eq!(once.as_object().map(serde_json::Map::len), Some(count));
        prop_assert_eq!(sanitiser.value(once.clone(), Omission::ToolResult), once);
    }
}
