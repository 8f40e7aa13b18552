//! The candidate that goes least over the normal limits, for a consumer that finds no room within them.
//!
//! All candidates within the hard limits are compared. That happens only if nothing has normal room.

use std::sync::Arc;

use super::candidates::{Candidate, SearchSettings, candidates};
use super::purpose::Purpose;
use super::rank::Scoring;
use super::request::Request;
use super::sequence::PlannedUsage;
use super::snapshot::Snapshot;
use crate::error::Result;

/// At most this many candidates are compared.
const MAX_COMPARED: usize = 1 << 17;

/// The candidate that was found, and whether all were compared.
#[derive(Debug)]
pub struct LeastOver {
    pub candidate: Option<Candidate>,
    pub is_exact: bool,
}

/// The candidate in `snapshot` that adds the least amount over the limits of `normal`; of several such, the best by
/// `scoring`, then the first.
///
/// # Errors
/// As of [`candidates`]; [`crate::error::Error::BadRequest`] if the search found none and was not complete.
pub fn least_over(
    normal: &PlannedUsage,
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    settings: &SearchSettings,
) -> Result<LeastOver> {
    let mut search = candidates(snapshot, request, settings, ())?;
    let mut best: Option<(i64, f64, Candidate)> = None;
    let mut compared = 0;
    for candidate in search.by_ref().take(MAX_COMPARED) {
        compared += 1;
        let over = normal.added_over(&candidate.placements);
        let cost = scoring.map_or(0.0, |scoring| scoring.cost(snapshot, &candidate.placements));
        if best
            .as_ref()
            .is_none_or(|(least, least_cost, _)| (over, cost) < (*least, *least_cost))
        {
            best = Some((over, cost, candidate));
        }
    }
    let complete = search.check_complete();
    if best.is_none() || settings.interrupt.is_set() {
        complete?;
        return Ok(LeastOver {
            candidate: None,
            is_exact: true,
        });
    }
    Ok(LeastOver {
        is_exact: complete.is_ok() && compared < MAX_COMPARED,
        candidate: best.map(|(_, _, candidate)| candidate),
    })
}

/// The version of a snapshot in which candidates for a purpose are searched: with the normal limits in place of
/// capacities. If the purpose may go over them and nothing fits within them, the snapshot itself.
///
/// # Errors
/// As of [`candidates`].
pub fn for_purpose(
    snapshot: &Arc<Snapshot>,
    purpose: Purpose,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Arc<Snapshot>> {
    if !snapshot.catalog().has_normal_limits() {
        return Ok(Arc::clone(snapshot));
    }
    let normal = Arc::new(snapshot.at_normal_limits());
    if purpose.may_exceed_normal() && candidates(&*normal, request, settings, ())?.next().is_none() {
        return Ok(Arc::clone(snapshot));
    }
    Ok(normal)
}
