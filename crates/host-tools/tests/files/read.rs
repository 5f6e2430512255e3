//! Read.

use super::Agent;
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

// TOO-1
#[tokio::test]
async fn lines_have_numbers_and_a_way_on() {
    let agent = Agent::new().await;
    let text: String = (1..=30).map(|n| format!("line {n}\r\n")).collect();
    agent.put("f", format!("\u{feff}{text}"));
    let whole = agent.ok("Read", json!({"file_path":"f"})).await;
    assert!(whole.starts_with("1\tline 1\n2\tline 2\n") && whole.ends_with("30\tline 30"), "{whole}");
    let part = agent.ok("Read", json!({"file_path":"f","start_line":3,"limit":2,"offset":20})).await;
    assert_eq!(part, "3\tline 3\n4\tline 4\n[lines 3–4 of 30 lines shown; next: start_line 5]");
    let part = agent.ok("Read", json!({"file_path":"f","offset":28})).await;
    assert_eq!(part, "29\tline 29\n30\tline 30\n[lines 29–30 of 30 lines shown]");
    let past = agent.ok("Read", json!({"file_path":"f","start_line":31})).await;
    assert_eq!(past, "[the file has 30 lines; line 31 is past its end]");
    let raw = agent.ok("Read", json!({"file_path":"f","raw":true})).await;
    assert_eq!(raw, text);
    agent.put("long", "word\n".repeat(10_000));
    let capped = agent.ok("Read", json!({"file_path":"long"})).await;
    assert!(
        capped.len() < 17_000 && capped.contains("of 10000 lines shown; next: start_line "),
        "{capped:.60}"
    );
}

// T8-11, FIL-1
#[tokio::test]
async fn odd_files_answer_within_a_second() {
    let agent = Agent::new().await;
    let fifo = agent.app.join("p");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", agent.app.join("zero")).unwrap();
    fs::File::create(agent.app.join("big")).unwrap().set_len(5 << 30).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(agent.app.join("s")).unwrap();
    agent.put("exact", "x".repeat(63).add_line().repeat(4096));
    agent.put("over", "x".repeat(63).add_line().repeat(4096) + "y");
    agent.put("one-line.json", format!("[{}0]", "1,".repeat(50_000)));
    agent.put("empty", "");
    fs::create_dir(agent.app.join("d")).unwrap();
    let begun = Instant::now();
    for (path, code) in [
        ("p", "special_file"),
        ("s", "special_file"),
        ("zero", "path_denied"),
        ("big", "binary_file"),
        ("over", "too_large"),
        ("d", "is_directory"),
        ("none", "not_found"),
    ] {
        assert_eq!(agent.fails("Read", json!({"file_path":path})).await.0, code, "{path}");
    }
    let (_, message) = agent.fails("Read", json!({"file_path":"over","raw":true})).await;
    assert!(message.contains("262144") && message.contains("start_line"), "{message}");
    let raw = agent.call("Read", json!({"file_path":"exact","raw":true})).await;
    assert_eq!((raw.text().len(), raw.truncated), (262_144, false));
    let window = agent.ok("Read", json!({"file_path":"over","start_line":4096})).await;
    assert!(window.starts_with("4096\txxx") && window.contains("4097\ty"), "{window}");
    let line = agent.ok("Read", json!({"file_path":"one-line.json"})).await;
    assert!(
        line.starts_with("1\t[1,1,") && line.contains("98003 more characters in this line; raw"),
        "{line:.80}"
    );
    assert!(line.len() < 2_200);
    assert_eq!(agent.ok("Read", json!({"file_path":"empty"})).await, "empty is empty (0 bytes)");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

trait AddLine {
    fn add_line(self) -> Self;
}

impl AddLine for String {
    fn add_line(mut self) -> Self {
        self.push('\n');
        self
    }
}

// FIL-1: a part of a large file is not the file in memory
#[tokio::test]
async fn a_part_of_a_large_file() {
    let agent = Agent::new().await;
    agent.put("log", (1..=200_000).map(|n| format!("entry {n}\n")).collect::<String>());
    let part = agent.ok("Read", json!({"file_path":"log","start_line":150_000,"limit":2})).await;
    assert_eq!(
        part,
        "150000\tentry 150000\n150001\tentry 150001\n[lines 150000–150001 shown; next: start_line 150002]"
    );
    let end = agent.ok("Read", json!({"file_path":"log","start_line":199_999})).await;
    assert!(end.ends_with("200000\tentry 200000\n[lines 199999–200000 of 200000 lines shown]"), "{end}");
    let past = agent.ok("Read", json!({"file_path":"log","start_line":200_001})).await;
    assert!(past.contains("past its end"), "{past}");
    let raw = agent.ok("Read", json!({"file_path":"log","offset":10,"limit":1,"raw":true})).await;
    assert!(raw.starts_with("entry 11\n"), "{raw}");
    agent.put("wide", format!("{}\nsecond\n", "é".repeat(2_000_000)));
    let wide = agent.ok("Read", json!({"file_path":"wide","limit":2})).await;
    assert!(
        wide.starts_with("1\tééé") && wide.contains("more bytes in this line") && wide.contains("2\tsecond"),
        "{wide:.99}"
    );
}

#[tokio::test]
async fn binary_files_are_named_by_kind_and_size() {
    let agent = Agent::new().await;
    agent.put("z.txt", b"PK\x03\x04\0\0\0");
    let (code, text) = agent.fails("Read", json!({"file_path":"z.txt"})).await;
    assert_eq!(code, "binary_file");
    assert!(text.contains("ZIP") && text.contains("7 bytes"), "{text}");
    agent.put("u", b"\xff\xfea\0b\0");
    assert!(agent.fails("Read", json!({"file_path":"u"})).await.1.contains("UTF-16"));
    agent.put("latin", b"caf\xe9\n");
    assert!(agent.ok("Read", json!({"file_path":"latin"})).await.contains("no UTF-8"));
}

#[tokio::test]
async fn a_name_that_is_not_there_gets_a_hint() {
    let agent = Agent::new().await;
    agent.put("src/main.rs", "x");
    let (_, text) = agent.fails("Read", json!({"file_path":"src/Main.rs"})).await;
    assert!(text.ends_with("did you mean src/main.rs?"), "{text}");
    let (_, text) = agent.fails("Read", json!({"file_path":"none/at/all"})).await;
    assert!(text.ends_with("no such file or folder"), "{text}");
}

#[tokio::test]
async fn pictures_are_told_by_their_bytes() {
    let agent = Agent::new().await;
    agent.put("a.txt", b"\x89PNG\r\n\x1a\nrest");
    let settled = agent.call("Read", json!({"file_path":"a.txt"})).await;
    let image = serde_json::to_value(&settled.content[1]).unwrap();
    assert_eq!((image["type"].as_str(), image["mimeType"].as_str()), (Some("image"), Some("image/png")));
    agent.put("b.png", "only text\n");
    assert_eq!(agent.ok("Read", json!({"file_path":"b.png"})).await, "1\tonly text");
    let mut large = b"\xff\xd8\xff".to_vec();
    large.resize(6 << 20, 1);
    agent.put("large.jpg", large);
    assert_eq!(agent.fails("Read", json!({"file_path":"large.jpg"})).await.0, "too_large");
}

#[tokio::test]
async fn notebooks_are_their_cells() {
    let agent = Agent::new().await;
    let notebook = json!({"cells":[
        {"cell_type":"markdown","source":["# A\n","b"]},
        {"cell_type":"code","source":"print(1)","outputs":[
            {"output_type":"stream","text":["1\n"]},
            {"data":{"image/png":"AAAA","text/plain":"<plot>"}},
            {"ename":"ValueError","evalue":"bad"}]}]});
    agent.put("n.ipynb", notebook.to_string());
    let text = agent.ok("Read", json!({"file_path":"n.ipynb"})).await;
    for part in ["# cell 1 (markdown)", "print(1)", "[image/png, 4 characters", "<plot>", "ValueError: bad"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(agent.ok("Read", json!({"file_path":"n.ipynb","raw":true})).await.starts_with('{'));
    agent.put("broken.ipynb", "{\n");
    assert_eq!(agent.ok("Read", json!({"file_path":"broken.ipynb"})).await, "1\t{");
}

// FIL-2, FIL-3
#[tokio::test]
async fn large_files_are_outlined() {
    let agent = Agent::new().await;
    let words = "words and more words\n".repeat(200);
    agent.put("doc.md", format!("# First\n{words}\n## Second [part](http://x)\n{words}"));
    let outline = agent.ok("Read", json!({"file_path":"doc.md"})).await;
    assert!(outline.contains("1\tFirst\t#first\n203\t  Second part\t#second-part\n"), "{outline}");
    assert!(agent.ok("Read", json!({"file_path":"doc.md","raw":true})).await.starts_with("# First\nwords"));
    assert!(
        agent.ok("Read", json!({"file_path":"doc.md","limit":1})).await.starts_with("1\t# First\n[lines")
    );
    agent.put("small.md", "# First\n");
    assert_eq!(agent.ok("Read", json!({"file_path":"small.md"})).await, "1\t# First");
    let body = "    let x = 1;\n".repeat(300);
    agent.put("code.rs", format!("pub struct A;\n\nimpl A {{\n    pub fn run(&self) {{\n{body}    }}\n}}\n\nfn late() {{\n{body}}}\n"));
    let outline = agent.ok("Read", json!({"file_path":"code.rs"})).await;
    assert!(
        outline.contains("4\t  pub fn run(&self)\t#run\n") && outline.contains("\tfn late()\t#late"),
        "{outline}"
    );
}

#[tokio::test]
async fn the_text_of_a_pdf() {
    let agent = Agent::new().await;
    agent.put("a.pdf", small_pdf());
    let text = agent.ok("Read", json!({"file_path":"a.pdf"})).await;
    assert!(text.contains("--- page 1 ---") && text.contains("Hello PDF"), "{text}");
    agent.put("b.pdf", b"%PDF-1.7 garbage");
    let (code, message) = agent.fails("Read", json!({"file_path":"b.pdf"})).await;
    assert_eq!(code, "unsupported_media");
    assert!(message.contains("16 bytes"), "{message}");
}

fn small_pdf() -> Vec<u8> {
    let stream = "BT /F1 12 Tf 72 712 Td (Hello PDF) Tj ET";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let table = out.len();
    out.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for place in places {
        out.push_str(&format!("{place:010} 00000 n \n"));
    }
    out.push_str(&format!(
        "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    out.into_bytes()
}
