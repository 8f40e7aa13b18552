//! Reads the normal limits that the commands of a batch replace.

use std::collections::BTreeMap;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::LimitEntry;
use crate::model::limits;

/// Reads the rows without a lock: their generations guard the write.
pub fn limits(conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<BTreeMap<String, LimitEntry>> {
    let classes: Vec<&str> = footprint.limits.iter().copied().collect();
    let rows = limits::rows(conn, &classes)?;
    let entry = |row| LimitEntry {
        base: Some(row),
        now: Some(row),
    };
    Ok(rows.into_iter().map(|(class, row)| (class, entry(row))).collect())
}
