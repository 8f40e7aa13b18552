//! The descriptions that the commands of a batch replace.

use std::collections::BTreeMap;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Base;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::DescriptionEntry;
use crate::model::providers;
use crate::search::ProviderId;

/// Reads the rows after their providers, which are locked by then if other writers exist.
pub fn descriptions(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    base: &Base,
) -> DbResult<BTreeMap<ProviderId, DescriptionEntry>> {
    if footprint.described.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids = footprint.described.iter().filter_map(|uuid| base.by_uuid(uuid));
    let named: Vec<_> = ids.filter_map(|id| base.row(id)).collect();
    let keys: Vec<(i32, &str)> = named.iter().map(|row| (row.id.0, &*row.uuid)).collect();
    let rows = providers::rows(conn, &keys)?;
    Ok(rows
        .into_iter()
        .map(|(id, row)| (id, DescriptionEntry::of_row(row)))
        .collect())
}
