//! How many more consumers of a request fit: on each host, and on some hosts together.
//!
//! The ways of each host to serve the request are found once: a claim takes room, so a later claim has no further way.
//! Then the host is packed with consumers (`packing`). A packing is a lower bound. The upper bound comes from sums over
//! the inventories of the ways (`bound`).
//!
//! A host without pools is packed once (`host_room`). Hosts with pools share room, so each sum over hosts packs these
//! hosts in turn (`pools`).
//!
//! Both bounds are equal where hosts do not share, and each host has one way, or ways without a common provider. Both
//! are equal, too, if one pool serves a class of all hosts. A tree with too many ways to find all of them is bounded by
//! the inventories of the tree.

mod bound;
mod fit_count;
mod free_amounts;
mod host_room;
mod packing;
mod pools;
mod ways;

use super::by_host::search_of_trees;
use super::candidates::check_interrupt;
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{AmountRules, AmountRulesByClass, ClassId, Slot, Snapshot};
use crate::error::Result;
pub use fit_count::FitCount;
use fit_count::FitSum;
pub use free_amounts::FreeAmount;
use host_room::{HostRoom, HostRooms, MAX_WAYS, RoomFinder};

/// The hosts with room for a request.
#[derive(Debug)]
pub struct Capacity<'s> {
    snapshot: &'s Snapshot,
    /// The amounts of a consumer, each class once.
    pub amounts: Vec<(ClassId, i64)>,
    rooms: HostRooms,
    /// As of [`Capacity::eligible`].
    eligible: Vec<Slot>,
}

impl<'s> Capacity<'s> {
    /// Searches all hosts.
    ///
    /// # Errors
    /// As of [`super::candidates()`]; [`crate::error::Error::BadRequest`] if the search was interrupted.
    pub fn of(snapshot: &'s Snapshot, request: &Request, settings: &SearchSettings) -> Result<Capacity<'s>> {
        let settings = SearchSettings {
            max_combinations: MAX_WAYS,
            ..settings.clone()
        };
        let amounts = amounts(snapshot, request);
        let mut finder = RoomFinder::new(snapshot, &settings.interrupt);
        let mut search = search_of_trees(snapshot, request, AmountRulesByClass::default(), None, &settings)?;
        let has_all_ways = search.each_way(|host, way, _| finder.add(host, way))?;
        let mut rooms = finder.finish();
        let eligible = eligible(snapshot, request, &rooms, &settings)?;
        rooms.add_full(snapshot, &amounts, &eligible, &settings.interrupt)?;
        if !has_all_ways {
            // A tree that was given up may have any number of further ways.
            let min_ways = search.check_complete().map_or(0, |()| MAX_WAYS);
            rooms.bound_by_trees(min_ways, snapshot, &amounts, &settings.interrupt)?;
        }
        Ok(Capacity {
            snapshot,
            amounts,
            rooms,
            eligible,
        })
    }

    /// The number of further consumers.
    ///
    /// # Errors
    /// [`crate::error::Error::BadRequest`] if the interrupt of `settings` is set.
    pub fn total(&self, settings: &SearchSettings) -> Result<FitCount> {
        self.count(self.rooms.all.iter(), settings)
    }

    /// The number of further consumers on some hosts.
    ///
    /// # Errors
    /// As of [`Self::total`].
    pub fn on(&self, hosts: &[Slot], settings: &SearchSettings) -> Result<FitCount> {
        self.count(hosts.iter().filter_map(|host| self.rooms.of(*host)), settings)
    }

    fn count<'a>(&'a self, rooms: impl Iterator<Item = &'a HostRoom>, settings: &SearchSettings) -> Result<FitCount> {
        let mut sum = FitSum::new(&self.rooms.pools);
        for room in rooms {
            sum.add(room, &settings.interrupt);
            check_interrupt(&settings.interrupt)?;
        }
        let count = sum.finish(&settings.interrupt);
        check_interrupt(&settings.interrupt)?;
        Ok(count)
    }

    /// The free amounts of some hosts with the providers below, by class.
    ///
    /// # Errors
    /// As of [`Self::total`].
    pub fn free(&self, hosts: &[Slot], settings: &SearchSettings) -> Result<Vec<FreeAmount>> {
        free_amounts::of(self.snapshot, hosts, &self.amounts, &settings.interrupt)
    }

    /// The hosts that can serve the request if room does not count.
    pub fn eligible(&self) -> &[Slot] {
        &self.eligible
    }
}

/// As of [`Capacity::eligible`]: in the order of memory, with all hosts with room.
fn eligible(snapshot: &Snapshot, request: &Request, rooms: &HostRooms, settings: &SearchSettings) -> Result<Vec<Slot>> {
    let has_room = |host: &Slot| rooms.of(*host).is_some();
    let (mut eligible, others): (Vec<Slot>, Vec<Slot>) = snapshot.hosts().partition(has_room);
    settings.interrupt.spend(snapshot.blocks.len() as u64);
    if others.is_empty() {
        return Ok(eligible);
    }
    let units_alone = AmountRulesByClass::equal(AmountRules {
        units: true,
        capacity: None,
    });
    let mut search = search_of_trees(snapshot, request, units_alone, None, settings)?.in_trees(&others);
    let is_exact = search.each_tree(|host| eligible.push(host))?;
    if !is_exact {
        // A tree that was given up may serve the request.
        eligible.extend(others);
    }
    eligible.sort_unstable();
    eligible.dedup();
    Ok(eligible)
}

/// The amounts of a consumer, each class once, in the order of the request.
fn amounts(snapshot: &Snapshot, request: &Request) -> Vec<(ClassId, i64)> {
    let mut amounts: Vec<(ClassId, i64)> = Vec::new();
    for (name, amount) in request.groups.iter().flat_map(|group| &group.resources) {
        let Some(class) = snapshot.catalog().class_id(name) else {
            continue;
        };
        match amounts.iter_mut().find(|(known, _)| *known == class) {
            Some((_, sum)) => *sum = sum.saturating_add(*amount),
            None => amounts.push((class, *amount)),
        }
    }
    amounts
}
