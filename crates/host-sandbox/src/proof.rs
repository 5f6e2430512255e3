//! Whether an engine really works on this machine: shown by a small run, not believed (SBX-2).

use crate::engine::Engine;
use crate::identity::Become;
use crate::policy::SandboxPolicy;
use crate::run::collect_text;
use crate::sandbox::{ChildSpec, Inner, StartError};
use crate::scratch::Scratch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a proof may take.
const PROOF_MAX: Duration = Duration::from_secs(20);
/// Raised when a proof shows more than the last version's did.
const PROOF_VERSION: u32 = 3;

/// What was proved, in memory and on disk. A failure is never remembered, so that a repair needs no restart.
pub(crate) struct Proofs {
    file: Option<PathBuf>,
    proved: Mutex<Option<BTreeSet<String>>>,
}

impl Proofs {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Proofs { file, proved: Mutex::new(None) }
    }

    /// Whether an engine works, by what is known or by trying it. The error is the rest of a sentence.
    pub(crate) fn of(&self, engine: &dyn Engine, inner: &Inner) -> Result<(), String> {
        let user = Become::owner_of(&inner.policy.workspace);
        let (name, identity) = (engine.kind().as_str(), engine.identity());
        let key = match user {
            None => format!("{PROOF_VERSION} {name} {identity} {}", boot_id()),
            Some(user) => format!("{PROOF_VERSION} {name} {identity} user {} {}", user.uid, boot_id()),
        };
        let known =
            |proved: &mut Option<BTreeSet<String>>| proved.get_or_insert_with(|| self.load()).contains(&key);
        if known(&mut self.proved.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        prove(engine, inner, user)?;
        let mut proved = self.proved.lock().unwrap_or_else(PoisonError::into_inner);
        let all = proved.get_or_insert_with(BTreeSet::new);
        // Only this boot's and this version's proofs are worth keeping.
        all.retain(|old| old.ends_with(boot_id()));
        all.insert(key);
        self.store(all);
        Ok(())
    }

    fn load(&self) -> BTreeSet<String> {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn store(&self, all: &BTreeSet<String>) {
        let Some(file) = &self.file else { return };
        let Ok(text) = serde_json::to_string(all) else { return };
        let written = file.parent().map(std::fs::create_dir_all).transpose();
        // A cache: losing it costs one more proof.
        let fresh = file.with_extension(format!("{}.tmp", std::process::id()));
        let _ =
            written.and_then(|_| std::fs::write(&fresh, text)).and_then(|()| std::fs::rename(&fresh, file));
    }
}

fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        id.unwrap_or_default().trim().to_owned()
    })
}

/// A small run: it reads and writes inside, and can't read a secret beside it.
fn prove(engine: &dyn Engine, inner: &Inner, user: Option<Become>) -> Result<(), String> {
    let scratch =
        Scratch::make(&inner.environment.tmpdir).map_err(|error| format!("no temporary folder: {error}"))?;
    let folder =
        std::fs::canonicalize(scratch.path()).map_err(|error| format!("no temporary folder: {error}"))?;
    let (workspace, secret) = (folder.join("workspace"), folder.join("secret"));
    let made = std::fs::create_dir_all(workspace.join("sub"))
        .and_then(|()| std::fs::write(workspace.join("inside"), "inside\n"))
        .and_then(|()| std::fs::write(&secret, "secret\n"))
        .and_then(|()| {
            user.map_or(Ok(()), |user| user.given_all(&[&folder, &workspace, &workspace.join("sub")]))
        });
    made.map_err(|error| format!("the temporary folder can't be used: {error}"))?;
    let policy = SandboxPolicy::native(&workspace);
    let script =
        "cat inside; cat ../secret; (: > sub/made) && echo made; (: > ../outside); (: > .env) && echo denied";
    let spec = ChildSpec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        env: BTreeMap::new(),
        cwd: workspace.clone(),
        policy: &policy,
        confined: true,
        run: None,
        own: Vec::new(),
    };
    let mut started = inner.start_with(engine, spec).map_err(|error| match error {
        StartError::Sandbox(why) => why,
        StartError::Os(error) => format!("it could not be started: {error}"),
    })?;
    let said = collect_text(&mut started.tree, PROOF_MAX)?;
    drop(started.after);
    let expected = ["inside", "made"];
    // What a child writes to a private folder of its own is no escape; what appears on the machine is.
    if folder.join("outside").exists() || !workspace.join("sub/made").exists() {
        return Err("a small run inside wrote where it may not, or could not write where it may".to_owned());
    }
    let lines: Vec<&str> = said.lines().collect();
    if lines == expected {
        Ok(())
    } else {
        Err(format!("a small run inside did {lines:?} where {expected:?} was right"))
    }
}
