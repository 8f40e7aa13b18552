//! Reads the descriptions that the commands of a batch replace or compare.

use std::collections::BTreeSet;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::base::Base;
use crate::model::batch::entry::{Entries, entries};
use crate::model::batch::footprint::Footprint;
use crate::model::providers::{self, DescriptionRow};
use crate::search::ProviderId;

pub fn read(
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
