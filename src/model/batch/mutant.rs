//! Two mutants, faults built in on purpose to see that the tests catch them: `usage-first` and `subtract-unremoved`.
//! Both decide on rows that were read before the transaction began.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diesel::prelude::*;

use super::base::Base;
use super::batch_rows::AllocationColumns;
use super::state::{ConsumerEntry, HeldRow};
use crate::db::engines::dialect;
use crate::db::schema::allocations;
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::load;
use crate::mutants::{Mutant, is};
use crate::search::{ClassId, ProviderId};

/// How long a mutant waits after its read, so that another process can change the rows.
const READ_TO_BEGIN_DELAY: Duration = Duration::from_millis(5);

/// The rows that were read before the transaction began.
#[derive(Default)]
pub struct EarlierReads {
    used: HashMap<ProviderId, BTreeMap<ClassId, i64>>,
    held: HashMap<String, Vec<HeldRow>>,
}

impl EarlierReads {
    /// Reads the rows that the active mutant decides on, then waits.
    pub fn read(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        if is(Mutant::UsageFirst) {
            let (_, rows) = dialect::read_transaction(conn, load::snapshot_parts)?;
            self.used = rows.map(|row| (row.id, row.used)).collect();
            std::thread::sleep(READ_TO_BEGIN_DELAY);
        }
        if is(Mutant::SubtractUnremoved) {
            self.held = held(conn)?;
            std::thread::sleep(READ_TO_BEGIN_DELAY);
        }
        Ok(())
    }

    /// Combines the earlier usage with the generations that the transaction read.
    pub fn replace_usage(&self, mut base: Base) -> Base {
        if is(Mutant::UsageFirst) {
            base.replace_usage(|id| self.used.get(&id).cloned().unwrap_or_default());
        }
        base
    }

    /// Replaces what consumers hold by what they held earlier.
    pub fn replace_allocations(
        &self,
        mut consumers: BTreeMap<String, ConsumerEntry>,
    ) -> BTreeMap<String, ConsumerEntry> {
        if is(Mutant::SubtractUnremoved) {
            for (uuid, entry) in &mut consumers {
                entry.held = self.held.get(uuid).cloned().unwrap_or_default();
                let held = entry.held.iter();
                entry.allocations = held.map(|row| (row.provider, row.class, row.used)).collect();
            }
        }
        consumers
    }
}

/// The allocations of every consumer.
fn held(conn: &mut DbConnection) -> DbResult<HashMap<String, Vec<HeldRow>>> {
    let rows: Vec<AllocationColumns> = allocations::table.select(AllocationColumns::as_select()).load(conn)?;
    let mut found: HashMap<String, Vec<HeldRow>> = HashMap::new();
    for columns in rows {
        let row = columns.held();
        found.entry(columns.consumer_id).or_default().push(row);
    }
    Ok(found)
}
