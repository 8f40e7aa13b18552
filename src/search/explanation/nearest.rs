//! The hosts with the least missing amounts, if only amounts are missing.

use std::collections::BTreeMap;

use super::ExplainedRequest;
use super::lacks::{Lack, each_way_lacks, greatest_share, lacks_in_host};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::rank::BestOf;
use crate::search::settings::SearchSettings;
use crate::search::snapshot::{Slot, Snapshot};

/// A host without a candidate, for want of amounts alone.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestHost {
    pub host: Slot,
    /// The greatest missing share of a requested amount: above 0, at most 1 unless a provider is overcommitted.
    pub share: f64,
    /// Given these amounts, the host has a candidate.
    pub lacks: Vec<Lack>,
}

/// The `count` hosts with the least missing amounts, the nearest first, and whether all hosts and all ways to serve the
/// request were compared. Given the missing amounts, a host has a candidate. The `budget` ends the comparison of hosts.
///
/// # Errors
/// As of [`crate::search::candidates()`]; [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn nearest(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    count: usize,
    settings: &SearchSettings,
    budget: &Interrupt,
) -> Result<(Vec<NearestHost>, bool)> {
    // If no host is left before amounts, more than amounts is missing, or a name does not exist.
    if explanation.before_amounts().is_empty() {
        return Ok((Vec::new(), true));
    }
    let request = explanation.conditions.request;
    let limited = settings.interrupted_by(budget);
    // By host, of the nearest way.
    let mut shares: BTreeMap<Slot, f64> = BTreeMap::new();
    let compared = each_way_lacks(snapshot, request, explanation.only, &limited, |host, lacks| {
        if snapshot.is_host(host) && !explanation.with_candidate().contains(host) {
            let least = shares.entry(host).or_insert(f64::INFINITY);
            *least = least.min(greatest_share(&lacks));
        }
    });
    let is_exact = match compared {
        Err(_) if budget.ran_out() => false,
        other => other?,
    };
    let mut best = BestOf::new(count);
    shares.into_iter().for_each(|(host, share)| best.offer(share, || host));
    let nearest_host = |(share, host)| {
        let lacks = lacks_in_host(snapshot, request, host, settings)?;
        Ok(NearestHost { host, share, lacks })
    };
    let hosts = best.into_sorted().map(nearest_host).collect::<Result<_>>()?;
    Ok((hosts, is_exact))
}
