//! What is asked of the console's tables.

use host_console::{
    Change, FollowUp, FollowUpState, HitRow, Message, MessageRow, Submission, Thread, ThreadQuery, UploadRow,
};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn read<T: DeserializeOwned>(column: usize, body: &str) -> rusqlite::Result<T> {
    serde_json::from_str(body)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

fn many(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn apply(conn: &Connection, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Thread(thread) => {
            let listed = thread.run_state.is_some() || !thread.preview.is_empty();
            conn.prepare_cached(
                "INSERT INTO threads(id, agent, listed, archived, pinned, updated, title, body)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT(id) DO UPDATE SET listed = ?3, archived = ?4, pinned = ?5, updated = ?6, title = ?7,
                   body = ?8",
            )?
            .execute(params![
                thread.id,
                thread.agent_id,
                listed,
                thread.archived,
                thread.pinned,
                thread.updated_at,
                thread.title,
                text(thread)
            ])?;
        }
        Change::Message { thread, message } => put_message(conn, thread, message)?,
        Change::Submission(Submission { id, thread, digest, receipt }) => {
            conn.prepare_cached(
                "INSERT INTO submissions(id, thread, digest, receipt) VALUES(?1, ?2, ?3, ?4)",
            )?
            .execute(params![id, thread, digest, text(receipt)])?;
        }
        Change::FollowUp(follow_up) => {
            let open = !matches!(follow_up.state, FollowUpState::Applied | FollowUpState::Cancelled);
            conn.prepare_cached(
                "INSERT INTO follow_ups(id, thread, open, body) VALUES(?1, ?2, ?3, ?4)
                 ON CONFLICT(id) DO UPDATE SET open = ?3, body = ?4",
            )?
            .execute(params![follow_up.id, follow_up.thread_id, open, text(follow_up)])?;
        }
        Change::Upload(row) => {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO uploads(id, name, media_type, bytes, created, thread)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                row.id,
                row.name,
                row.media_type,
                row.size_bytes,
                row.created_ms,
                row.thread
            ])?;
        }
        Change::DropUpload(id) => {
            conn.execute("DELETE FROM uploads WHERE id = ?1", [id])?;
        }
        Change::DropThread(id) => {
            for table in ["messages", "submissions", "follow_ups", "uploads", "words"] {
                conn.execute(&format!("DELETE FROM {table} WHERE thread = ?1"), [id])?;
            }
            conn.execute("DELETE FROM threads WHERE id = ?1", [id])?;
        }
        Change::Settings(settings) => {
            conn.execute("INSERT OR REPLACE INTO settings(name, body) VALUES('look', ?1)", [text(settings)])?;
        }
        Change::Agent { id, card } => {
            conn.execute("INSERT OR REPLACE INTO agents(id, body) VALUES(?1, ?2)", [id, &text(card)])?;
        }
    }
    Ok(())
}

fn put_message(conn: &Connection, thread: &str, message: &Message) -> rusqlite::Result<()> {
    let (id, open) = (message.id(), message.is_open());
    conn.prepare_cached(
        "INSERT INTO messages(thread, id, open, body) VALUES(?1, ?2, ?3, ?4)
         ON CONFLICT(id) DO UPDATE SET open = ?3, body = ?4",
    )?
    .execute(params![thread, id, open, text(message)])?;
    if !open && !message.text().trim().is_empty() {
        let place: i64 = conn
            .prepare_cached("SELECT place FROM messages WHERE id = ?1")?
            .query_row([id], |row| row.get(0))?;
        conn.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([place])?;
        conn.prepare_cached("INSERT INTO words(rowid, text, message, thread) VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![place, message.text(), id, thread])?;
    }
    Ok(())
}

/// The one body that a statement finds.
pub(super) fn one<T: DeserializeOwned>(
    conn: &Connection,
    sql: &str,
    key: &str,
) -> rusqlite::Result<Option<T>> {
    let body: Option<String> = conn.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
    body.map(|body| read(0, &body)).transpose()
}

pub(super) fn threads(conn: &Connection, query: &ThreadQuery) -> rusqlite::Result<Vec<Thread>> {
    let after = query.after.as_ref();
    let mut found = conn.prepare_cached(
        "SELECT body FROM threads
         WHERE listed = 1 AND archived = ?1 AND (?2 IS NULL OR agent = ?2)
           AND (?3 IS NULL OR (pinned, updated, id) < (?3, ?4, ?5))
         ORDER BY pinned DESC, updated DESC, id DESC LIMIT ?6",
    )?;
    let rows = found.query_map(
        params![
            query.archived,
            query.agent,
            after.map(|it| it.pinned),
            after.map(|it| &it.updated_at),
            after.map(|it| &it.id),
            many(query.limit)
        ],
        |row| read(0, &row.get::<_, String>(0)?),
    )?;
    rows.collect()
}

fn message_row(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    Ok(MessageRow { place: row.get(0)?, thread: row.get(1)?, message: read(2, &row.get::<_, String>(2)?)? })
}

pub(super) fn messages(
    conn: &Connection,
    thread: &str,
    before: Option<i64>,
    limit: usize,
) -> rusqlite::Result<Vec<MessageRow>> {
    let mut found = conn.prepare_cached(
        "SELECT place, thread, body FROM messages WHERE thread = ?1 AND place < ?2 ORDER BY place DESC LIMIT ?3",
    )?;
    let rows = found.query_map(params![thread, before.unwrap_or(i64::MAX), many(limit)], message_row)?;
    let mut rows: Vec<MessageRow> = rows.collect::<Result<_, _>>()?;
    rows.reverse();
    Ok(rows)
}

pub(super) fn message(conn: &Connection, thread: &str, id: &str) -> rusqlite::Result<Option<MessageRow>> {
    conn.prepare_cached("SELECT place, thread, body FROM messages WHERE id = ?1 AND thread = ?2")?
        .query_row([id, thread], message_row)
        .optional()
}

pub(super) fn open_messages(conn: &Connection) -> rusqlite::Result<Vec<MessageRow>> {
    let mut found = conn.prepare("SELECT place, thread, body FROM messages WHERE open = 1")?;
    let rows = found.query_map([], message_row)?;
    rows.collect()
}

pub(super) fn submission(conn: &Connection, id: &str) -> rusqlite::Result<Option<Submission>> {
    conn.prepare_cached("SELECT id, thread, digest, receipt FROM submissions WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(Submission {
                id: row.get(0)?,
                thread: row.get(1)?,
                digest: row.get(2)?,
                receipt: read(3, &row.get::<_, String>(3)?)?,
            })
        })
        .optional()
}

pub(super) fn follow_ups(conn: &Connection, thread: Option<&str>) -> rusqlite::Result<Vec<FollowUp>> {
    let mut found = conn.prepare_cached(
        "SELECT body FROM follow_ups WHERE open = 1 AND (?1 IS NULL OR thread = ?1) ORDER BY place LIMIT 10000",
    )?;
    let rows = found.query_map([thread], |row| read(0, &row.get::<_, String>(0)?))?;
    rows.collect()
}

fn upload_row(row: &Row<'_>) -> rusqlite::Result<UploadRow> {
    Ok(UploadRow {
        id: row.get(0)?,
        name: row.get(1)?,
        media_type: row.get(2)?,
        size_bytes: row.get(3)?,
        created_ms: row.get(4)?,
        thread: row.get(5)?,
    })
}

pub(super) fn upload(conn: &Connection, id: &str) -> rusqlite::Result<Option<UploadRow>> {
    conn.prepare_cached("SELECT id, name, media_type, bytes, created, thread FROM uploads WHERE id = ?1")?
        .query_row([id], upload_row)
        .optional()
}

pub(super) fn uploads(
    conn: &Connection,
    thread: Option<&str>,
    before_ms: i64,
) -> rusqlite::Result<Vec<UploadRow>> {
    let mut found = conn.prepare_cached(
        "SELECT id, name, media_type, bytes, created, thread FROM uploads
         WHERE CASE WHEN ?1 IS NULL THEN thread IS NULL AND created < ?2 ELSE thread = ?1 END LIMIT 10000",
    )?;
    let rows = found.query_map(params![thread, before_ms], upload_row)?;
    rows.collect()
}

pub(super) fn agents(conn: &Connection) -> rusqlite::Result<Vec<(String, Value)>> {
    let mut found = conn.prepare("SELECT id, body FROM agents ORDER BY id LIMIT 500")?;
    let rows = found.query_map([], |row| Ok((row.get(0)?, read(1, &row.get::<_, String>(1)?)?)))?;
    rows.collect()
}

/// Titles first, then messages, best first.
pub(super) fn search(
    conn: &Connection,
    agent: Option<&str>,
    words: &str,
    limit: usize,
) -> rusqlite::Result<Vec<HitRow>> {
    let escaped = words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let mut titles = conn.prepare_cached(
        "SELECT body FROM threads
         WHERE listed = 1 AND (?1 IS NULL OR agent = ?1) AND title LIKE ?2 ESCAPE '\\'
         ORDER BY updated DESC LIMIT ?3",
    )?;
    // Half of the page is kept for messages.
    let of_titles = params![agent, format!("%{escaped}%"), many(limit / 2)];
    let mut hits: Vec<HitRow> = titles
        .query_map(of_titles, |row| {
            let thread = read(0, &row.get::<_, String>(0)?)?;
            Ok(HitRow { thread, message: None, passage: String::new() })
        })?
        .collect::<Result<_, _>>()?;
    let phrase = phrase_of(words);
    if phrase.is_empty() {
        return Ok(hits);
    }
    let mut messages = conn.prepare_cached(
        "SELECT threads.body, messages.id, json_extract(messages.body, '$.createdAt'),
                json_extract(messages.body, '$.role'), snippet(words, 0, char(1), char(2), '…', 20)
         FROM words JOIN messages ON messages.place = words.rowid JOIN threads ON threads.id = messages.thread
         WHERE words MATCH ?1 AND (?2 IS NULL OR threads.agent = ?2)
         ORDER BY rank LIMIT ?3",
    )?;
    let left = many(limit.saturating_sub(hits.len()));
    let found = messages.query_map(params![phrase, agent, left], |row| {
        let thread = read(0, &row.get::<_, String>(0)?)?;
        let message = Some((row.get(1)?, row.get(2)?, row.get(3)?));
        Ok(HitRow { thread, message, passage: row.get(4)? })
    })?;
    for hit in found {
        hits.push(hit?);
    }
    Ok(hits)
}

/// Words as FTS5 wants them: each as the beginning of a word, none as its syntax.
fn phrase_of(words: &str) -> String {
    let word = |word: &str| {
        let bare: String = word.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        let bare = bare.trim().to_owned();
        (!bare.is_empty()).then(|| format!("\"{bare}\"*"))
    };
    words.split_whitespace().filter_map(word).collect::<Vec<_>>().join(" ")
}
