//! The sources of the index as they were read last, so that asking for all of them at every fact costs no reading.

use super::facts;
use host_memory::{IndexedSource, SourceName, SourceUpdate};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sources, and the state of the file that they were read from.
#[derive(Default)]
pub(super) struct KnownSources {
    read: Option<(i64, Arc<BTreeMap<SourceName, IndexedSource>>)>,
}

impl KnownSources {
    /// All sources. They are read again where another connection wrote to the file since.
    pub(super) fn all(
        &mut self,
        conn: &Connection,
    ) -> rusqlite::Result<Arc<BTreeMap<SourceName, IndexedSource>>> {
        // SQLite counts here what others commit, and leaves out what this connection does.
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if let Some((read_at, known)) = &self.read
            && *read_at == version
        {
            return Ok(Arc::clone(known));
        }
        let read = facts::sources(conn)?.into_iter().map(|it| (it.name.clone(), it)).collect();
        let (_, known) = self.read.insert((version, Arc::new(read)));
        Ok(Arc::clone(known))
    }

    /// Takes over what this connection just committed.
    pub(super) fn committed(&mut self, updates: &[SourceUpdate], gone: &[SourceName]) {
        let Some((_, known)) = &mut self.read else { return };
        let known = Arc::make_mut(known);
        for name in gone {
            known.remove(name);
        }
        for SourceUpdate { source, .. } in updates {
            known.insert(source.name.clone(), source.clone());
        }
    }

    /// Forgets them: the next question reads them again.
    pub(super) fn forget(&mut self) {
        self.read = None;
    }
}
