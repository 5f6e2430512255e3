//! What stands in the place of a prefix that retention removed: the last removed event's sequence and hash,
//! signed (AUD-1).

use crate::chain::{Chain, GENESIS};
use rusqlite::{Connection, OptionalExtension, params};

/// Where the chain begins for whoever checks it: behind the signed checkpoint, or at the first event of all.
/// A checkpoint that is not signed with the log's key is none, so the events behind it show as a break.
pub(crate) fn start(conn: &Connection, chain: &Chain) -> rusqlite::Result<(u64, [u8; 32])> {
    Ok(read(conn, chain)?.unwrap_or((0, GENESIS)))
}

/// The checkpoint, where there is one and it is ours.
pub(crate) fn read(conn: &Connection, chain: &Chain) -> rusqlite::Result<Option<(u64, [u8; 32])>> {
    let found = conn
        .prepare_cached("SELECT seq, hash, signature FROM checkpoint")?
        .query_row([], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, [u8; 32]>(2)?))
        })
        .optional()?;
    Ok(found
        .filter(|(seq, hash, signature)| chain.sign_checkpoint(*seq, hash) == *signature)
        .map(|it| (it.0, it.1)))
}

/// Sets it, within a transaction of the caller's.
pub(super) fn write(conn: &Connection, chain: &Chain, seq: u64, hash: &[u8; 32]) -> rusqlite::Result<()> {
    let signature = chain.sign_checkpoint(seq, hash);
    conn.execute("DELETE FROM checkpoint", [])?;
    conn.execute(
        "INSERT INTO checkpoint(seq, hash, signature) VALUES(?1, ?2, ?3)",
        params![seq, &hash[..], &signature[..]],
    )?;
    Ok(())
}
