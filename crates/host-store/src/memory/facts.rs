//! Facts: taken in, found, given back.

use super::tables;
use host_memory::{
    Bullet, FactRow, Fingerprint, IndexCounts, IndexedSource, Kind, SourceName, SourceUpdate, Status,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// From how many facts on the indexes are made afterwards.
const MANY: usize = 2000;
/// How many bytes of words full text keeps before it writes a part: FTS5's own figure, and one for very many facts.
const WORDS_BYTES: i64 = 1024 * 1024;
const WORDS_BYTES_MANY: i64 = 32 * 1024 * 1024;
const COLUMNS: &str = "facts.row, sources.name, facts.kind, facts.status, facts.salience, facts.insight, \
                       facts.id, facts.created, facts.refs, facts.due, facts.text";

/// Eight bytes of SHA-256: what ids and texts are looked up by.
pub(super) fn sum(text: &str) -> i64 {
    let digest = Sha256::digest(text.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_le_bytes(first)
}

const SOURCE: &str = "SELECT name, bytes, modified_ns, inode, read_bytes, sum FROM sources";

pub(super) fn sources(conn: &Connection) -> rusqlite::Result<Vec<IndexedSource>> {
    let mut find = conn.prepare_cached(SOURCE)?;
    let rows = find.query_map([], indexed)?;
    rows.filter_map(Result::transpose).collect()
}

pub(super) fn source(conn: &Connection, name: &SourceName) -> rusqlite::Result<Option<IndexedSource>> {
    let mut find = conn.prepare_cached(&format!("{SOURCE} WHERE name = ?1"))?;
    find.query_row([name.to_string()], indexed).optional().map(Option::flatten)
}

fn indexed(row: &Row<'_>) -> rusqlite::Result<Option<IndexedSource>> {
    let signed = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let Some(name) = SourceName::parse(row.get_ref(0)?.as_str()?) else { return Ok(None) };
    let fingerprint = Fingerprint { bytes: signed(1)?, modified_ns: row.get(2)?, inode: signed(3)? };
    Ok(Some(IndexedSource { name, fingerprint, read_bytes: signed(4)?, sum: signed(5)? }))
}

pub(super) fn update(
    conn: &Connection,
    updates: &[SourceUpdate],
    gone: &[SourceName],
) -> rusqlite::Result<()> {
    let mut live = 0;
    for name in gone {
        if let Some(key) = key_of(conn, name)? {
            live -= remove(conn, key)?;
            conn.execute("DELETE FROM sources WHERE key = ?1", [key])?;
        }
    }
    let more = updates.iter().map(|it| it.facts.len()).sum::<usize>();
    let there: i64 = conn.query_row("SELECT coalesce(max(row), 0) FROM facts", [], |row| row.get(0))?;
    let many = more > MANY && signed(more) > there / 2;
    if many {
        // Rows of sources that are read again go while their index is still there.
        for update in updates.iter().filter(|it| it.replace) {
            if let Some(key) = key_of(conn, &update.source.name)? {
                live -= remove(conn, key)?;
            }
        }
        tables::without_indexes(conn)?;
    }
    for update in updates {
        live += take_in(conn, update, !many)?;
    }
    if many {
        tables::with_indexes(conn)?;
    }
    conn.prepare_cached("UPDATE meta SET value = value + ?1 WHERE name = 'live'")?.execute([live])?;
    Ok(())
}

/// Takes sources into tables that are empty: without indexes, and with room for the words of all of them.
pub(super) fn fill(
    conn: &Connection,
    updates: &mut dyn Iterator<Item = SourceUpdate>,
) -> rusqlite::Result<()> {
    tables::without_indexes(conn)?;
    tables::words_in_memory(conn, WORDS_BYTES_MANY)?;
    let mut live = 0;
    for update in updates {
        live += take_in(conn, &update, false)?;
    }
    tables::words_in_memory(conn, WORDS_BYTES)?;
    tables::with_indexes(conn)?;
    conn.prepare_cached("UPDATE meta SET value = value + ?1 WHERE name = 'live'")?.execute([live])?;
    Ok(())
}

fn key_of(conn: &Connection, name: &SourceName) -> rusqlite::Result<Option<i64>> {
    let mut find = conn.prepare_cached("SELECT key FROM sources WHERE name = ?1")?;
    find.query_row([name.to_string()], |row| row.get(0)).optional()
}

/// Removes the facts of a source and says how many live ones there were.
fn remove(conn: &Connection, source: i64) -> rusqlite::Result<i64> {
    let mut find = conn.prepare_cached("SELECT row FROM facts WHERE source = ?1 AND live")?;
    let rows: Vec<i64> = find.query_map([source], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut word = conn.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    for row in &rows {
        word.execute([row])?;
    }
    conn.prepare_cached("DELETE FROM facts WHERE source = ?1")?.execute([source])?;
    Ok(i64::try_from(rows.len()).unwrap_or(i64::MAX))
}

fn take_in(conn: &Connection, update: &SourceUpdate, may_replace: bool) -> rusqlite::Result<i64> {
    let source = &update.source;
    let mut live = 0;
    let known = key_of(conn, &source.name)?;
    if let (Some(key), true, true) = (known, update.replace, may_replace) {
        live -= remove(conn, key)?;
    }
    conn.prepare_cached(
        "INSERT INTO sources(name, bytes, modified_ns, inode, read_bytes, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT(name) DO UPDATE SET bytes = ?2, modified_ns = ?3, inode = ?4, read_bytes = ?5, sum = ?6",
    )?
    .execute(params![
        source.name.to_string(),
        source.fingerprint.bytes.cast_signed(),
        source.fingerprint.modified_ns,
        source.fingerprint.inode.cast_signed(),
        source.read_bytes.cast_signed(),
        source.sum.cast_signed(),
    ])?;
    let key = match known {
        Some(key) => key,
        None => conn.last_insert_rowid(),
    };
    let mut fact = conn.prepare_cached(
        "INSERT INTO facts(source, id_sum, text_sum, at, live, kind, status, salience, insight, id, created, refs, due, text)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    let mut word = conn.prepare_cached("INSERT INTO words(rowid, terms) VALUES(?1, ?2)")?;
    for it in &update.facts {
        let bullet = &it.bullet;
        let is_live = bullet.status.is_live();
        fact.execute(params![
            key,
            sum(&bullet.id),
            sum(&bullet.text),
            bullet.created_ms(),
            is_live,
            bullet.kind.as_str(),
            bullet.status.as_str(),
            bullet.salience,
            bullet.is_insight,
            bullet.id,
            bullet.created,
            bullet.refs.join(","),
            bullet.due,
            bullet.text,
        ])?;
        if is_live {
            word.execute(params![conn.last_insert_rowid(), it.terms])?;
            live += 1;
        }
    }
    Ok(live)
}

fn fact(row: &Row<'_>) -> rusqlite::Result<Option<FactRow>> {
    let word = |column| row.get::<_, String>(column);
    let Some(source) = SourceName::parse(&word(1)?) else { return Ok(None) };
    Ok(Some(FactRow {
        row: row.get(0)?,
        source,
        bullet: Bullet {
            kind: Kind::of(&word(2)?).unwrap_or(Kind::Note),
            status: Status::of(&word(3)?).unwrap_or(Status::Dropped),
            salience: row.get(4)?,
            is_insight: row.get(5)?,
            id: word(6)?,
            created: word(7)?,
            refs: word(8)?.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            due: row.get(9)?,
            text: word(10)?,
        },
    }))
}

pub(super) fn by_id(conn: &Connection, id: &str) -> rusqlite::Result<Vec<FactRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts JOIN sources ON sources.key = facts.source
         WHERE facts.id_sum = ?1 AND facts.id = ?2 ORDER BY facts.row LIMIT 100"
    ))?;
    let rows = find.query_map(params![sum(id), id], fact)?;
    rows.filter_map(Result::transpose).collect()
}

pub(super) fn by_text(conn: &Connection, text: &str) -> rusqlite::Result<Vec<FactRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts JOIN sources ON sources.key = facts.source
         WHERE facts.text_sum = ?1 AND facts.text = ?2 ORDER BY facts.row LIMIT 100"
    ))?;
    let rows = find.query_map(params![sum(text), text], fact)?;
    rows.filter_map(Result::transpose).collect()
}

pub(super) fn rows(conn: &Connection, rows: &[i64]) -> rusqlite::Result<Vec<FactRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts JOIN sources ON sources.key = facts.source WHERE facts.row = ?1"
    ))?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        found.extend(find.query_row([row], fact).optional()?.flatten());
    }
    Ok(found)
}

pub(super) fn between(
    conn: &Connection,
    from_ms: i64,
    until_ms: i64,
    limit: usize,
) -> rusqlite::Result<Vec<FactRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts JOIN sources ON sources.key = facts.source
         WHERE facts.at >= ?1 AND facts.at < ?2 AND facts.status <> 'dropped' ORDER BY facts.at, facts.id LIMIT ?3"
    ))?;
    let found = find.query_map(params![from_ms, until_ms, signed(limit)], fact)?;
    found.filter_map(Result::transpose).collect()
}

pub(super) fn newest(conn: &Connection, limit: usize) -> rusqlite::Result<Vec<FactRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM facts JOIN sources ON sources.key = facts.source
         WHERE facts.live ORDER BY facts.at DESC, facts.id LIMIT ?1"
    ))?;
    let found = find.query_map([signed(limit)], fact)?;
    found.filter_map(Result::transpose).collect()
}

/// How often common words are, as it was when it was last counted: counting reads every fact that has the word.
#[derive(Default)]
pub(super) struct CommonWords(HashMap<String, (u64, u64)>);

/// From how many facts on a word is common, and how many of them are known at most.
const COMMON: i64 = 2000;
const COMMON_MAX: usize = 4096;

impl CommonWords {
    /// The count of a common word. It is counted anew once the memory has grown or shrunk by a tenth.
    fn count(&mut self, conn: &Connection, term: &str, live: u64) -> rusqlite::Result<u64> {
        if let Some((count, then)) = self.0.get(term)
            && live.abs_diff(*then) * 10 <= *then
        {
            return Ok(*count);
        }
        let mut find = conn.prepare_cached("SELECT doc FROM vocabulary WHERE term = ?1")?;
        let count: u64 = find.query_row([term], |row| row.get(0)).optional()?.unwrap_or_default();
        if self.0.len() >= COMMON_MAX {
            self.0.clear();
        }
        self.0.insert(term.to_owned(), (count, live));
        Ok(count)
    }
}

pub(super) fn frequencies(
    conn: &Connection,
    common: &mut CommonWords,
    terms: &[String],
) -> rusqlite::Result<(Vec<u64>, u64)> {
    let live = conn
        .prepare_cached("SELECT value FROM meta WHERE name = 'live'")?
        .query_row([], |row| row.get::<_, i64>(0))?;
    let live = live.max(0).cast_unsigned();
    let mut few =
        conn.prepare_cached("SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2)")?;
    let mut counts = Vec::with_capacity(terms.len());
    for term in terms {
        let Some(pattern) = pattern(std::slice::from_ref(term)) else {
            counts.push(0);
            continue;
        };
        let count: i64 = few.query_row(params![pattern, COMMON], |row| row.get(0))?;
        counts.push(if count < COMMON {
            count.max(0).cast_unsigned()
        } else {
            common.count(conn, term, live)?
        });
    }
    Ok((counts, live))
}

pub(super) fn matching(conn: &Connection, all_of: &[String], limit: usize) -> rusqlite::Result<Vec<i64>> {
    let Some(pattern) = pattern(all_of) else { return Ok(Vec::new()) };
    let mut find =
        conn.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2")?;
    find.query_map(params![pattern, signed(limit)], |row| row.get(0))?.collect()
}

/// Every word quoted, so that nothing in it is an operator.
fn pattern(all_of: &[String]) -> Option<String> {
    let words: Vec<String> = all_of
        .iter()
        .map(|word| {
            let (word, star) = word.strip_suffix('*').map_or((word.as_str(), ""), |word| (word, "*"));
            format!("\"{}\"{star}", word.replace(['"', '\0'], ""))
        })
        .filter(|word| !word.starts_with("\"\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}

pub(super) fn counts(conn: &Connection) -> rusqlite::Result<IndexCounts> {
    conn.query_row(
        "SELECT (SELECT count(DISTINCT id) FROM facts), (SELECT count(*) FROM facts WHERE live),
                (SELECT count(*) FROM facts WHERE status = 'dropped'),
                (SELECT count(*) FROM facts WHERE status = 'invalidated'), (SELECT count(*) FROM sources),
                (SELECT count(*) FROM facts WHERE live AND text_sum IN (SELECT text_sum FROM vectors)),
                (SELECT count(*) FROM facts) - (SELECT count(DISTINCT id) FROM facts)",
        [],
        |row| {
            let (live, vectors) = (row.get::<_, u64>(1)?, row.get::<_, u64>(5)?);
            Ok(IndexCounts {
                memories: row.get(0)?,
                live,
                dropped: row.get(2)?,
                invalidated: row.get(3)?,
                sources: row.get(4)?,
                vectors,
                missing_vectors: live.saturating_sub(vectors),
                repeated_ids: row.get(6)?,
            })
        },
    )
}

pub(super) fn signed(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
