//! Which events belong to a run or a call.
//!
//! An index on the events would cost each append a page more. These tables are filled once every
//! [`EVERY`] events instead, by the append that reaches the mark, and readers look through the few events
//! behind the mark themselves.

use rusqlite::Connection;

/// How many events are looked up at a time, and so the most that a reader looks through.
const EVERY: u64 = 64;

/// The sequences of a run's events behind `?2`, for a run `?1`.
pub(crate) const OF_RUN: &str = "
  SELECT seq FROM run_events WHERE run = ?1 AND seq > ?2
  UNION ALL
  SELECT seq FROM events WHERE seq > max(?2, (SELECT upto FROM looked_up)) AND run = ?1";

/// The sequences of the events behind `?2` of the calls named `?1`.
pub(crate) const OF_CALL: &str = "
  SELECT seq FROM call_events WHERE call = ?1 AND seq > ?2
  UNION ALL
  SELECT seq FROM events WHERE seq > max(?2, (SELECT upto FROM looked_up)) AND call = ?1";

/// The sequences of a run's events behind `?2` up to `?3`, for a run `?1`, as far as they are looked up.
pub(crate) const SEQS_OF_RUN: &str =
    "SELECT seq FROM run_events WHERE run = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq";
/// The same, of the few events behind the mark.
pub(crate) const NEW_SEQS_OF_RUN: &str = "
  SELECT seq FROM events
  WHERE seq > max(?2, (SELECT upto FROM looked_up)) AND seq <= ?3 AND +run = ?1 ORDER BY seq";

/// Whether the append that ends with this event fills the tables.
pub(crate) fn is_due(seq: u64) -> bool {
    seq.is_multiple_of(EVERY)
}

/// Fills the tables up to the end, within a transaction of the caller's.
pub(crate) fn fill(conn: &Connection) -> rusqlite::Result<()> {
    for sql in [
        "INSERT INTO run_events(run, seq)
         SELECT run, seq FROM events WHERE seq > (SELECT upto FROM looked_up) AND run IS NOT NULL",
        "INSERT INTO call_events(call, seq)
         SELECT call, seq FROM events WHERE seq > (SELECT upto FROM looked_up) AND call IS NOT NULL",
        "UPDATE looked_up SET upto = (SELECT coalesce(max(seq), 0) FROM events)",
    ] {
        conn.prepare_cached(sql)?.execute([])?;
    }
    Ok(())
}

/// Fills them anew.
pub(crate) fn rebuild(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DELETE FROM run_events; DELETE FROM call_events; UPDATE looked_up SET upto = 0;")?;
    fill(conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_looked_through_but_the_end() {
        // RUN-11
        let conn = crate::schema::in_memory();
        for seqs in [OF_RUN, OF_CALL] {
            let sql = format!(
                "EXPLAIN QUERY PLAN SELECT body FROM events WHERE seq IN ({seqs}) ORDER BY seq LIMIT 9"
            );
            let mut plan = conn.prepare(&sql).unwrap();
            let steps: Vec<String> =
                plan.query_map(("a", 0), |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
            let scans: Vec<_> = steps.iter().filter(|step| step.starts_with("SCAN events")).collect();
            assert!(scans.is_empty(), "{steps:?}");
            assert!(steps.iter().any(|step| step.contains("PRIMARY KEY (rowid>?)")), "{steps:?}");
        }
    }

    // RUN-11
    #[test]
    fn no_plan_looks_through_all_events() {
        let conn = crate::schema::in_memory();
        for sql in [OF_RUN, OF_CALL, SEQS_OF_RUN, NEW_SEQS_OF_RUN] {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values = vec![rusqlite::types::Value::Null; plan.parameter_count()];
            let steps: Vec<String> = plan
                .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert!(!steps.iter().any(|step| step.starts_with("SCAN events")), "{sql}: {steps:?}");
            println!("{steps:?}");
        }
    }
}
