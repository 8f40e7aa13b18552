//! The rows of placet's own tables that the commands of a batch name.

mod standing;
mod workloads;

use std::collections::BTreeSet;

use super::base::Base;
use super::entry::{Entries, entries, is_changed};
use super::footprint::Footprint;
use super::own_tables::OwnTables;
use crate::db::{DbConnection, DbResult};
use crate::model::claims::memory::{self, ClaimId, StoredAnswer};
use crate::model::providers::{self, DescriptionRow};
use crate::search::ProviderId;
pub use standing::StandingReplica;
pub use workloads::{WorkloadNames, WorkloadRows};

/// The rows before the batch, with the changes of the commands.
#[derive(Debug, Clone, Default)]
pub struct OwnRows {
    /// Descriptions of the providers that commands describe.
    pub descriptions: Entries<ProviderId, DescriptionRow>,
    /// Replicas before the batch, on the hosts whose domains commands change.
    pub standing: Vec<StandingReplica>,
    /// Rows of tables that no other table depends on.
    pub tables: OwnTables,
    /// Workloads that the commands name, by uuid.
    pub workloads: Entries<String, WorkloadRows>,
    /// Names of workloads, and the workloads of consumers.
    pub workload_names: WorkloadNames,
    /// Stored answers to the batch's calls with an id.
    pub answers: Entries<ClaimId, StoredAnswer>,
}

impl OwnRows {
    /// Reads the rows without a lock, after the providers, which are locked by now if other writers exist. Generations
    /// guard the write of old rows, and unique keys guard new rows. The answers are not read.
    pub fn read(conn: &mut DbConnection, footprint: &Footprint<'_>, base: &Base) -> DbResult<OwnRows> {
        let descriptions = descriptions(conn, footprint, base)?;
        let standing = standing::read(conn, footprint, base, &descriptions)?;
        let (workloads, workload_names) = workloads::read(conn, footprint)?;
        Ok(OwnRows {
            descriptions,
            standing,
            tables: footprint.own.read(conn)?,
            workloads,
            workload_names,
            answers: Entries::new(),
        })
    }

    /// Reads the stored answers to the calls. A repeated call names the same consumers, whose locks admit the calls in
    /// turn. If two calls use an id for different consumers, the primary key refuses the second row.
    pub fn read_answers(&mut self, conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<()> {
        let ids: Vec<&ClaimId> = footprint.claim_ids.iter().copied().collect();
        self.answers = entries(memory::read(conn, &ids)?);
        Ok(())
    }

    /// Whether there is anything to write. An answer is written only with a claim.
    pub fn are_changed(&self) -> bool {
        is_changed(&self.descriptions) || self.tables.are_changed() || is_changed(&self.workloads)
    }
}

/// The descriptions that commands replace or compare.
fn descriptions(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    base: &Base,
) -> DbResult<Entries<ProviderId, DescriptionRow>> {
    // The snapshot shows the domains of compared hosts.
    let compared = match base {
        Base::Snapshot(_) => None,
        Base::Rows(_) => Some(&footprint.compared_hosts),
    };
    let uuids = footprint.described.iter().chain(compared.into_iter().flatten());
    let ids: BTreeSet<ProviderId> = uuids.filter_map(|uuid| base.by_uuid(uuid)).collect();
    if ids.is_empty() {
        return Ok(Entries::new());
    }
    let named: Vec<_> = ids.into_iter().filter_map(|id| base.row(id)).collect();
    let keys: Vec<(i32, &str)> = named.iter().map(|row| (row.id.0, &*row.uuid)).collect();
    providers::rows(conn, &keys).map(entries)
}
