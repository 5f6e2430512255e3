//! Vectors, one byte a number, and all of them in memory for the search.

use super::facts::{signed, sum};
use host_memory::VectorIdentity;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;

pub(super) fn identity(conn: &Connection) -> rusqlite::Result<Option<VectorIdentity>> {
    let mut find = conn.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    let mut text = |name: &str| find.query_row([name], |row| row.get::<_, String>(0)).optional();
    let (provider, model, dim) = (text("provider")?, text("model")?, text("dim")?);
    let dim = dim.and_then(|dim| dim.parse().ok());
    Ok(provider.zip(model).zip(dim).map(|((provider, model), dim)| VectorIdentity { provider, model, dim }))
}

/// Drops all vectors and notes whose come next.
pub(super) fn begin(conn: &Connection, identity: &VectorIdentity) -> rusqlite::Result<()> {
    conn.execute_batch("DELETE FROM vectors; UPDATE meta SET value = value + 1 WHERE name = 'epoch'")?;
    let mut put = conn.prepare_cached("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)")?;
    put.execute(["provider", &identity.provider])?;
    put.execute(["model", &identity.model])?;
    put.execute(["dim", &identity.dim.to_string()])?;
    Ok(())
}

pub(super) fn missing(conn: &Connection, limit: usize) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut find = conn.prepare_cached(
        "SELECT row, text FROM facts WHERE live AND text_sum NOT IN (SELECT text_sum FROM vectors)
         ORDER BY row DESC LIMIT ?1",
    )?;
    find.query_map([signed(limit)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

pub(super) fn put(conn: &Connection, vectors: &[(i64, Vec<f32>)]) -> rusqlite::Result<()> {
    let dim = identity(conn)?.map_or(0, |it| it.dim);
    let mut text = conn.prepare_cached("SELECT text FROM facts WHERE row = ?1")?;
    let mut put =
        conn.prepare_cached("INSERT OR IGNORE INTO vectors(text_sum, scale, numbers) VALUES(?1, ?2, ?3)")?;
    for (row, vector) in vectors.iter().filter(|(_, vector)| vector.len() == dim) {
        // It may be gone in the meantime.
        let Some(text) = text.query_row([row], |row| row.get::<_, String>(0)).optional()? else { continue };
        if let Some((scale, numbers)) = small(vector) {
            let bytes: Vec<u8> = numbers.iter().map(|it| it.cast_unsigned()).collect();
            put.execute(params![sum(&text), scale, bytes])?;
        }
    }
    Ok(())
}

/// A vector of length 1 with one byte a number and their common scale; `None` for one without direction.
fn small(vector: &[f32]) -> Option<(f32, Vec<i8>)> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    let largest = vector.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
    if !length.is_finite() || length <= f32::EPSILON {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "it is at most 127")]
    let numbers = vector.iter().map(|it| (it / largest * 127.0).round() as i8).collect();
    Some((largest / length / 127.0, numbers))
}

/// The same for a query: numbers that were widened once, so that the scan doesn't do it for each fact.
fn wide(vector: &[f32]) -> Option<(f32, Vec<i16>)> {
    let (scale, numbers) = small(vector)?;
    Some((scale, numbers.into_iter().map(i16::from).collect()))
}

/// All vectors in a row, read once and then only what is new.
#[derive(Default)]
pub(super) struct VectorCache {
    epoch: i64,
    key: i64,
    dim: usize,
    sums: Vec<i64>,
    scales: Vec<f32>,
    numbers: Vec<i8>,
    places: HashMap<i64, u32>,
}

impl VectorCache {
    /// Reads what was added since the last time; everything, where vectors went.
    pub(super) fn refresh(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let epoch = conn
            .prepare_cached("SELECT value FROM meta WHERE name = 'epoch'")?
            .query_row([], |row| row.get(0))?;
        if epoch != self.epoch || self.dim == 0 {
            *self = VectorCache { epoch, dim: identity(conn)?.map_or(0, |it| it.dim), ..Self::default() };
        }
        let mut find = conn.prepare_cached(
            "SELECT key, text_sum, scale, numbers FROM vectors WHERE key > ?1 ORDER BY key",
        )?;
        let mut rows = find.query([self.key])?;
        while let Some(row) = rows.next()? {
            self.key = row.get(0)?;
            let numbers = row.get_ref(3)?.as_blob()?;
            if numbers.len() != self.dim {
                continue;
            }
            let sum = row.get(1)?;
            self.places.insert(sum, u32::try_from(self.sums.len()).unwrap_or(u32::MAX));
            self.sums.push(sum);
            self.scales.push(row.get(2)?);
            self.numbers.extend(numbers.iter().map(|byte| byte.cast_signed()));
        }
        Ok(())
    }

    pub(super) fn nearest(
        &self,
        conn: &Connection,
        vector: &[f32],
        limit: usize,
    ) -> rusqlite::Result<Vec<(i64, f32)>> {
        let Some((scale, query)) = wide(vector).filter(|_| vector.len() == self.dim && self.dim > 0) else {
            return Ok(Vec::new());
        };
        let mut scored: Vec<(f32, u32)> = self
            .numbers
            .chunks_exact(self.dim)
            .zip(&self.scales)
            .zip(0..)
            .map(|((numbers, own), at)| (dot(&query, numbers) * scale * own, at))
            .collect();
        // Some of the best may be forgotten or superseded by now.
        let most = (limit * 2 + 64).min(scored.len());
        if most < scored.len() {
            scored.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0));
            scored.truncate(most);
        }
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut find = conn.prepare_cached("SELECT max(row) FROM facts WHERE text_sum = ?1 AND live")?;
        let mut found = Vec::with_capacity(limit);
        for (score, at) in scored {
            if let Some(row) = find.query_row([self.sums[at as usize]], |row| row.get::<_, Option<i64>>(0))? {
                found.push((row, score));
            }
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    pub(super) fn cosines(
        &self,
        conn: &Connection,
        vector: &[f32],
        rows: &[i64],
    ) -> rusqlite::Result<Vec<(i64, f32)>> {
        let Some((scale, query)) = wide(vector).filter(|_| vector.len() == self.dim && self.dim > 0) else {
            return Ok(Vec::new());
        };
        let mut find = conn.prepare_cached("SELECT text_sum FROM facts WHERE row = ?1")?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let sum: Option<i64> = find.query_row([row], |row| row.get(0)).optional()?;
            if let Some(at) = sum.and_then(|sum| self.places.get(&sum)).map(|at| *at as usize) {
                let numbers = &self.numbers[at * self.dim..(at + 1) * self.dim];
                found.push((*row, dot(&query, numbers) * scale * self.scales[at]));
            }
        }
        Ok(found)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a cosine needs no more")]
fn dot(query: &[i16], own: &[i8]) -> f32 {
    query.iter().zip(own).map(|(a, b)| i32::from(*a) * i32::from(i16::from(*b))).sum::<i32>() as f32
}
