//! Two mutants: `usage-first` and `subtract-unremoved`. A mutant is a deliberate fault that the tests have to notice.
//! Both mutants decide on rows that were read before the transaction began.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diesel::prelude::*;

use super::base::Base;
use super::batch_rows::AllocationColumns;
use super::state::{AllocationRow, ConsumerEntry};
use crate::db::engines::dialect;
use crate::db::schema::allocations;
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::load;
use crate::mutants::{Mutant, is};
use crate::search::{ClassId, ProviderId};

/// How long a mutant waits after the read, so another process can change the rows.
const READ_TO_BEGIN_DELAY: Duration = Duration::from_millis(5);

/// The rows that were read before the transaction began.
#[derive(Default)]
pub struct EarlierReads {
    used: HashMap<ProviderId, BTreeMap<ClassId, i64>>,
    allocations: HashMap<String, Vec<AllocationRow>>,
}

impl EarlierReads {
    /// Reads the rows for the active mutant, and waits.
    pub fn read(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        if is(Mutant::UsageFirst) {
            let (_, rows) = dialect::read_transaction(conn, |conn| load::snapshot_parts(conn, || Ok(())))?;
            self.used = rows.map(|row| (row.id, row.used)).collect();
            std::thread::sleep(READ_TO_BEGIN_DELAY);
        }
        if is(Mutant::SubtractUnremoved) {
            self.allocations = all_allocations(conn)?;
            std::thread::sleep(READ_TO_BEGIN_DELAY);
        }
        Ok(())
    }

    /// Combines the earlier usage with the generations of the transaction's read.
    pub fn replace_usage(&self, mut base: Base) -> Base {
        if is(Mutant::UsageFirst) {
            base.replace_usage(|id| self.used.get(&id).cloned().unwrap_or_default());
        }
        base
    }

    /// Replaces the allocations of consumers by the earlier allocations.
    pub fn replace_allocations(
        &self,
        mut consumers: BTreeMap<String, ConsumerEntry>,
    ) -> BTreeMap<String, ConsumerEntry> {
        if is(Mutant::SubtractUnremoved) {
            for (uuid, entry) in &mut consumers {
                entry.base_allocations = self.allocations.get(uuid).cloned().unwrap_or_default();
                let rows = entry.base_allocations.iter();
                entry.allocations = rows.map(|row| (row.provider, row.class, row.used)).collect();
            }
        }
        consumers
    }
}

/// The allocations of every consumer.
fn all_allocations(conn: &mut DbConnection) -> DbResult<HashMap<String, Vec<AllocationRow>>> {
    let rows: Vec<AllocationColumns> = allocations::table.select(AllocationColumns::as_select()).load(conn)?;
    let mut found: HashMap<String, Vec<AllocationRow>> = HashMap::new();
    for columns in rows {
        let row = columns.row();
        found.entry(columns.consumer_id).or_default().push(row);
    }
    Ok(found)
}
