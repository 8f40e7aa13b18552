//! The snapshot kept fresh: loaded once, then replaced by each commit before the commit is acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use super::load;
use super::save::Committed;
use crate::db::{DbConnection, DbResult, dialect};
use crate::error::{Error, Result};
use crate::search::{Change, ProviderId, Snapshot};

/// The newest snapshot, shared by all readers. Only the writer's thread replaces it.
pub struct Live {
    current: ArcSwap<Snapshot>,
    /// A commit could not be read back: the snapshot lacks something that was acknowledged.
    behind: AtomicBool,
}

impl Live {
    /// Reads all tables in one moment of the database.
    pub fn load(conn: &mut DbConnection) -> DbResult<Live> {
        Ok(Live {
            current: ArcSwap::from_pointee(load_all(conn)?),
            behind: AtomicBool::new(false),
        })
    }

    /// A snapshot that shows every acknowledged change, or `Unavailable` while that cannot be said.
    pub fn fresh(&self) -> Result<Arc<Snapshot>> {
        if self.is_behind() {
            return Err(Error::Unavailable {
                detail: "a change is being read back".to_owned(),
            });
        }
        Ok(self.newest())
    }

    /// The newest snapshot, for the writer.
    pub fn newest(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Applies a committed change: what it only counted is added, what it changed otherwise is read again.
    pub fn publish(&self, conn: &mut DbConnection, committed: Committed) -> DbResult<()> {
        let Committed {
            deltas,
            reload,
            removed,
            catalog,
        } = committed;
        let mut change = Change {
            deltas,
            removed,
            ..Change::default()
        };
        if catalog || !reload.is_empty() {
            let ids: Vec<i32> = reload.iter().map(|ProviderId(id)| *id).collect();
            dialect::read_transaction(conn, |conn| {
                if catalog {
                    change.catalog = Some(load::catalog(conn)?);
                }
                change.reloaded = load::providers(conn, &ids)?;
                DbResult::Ok(())
            })?;
        }
        self.current.store(Arc::new(self.newest().apply(&change)));
        Ok(())
    }

    pub fn fall_behind(&self) {
        self.behind.store(true, Ordering::Release);
    }

    pub fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire)
    }

    /// Loads everything again if a change could not be read back.
    pub fn recover(&self, conn: &mut DbConnection) -> DbResult<()> {
        if self.is_behind() {
            self.current.store(Arc::new(load_all(conn)?));
            self.behind.store(false, Ordering::Release);
            log::info!("The snapshot shows every change again");
        }
        Ok(())
    }
}

fn load_all(conn: &mut DbConnection) -> DbResult<Snapshot> {
    let (catalog, rows) = dialect::read_transaction(conn, load::snapshot_parts)?;
    Ok(Snapshot::build(catalog, rows))
}
