//! The amounts missing on a host, if only amounts are missing.

use crate::error::Result;
use crate::search::by_host::search_of_trees;
use crate::search::candidate::{Candidate, Placement};
use crate::search::request::Request;
use crate::search::settings::SearchSettings;
use crate::search::snapshot::{AmountRules, AmountRulesByClass, ClassId, Slot, Snapshot};

/// An amount missing on a provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lack {
    pub provider: Slot,
    pub class: ClassId,
    /// The sum over the groups served by the provider.
    pub requested: i64,
    /// Within the limits of the snapshot; below zero if the provider is overcommitted.
    pub free: i64,
    /// Whether `min_unit`, `max_unit` and `step_size` allow the amount of each group and the sum.
    pub is_allowed: bool,
    /// The missing share of the requested amount, or the share by which the amount differs from an allowed amount.
    pub share: f64,
}

/// To compare a way takes as long as this many steps of a search of trees.
const STEPS_A_WAY: u64 = 6;

/// Of each tree, this many ways to serve the request are compared.
const MAX_WAYS: usize = 16;

/// The amounts that a host without a candidate lacks, by the nearest of the first ways to serve the request. With these
/// amounts the host has a candidate. Empty if the host lacks more than amounts.
///
/// # Errors
/// As of [`crate::search::candidates()`]; [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn lacks_in_host(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Vec<Lack>> {
    let mut least: Option<(f64, Vec<Lack>)> = None;
    each_way_lacks(snapshot, request, Some(host), settings, |_, lacks| {
        let share = greatest_share(&lacks);
        if least.as_ref().is_none_or(|(known, _)| share < *known) {
            least = Some((share, lacks));
        }
    })?;
    Ok(least.map_or_else(Vec::new, |(_, lacks)| lacks))
}

/// The distance of a way to serve the request: the greatest share of a requested amount that is missing.
pub(super) fn greatest_share(lacks: &[Lack]) -> f64 {
    lacks.iter().map(|lack| lack.share).fold(0.0, f64::max)
}

/// Calls `found` with each host and the amounts missing, for the first ways of each tree to serve the request if
/// amounts do not count. Returns whether these were all ways.
pub(super) fn each_way_lacks(
    snapshot: &Snapshot,
    request: &Request,
    only: Option<Slot>,
    settings: &SearchSettings,
    mut found: impl FnMut(Slot, Vec<Lack>),
) -> Result<bool> {
    let no_rules = AmountRulesByClass::equal(AmountRules {
        units: false,
        capacity: None,
    });
    let settings = SearchSettings {
        max_combinations: MAX_WAYS,
        ..settings.clone()
    };
    search_of_trees(snapshot, request, no_rules, only, &settings)?.each_way(|host, _, candidate| {
        settings.interrupt.spend(STEPS_A_WAY);
        found(host, lacks(snapshot, request, &candidate(), settings.strict_step));
    })
}

/// The amounts missing for a candidate.
fn lacks(snapshot: &Snapshot, request: &Request, candidate: &Candidate, strict: bool) -> Vec<Lack> {
    let placements = candidate.placements.iter();
    let lacks = placements.filter_map(|placement| {
        let groups = amounts_of_groups(snapshot, request, candidate, placement);
        Lack::of(snapshot, placement, &groups, strict)
    });
    lacks.collect()
}

impl Lack {
    /// `None` if nothing is missing. `groups`: the amounts of the groups whose sum the placement is.
    fn of(snapshot: &Snapshot, placement: &Placement, groups: &[i64], strict: bool) -> Option<Lack> {
        let &Placement { slot, class, amount } = placement;
        let inventory = snapshot.inventory(slot, class)?;
        let (limit, used) = snapshot.limit_and_used(slot, class);
        let free = limit.saturating_sub(used);
        let units = inventory.units();
        let difference = |amount: &i64| {
            let min_unit = i64::from(units.min_unit);
            let to = |allowed: i64| amount.abs_diff(allowed) as f64 / *amount as f64;
            match units.largest_allowed(*amount, strict) {
                Some(allowed) => to(allowed),
                None if *amount < min_unit => to(min_unit),
                None => 1.0,
            }
        };
        let of_units = groups.iter().chain([&amount]).map(difference).fold(0.0, f64::max);
        let of_room = amount.saturating_sub(free).max(0) as f64 / amount as f64;
        let is_allowed = groups
            .iter()
            .chain([&amount])
            .all(|amount| units.allow(*amount, strict));
        (!is_allowed || free < amount).then(|| Lack {
            provider: slot,
            class,
            requested: amount,
            free,
            is_allowed,
            share: of_units.max(of_room),
        })
    }
}

/// The amounts of the groups served by a placement. The group without a suffix has what the granular groups leave.
fn amounts_of_groups(snapshot: &Snapshot, request: &Request, candidate: &Candidate, placement: &Placement) -> Vec<i64> {
    let name = snapshot.catalog().class_name(placement.class);
    let served = request.groups.iter().filter(|group| {
        let mapping = candidate.mappings.iter().find(|(suffix, _)| **suffix == *group.suffix);
        !group.suffix.is_empty() && mapping.is_some_and(|(_, providers)| providers.contains(&placement.slot))
    });
    let amounts = served
        .flat_map(|group| &group.resources)
        .filter(|(class, _)| Some(&**class) == name.map(|name| &**name));
    let mut amounts: Vec<i64> = amounts.map(|(_, amount)| *amount).collect();
    let rest = placement.amount - amounts.iter().sum::<i64>();
    amounts.extend((rest > 0).then_some(rest));
    amounts
}
