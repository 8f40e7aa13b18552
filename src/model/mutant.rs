//! The mutant `usage-first`: decides on usage that was read before the transaction in which generations are read.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::base::Base;
use super::load;
use crate::db::{DbConnection, DbResult, dialect};
use crate::mutants::{Mutant, is};
use crate::search::{ClassId, ProviderId};

/// Usage as it was before the transaction began.
#[derive(Default)]
pub struct UsageFirst {
    used: HashMap<ProviderId, BTreeMap<ClassId, i64>>,
}

impl UsageFirst {
    /// Reads usage, and leaves others time to change it.
    pub fn read(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        if is(Mutant::UsageFirst) {
            let (_, rows) = dialect::read_transaction(conn, load::snapshot_parts)?;
            self.used = rows.into_iter().map(|row| (row.id, row.used)).collect();
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Puts that usage under the generations that the transaction read.
    pub fn spoil(&self, mut base: Base) -> Base {
        if is(Mutant::UsageFirst) {
            base.spoil(|id| self.used.get(&id).cloned().unwrap_or_default());
        }
        base
    }
}
