//! Reads the descriptions that the commands of a batch replace or compare.

use std::collections::{BTreeMap, BTreeSet};

use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Base;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::DescriptionEntry;
use crate::model::providers;
use crate::search::ProviderId;

/// Reads the rows after the providers, which are locked by now if other writers exist.
pub fn descriptions(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    base: &Base,
) -> DbResult<BTreeMap<ProviderId, DescriptionEntry>> {
    // The snapshot shows the domains of compared hosts.
    let compared = match base {
        Base::Snapshot(_) => None,
        Base::Rows(_) => Some(&footprint.compared_hosts),
    };
    let uuids = footprint.described.iter().chain(compared.into_iter().flatten());
    let ids: BTreeSet<ProviderId> = uuids.filter_map(|uuid| base.by_uuid(uuid)).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let named: Vec<_> = ids.into_iter().filter_map(|id| base.row(id)).collect();
    let keys: Vec<(i32, &str)> = named.iter().map(|row| (row.id.0, &*row.uuid)).collect();
    let rows = providers::rows(conn, &keys)?;
    Ok(rows
        .into_iter()
        .map(|(id, row)| (id, DescriptionEntry::of_row(row)))
        .collect())
}
