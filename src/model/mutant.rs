//! Mutants that decide on rows which were read before the transaction began: `usage-first` and `subtract-unremoved`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diesel::prelude::*;

use super::base::Base;
use super::load;
use super::state::{ConsumerEntry, HeldRow};
use crate::db::schema::allocations;
use crate::db::{DbConnection, DbResult, dialect};
use crate::mutants::{Mutant, is};
use crate::search::{ClassId, ProviderId};

/// How long others have to change what was read.
const MEANWHILE: Duration = Duration::from_millis(5);

/// What was read before the transaction began.
#[derive(Default)]
pub struct Earlier {
    used: HashMap<ProviderId, BTreeMap<ClassId, i64>>,
    held: HashMap<String, Vec<HeldRow>>,
}

impl Earlier {
    /// Reads what the mutant is to rest on, and leaves others time to change it.
    pub fn read(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        if is(Mutant::UsageFirst) {
            let (_, rows) = dialect::read_transaction(conn, load::snapshot_parts)?;
            self.used = rows.map(|row| (row.id, row.used)).collect();
            std::thread::sleep(MEANWHILE);
        }
        if is(Mutant::SubtractUnremoved) {
            self.held = held(conn)?;
            std::thread::sleep(MEANWHILE);
        }
        Ok(())
    }

    /// Puts earlier usage under the generations that the transaction read.
    pub fn spoil(&self, mut base: Base) -> Base {
        if is(Mutant::UsageFirst) {
            base.spoil(|id| self.used.get(&id).cloned().unwrap_or_default());
        }
        base
    }

    /// Takes for what consumers hold what they held earlier.
    pub fn spoil_consumers(&self, mut consumers: BTreeMap<String, ConsumerEntry>) -> BTreeMap<String, ConsumerEntry> {
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

/// What every consumer holds.
fn held(conn: &mut DbConnection) -> DbResult<HashMap<String, Vec<HeldRow>>> {
    use allocations as t;
    let rows: Vec<(i32, String, i32, i32, i32)> = t::table
        .select((
            t::id,
            t::consumer_id,
            t::resource_provider_id,
            t::resource_class_id,
            t::used,
        ))
        .load(conn)?;
    let mut found: HashMap<String, Vec<HeldRow>> = HashMap::new();
    for (id, consumer, provider, class, used) in rows {
        found.entry(consumer).or_default().push(HeldRow {
            id,
            provider: ProviderId(provider),
            class: ClassId(class),
            used: used.into(),
        });
    }
    Ok(found)
}
