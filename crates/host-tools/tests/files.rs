//! The file tools over real folders, through the gate.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests build their own folders")]

#[path = "files/edit.rs"]
mod edit;
#[path = "files/read.rs"]
mod read;
#[path = "files/search.rs"]
mod search;
#[path = "files/write.rs"]
mod write;

use host_files::{AgentFiles, FilesConfig};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::files::Files;
use host_surface::{How, Offer, Settled};
use host_testkit::TestSurface;
use host_tools::{EditTool, GlobTool, GrepTool, ListDirTool, ReadTool, WriteTool};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

struct Agent {
    _temp: tempfile::TempDir,
    w: PathBuf,
    app: PathBuf,
    surface: TestSurface,
}

impl Agent {
    async fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let w = temp.path().canonicalize().unwrap();
        let app = w.join("app");
        fs::create_dir(&app).unwrap();
        let files: Arc<dyn Files> = Arc::new(AgentFiles::new(&FilesConfig::workspace(&app)).unwrap());
        let offers = vec![
            Offer::ready(ReadTool::new(Arc::clone(&files))),
            Offer::ready(WriteTool::new(Arc::clone(&files))),
            Offer::ready(EditTool::new(Arc::clone(&files))),
            Offer::ready(GlobTool::new(Arc::clone(&files))),
            Offer::ready(GrepTool::new(Arc::clone(&files))),
            Offer::ready(ListDirTool::new(files)),
        ];
        let surface = TestSurface::seal(offers, ToolPolicy::allow_all(), ApprovalRules::default()).await;
        Agent { _temp: temp, w, app, surface }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.app.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, path: &str) -> Vec<u8> {
        fs::read(self.app.join(path)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Settled {
        self.surface.call(tool, arguments).await
    }

    /// A call that does what it was asked; gives its text.
    async fn ok(&self, tool: &str, arguments: Value) -> String {
        let settled = self.call(tool, arguments).await;
        assert_eq!(settled.how, How::Done, "{}", settled.text());
        settled.text()
    }

    /// A call that fails; gives its code and text.
    async fn fails(&self, tool: &str, arguments: Value) -> (String, String) {
        let settled = self.call(tool, arguments).await;
        assert_ne!(settled.how, How::Done, "{}", settled.text());
        (settled.code.to_string(), settled.text())
    }
}

// T6-11: the same error by every tool, and nothing outside is read, changed or made
#[tokio::test]
async fn no_tool_leaves_the_folders() {
    let agent = Agent::new().await;
    fs::create_dir_all(agent.w.join("other")).unwrap();
    fs::create_dir_all(agent.w.join("app-evil")).unwrap();
    fs::write(agent.w.join("other/x"), "SECRET").unwrap();
    fs::write(agent.w.join("app-evil/x"), "SECRET").unwrap();
    std::os::unix::fs::symlink(agent.w.join("other"), agent.app.join("out")).unwrap();
    agent.put("in/x", "mine");
    std::os::unix::fs::symlink("in", agent.app.join("link")).unwrap();
    for path in ["out/x", "../app-evil/x", "/proc/self/root/etc/hostname", "a/../../app-evil/x", "out/none"] {
        for (tool, arguments) in [
            ("Read", json!({"file_path":path})),
            ("Write", json!({"file_path":path,"content":"x"})),
            ("Edit", json!({"file_path":path,"old_string":"SECRET","new_string":"x"})),
            ("Glob", json!({"pattern":"*","path":path})),
            ("Grep", json!({"pattern":"SECRET","path":path})),
            ("ListDir", json!({"path":path})),
        ] {
            let (code, text) = agent.fails(tool, arguments).await;
            assert_eq!(code, "path_denied", "{tool} {path}");
            assert!(text.contains("outside the agent's folders"), "{tool} {path}: {text}");
            assert!(!text.contains("SECRET"));
        }
    }
    assert_eq!(fs::read_to_string(agent.w.join("other/x")).unwrap(), "SECRET");
    assert!(!agent.w.join("other/none").exists());
    assert!(agent.ok("Read", json!({"file_path":"link/x"})).await.contains("mine"));
    let whole = agent.ok("Grep", json!({"pattern":"SECRET|mine"})).await;
    assert_eq!(whole, "in/x");
}

// TOO-8
#[tokio::test]
async fn arguments_are_checked_before_anything_runs() {
    let agent = Agent::new().await;
    for (tool, arguments, place) in [
        ("Read", json!({"file_path":"a","colour":1}), "colour"),
        ("Read", json!({"file_path":"a","start_line":0}), "start_line"),
        ("Edit", json!({"file_path":"a","edits":[{"old_string":"x"}]}), "edits[0]"),
        ("Glob", json!({"pattern":"*","limit":1001}), "limit"),
        ("Grep", json!({"pattern":"x","context":21}), "context"),
        ("Write", json!({"file_path":"a"}), "content"),
    ] {
        let (code, text) = agent.fails(tool, arguments).await;
        assert_eq!(code, "invalid_arguments");
        assert!(text.contains(place), "{tool}: {text}");
    }
    assert!(!agent.app.join("a").exists());
}

#[tokio::test]
async fn what_the_model_is_told_of_the_file_tools_is_short() {
    let agent = Agent::new().await;
    let mut all = 0;
    for spec in agent.surface.surface.specs().iter() {
        let size = spec.description.len() + spec.input_schema.to_string().len();
        assert!(size <= 1_700, "{}: {size}\n{}", spec.name, spec.input_schema);
        all += size;
    }
    assert!(all <= 6_200, "{all}");
}
