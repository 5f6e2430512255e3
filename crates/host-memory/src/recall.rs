//! Looking facts up, and what of them may be shown.

use crate::bullet::instant;
use crate::rank::{self, QueryVector};
use crate::refusal::unsafe_characters;
use crate::store::Freshness;
use crate::sync::SyncError;
use crate::{EmbedError, Embedder, FactRow, MemoryStore, Purpose, Status, Tier};
use host_ports::BoxFuture;
use host_ports::memory::{Hit, OMITTED, QUERY_BYTES_MAX, Recall, RecallError, Recalled};

/// How many texts go to an embedder at once.
const EMBED_BATCH: usize = 32;
/// How many facts one step away are added at most.
const STEPS_HITS_MAX: usize = 3;
/// How many facts without a vector are looked up at once.
const MISSING_AT_ONCE: usize = 4096;

impl Recall for MemoryStore {
    fn recall<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Recalled, RecallError>> {
        Box::pin(self.look_up(query, limit, self.tier() == Tier::Bujo))
    }
}

impl MemoryStore {
    /// Looks facts up; with `steps`, also those that are one step away in the graph.
    pub(crate) async fn look_up(
        &self,
        query: &str,
        limit: usize,
        steps: bool,
    ) -> Result<Recalled, RecallError> {
        if query.len() > QUERY_BYTES_MAX {
            return Err(RecallError::TooLong);
        }
        if !query.chars().any(char::is_alphanumeric) {
            return Err(RecallError::Empty);
        }
        let (vector, no_vector) = self.query_vector(query).await;
        let (store, query) = (self.clone(), query.to_owned());
        let done = tokio::task::spawn_blocking(move || {
            let (mut hits, freshness) = store.recall_now(&query, vector.as_deref(), limit)?;
            if steps && !hits.is_empty() {
                store.add_one_step(&query, &mut hits, limit)?;
            }
            Ok::<_, SyncError>((hits, freshness))
        })
        .await;
        let (hits, freshness) = done
            .map_err(|_| RecallError::Unavailable { why: "the host is stopping" })?
            .map_err(|err| RecallError::Unavailable { why: reason(&err) })?;
        let stale = (freshness == Freshness::Behind).then_some("the newest notes are not in the index yet");
        let degraded: Vec<&str> = no_vector.into_iter().chain(stale).collect();
        Ok(Recalled { hits, degraded: (!degraded.is_empty()).then(|| degraded.join("; ")) })
    }

    /// The query's vector, or why there is none. Full text works without it.
    async fn query_vector(&self, query: &str) -> (Option<Vec<f32>>, Option<&'static str>) {
        let Some(embedder) = &self.parts.embedder else { return (None, None) };
        let identity = embedder.identity();
        let store = self.clone();
        let fits = tokio::task::spawn_blocking(move || store.index().use_vectors(&identity, false)).await;
        if !matches!(fits, Ok(Ok(()))) {
            return (
                None,
                Some("by words alone: the index holds another model's vectors; an operator can rebuild it"),
            );
        }
        match embedder.embed(&[query.to_owned()], Purpose::Query).await {
            Ok(mut vectors) if vectors.len() == 1 => (vectors.pop(), None),
            Err(EmbedError::NotInstalled) => (
                None,
                Some("by words alone: the local model is not installed (mono-agent memory embedder install)"),
            ),
            Err(EmbedError::Answer(_)) | Ok(_) => (
                None,
                Some("by words alone: the embedder's answer can't be used (mono-agent validate says why)"),
            ),
            Err(_) => (None, Some("by words alone: the embedder can't be reached")),
        }
    }

    /// Adds what is one step away from the hits, under all of them.
    fn add_one_step(&self, query: &str, hits: &mut Vec<Hit>, limit: usize) -> Result<(), SyncError> {
        let room = limit.saturating_sub(hits.len()).min(STEPS_HITS_MAX);
        if room == 0 {
            return Ok(());
        }
        let mut direct = Vec::new();
        for hit in hits.iter() {
            direct.extend(self.index().by_id(&hit.id)?);
        }
        let weakest = hits.iter().map(|hit| hit.score).fold(1.0, f32::min);
        let found = self.one_step(query, &direct, room)?;
        let found = found.into_iter().map(|row| (row, weakest * 0.5)).collect();
        let more = self.settle(found)?;
        hits.extend(more.into_iter().map(|(row, score)| self.hit(row, score)));
        Ok(())
    }

    /// Asks the embedder for one vector; `None` where there is no embedder.
    pub async fn try_embedder(&self) -> Option<Result<(), EmbedError>> {
        let embedder = self.parts.embedder.as_ref()?;
        Some(embedder.embed(&["a test".to_owned()], Purpose::Query).await.map(|_| ()))
    }

    /// The facts that fit, on this thread.
    ///
    /// # Errors
    /// Where notes or index can't be used.
    pub(crate) fn recall_now(
        &self,
        query: &str,
        vector: Option<&[f32]>,
        limit: usize,
    ) -> Result<(Vec<Hit>, Freshness), SyncError> {
        let freshness = self.refresh()?;
        let scale = self.parts.embedder.as_ref().map(|it| it.scale()).unwrap_or_default();
        let vector = vector.map(|vector| QueryVector { vector, scale });
        let found = rank::search(self.index(), query, vector.as_ref(), limit)?;
        let mut kept = self.settle(found)?;
        kept.truncate(limit);
        Ok((kept.into_iter().map(|(row, score)| self.hit(row, score)).collect(), freshness))
    }

    pub(crate) fn hit(&self, row: FactRow, score: f32) -> Hit {
        let bullet = row.bullet;
        let currentness = if bullet.status == Status::Invalidated { "superseded" } else { "current" };
        Hit {
            text: self.shown(&bullet.text, usize::MAX).0,
            created_at: instant(bullet.created_ms()),
            id: self.shown_id(&bullet.id),
            score: (score * 100.0).round() / 100.0,
            source: row.source.to_string(),
            kind: bullet.kind.as_str().to_owned(),
            status: bullet.status.as_str().to_owned(),
            currentness: currentness.to_owned(),
        }
    }

    /// A text as it may be shown: a fixed marker in the place of an unsafe one (JRN-4, T10-05), and whether it
    /// was cut. What somebody wrote into the notes by hand passed no check before.
    pub(crate) fn shown(&self, text: &str, bytes_max: usize) -> (String, bool) {
        if unsafe_characters(text).is_some() || self.parts.refusal.holds_secret(text) {
            return (OMITTED.to_owned(), false);
        }
        let cut = host_vocab::text::prefix(text, bytes_max);
        (cut.to_owned(), cut.len() < text.len())
    }

    /// An id as it may be shown. One that was made from content is shown as it is.
    pub(crate) fn shown_id(&self, id: &str) -> String {
        let hash = |rest: &str| rest.len() >= 64 && rest.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if ["RM-", "J-", "C-"].iter().any(|it| id.strip_prefix(it).is_some_and(hash)) && id.len() <= 80 {
            return id.to_owned();
        }
        self.shown(id, 200).0
    }

    /// Makes the vectors that are missing, at most `limit`, and says how many were made.
    ///
    /// # Errors
    /// What the embedder or the index said, in words.
    pub async fn embed_missing(&self, limit: usize) -> Result<usize, String> {
        let Some(embedder) = self.parts.embedder.clone() else { return Ok(0) };
        let identity = embedder.identity();
        let mut made = 0;
        while made < limit {
            let (store, identity) = (self.clone(), identity.clone());
            // Looking for what is missing reads the whole index, so it is done for many at once.
            let next = tokio::task::spawn_blocking(move || {
                store.index().use_vectors(&identity, false)?;
                store.index().without_vector((limit - made).min(MISSING_AT_ONCE))
            });
            let missing = next.await.map_err(|err| err.to_string())?.map_err(|err| err.to_string())?;
            if missing.is_empty() {
                break;
            }
            for batch in missing.chunks(EMBED_BATCH) {
                self.embed_batch(embedder.as_ref(), batch).await?;
                made += batch.len();
            }
        }
        Ok(made)
    }
}

impl MemoryStore {
    async fn embed_batch(&self, embedder: &dyn Embedder, batch: &[(i64, String)]) -> Result<(), String> {
        // What may not be shown may not go to an embedder either.
        let texts: Vec<String> = batch.iter().map(|(_, text)| self.shown(text, usize::MAX).0).collect();
        let vectors = embedder.embed(&texts, Purpose::Fact).await.map_err(|err| err.to_string())?;
        if vectors.len() != batch.len() {
            return Err("the embedder gave another number of vectors".to_owned());
        }
        let rows = batch.iter().map(|(row, _)| *row);
        let pairs: Vec<(i64, Vec<f32>)> = rows.zip(vectors.into_iter().map(directed)).collect();
        let store = self.clone();
        let put = tokio::task::spawn_blocking(move || store.index().put_vectors(&pairs)).await;
        put.map_err(|err| err.to_string())?.map_err(|err| err.to_string())
    }
}

/// A text without a single token gets a vector that is near to nothing, so that it isn't asked for again.
fn directed(mut vector: Vec<f32>) -> Vec<f32> {
    if vector.iter().all(|number| *number == 0.0)
        && let Some(first) = vector.first_mut()
    {
        *first = 1.0;
    }
    vector
}

fn reason(err: &SyncError) -> &'static str {
    match err {
        SyncError::Notes(_) => "the notes can't be read",
        SyncError::Index(_) => "the index can't be used",
    }
}
