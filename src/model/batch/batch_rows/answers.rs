//! Reads the stored answers to the batch's calls with an id.

use std::collections::BTreeMap;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::AnswerEntry;
use crate::model::claims::memory::{self, ClaimId};

/// Reads the answers without a lock. A repeated call names the same consumers, whose locks admit the calls in turn. If
/// two calls use an id for different consumers, the primary key refuses the second row.
pub fn answers(conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<BTreeMap<ClaimId, AnswerEntry>> {
    let ids: Vec<&ClaimId> = footprint.claim_ids.iter().copied().collect();
    let stored = memory::read(conn, &ids)?;
    let entries = stored
        .into_iter()
        .map(|(id, stored)| (id, AnswerEntry { stored, is_new: false }));
    Ok(entries.collect())
}
