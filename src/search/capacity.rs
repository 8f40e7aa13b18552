//! How many more consumers of a request fit: on each host, and on some hosts together.
//!
//! The ways of each host to serve the request are found once: a claim takes room, so a later claim has no further way.
//! Then the room is packed with consumers, one host after the other (`packing`). A packing is a lower bound. The upper
//! bound comes from sums over the providers of the ways (`bound`). Both are equal where hosts do not share, and each
//! host has one way, or ways without a common provider. Both are equal, too, if one pool serves a class of all hosts.

mod bound;
mod packing;

use std::collections::{BTreeSet, HashMap};

use super::by_host::search_of_trees;
use super::candidate::Placement;
use super::candidates::check_interrupt;
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{AmountRules, AmountRulesByClass, ClassId, Slot, Snapshot};
use crate::error::Result;

/// The most ways of a tree that are compared.
const MAX_WAYS: usize = 64;

/// The hosts that can serve a request, with their ways.
#[derive(Debug)]
pub struct Capacity<'s> {
    snapshot: &'s Snapshot,
    /// The amounts of a consumer, each class once.
    pub amounts: Vec<(ClassId, i64)>,
    hosts: Vec<HostWays>,
    /// The index in `hosts`.
    position: HashMap<Slot, usize>,
    /// The hosts that can serve the request if room does not count.
    eligible: Vec<Slot>,
    /// False if a tree was given up: hosts outside of `hosts` may serve consumers.
    is_complete: bool,
}

/// A host with its ways to serve the request.
#[derive(Debug)]
struct HostWays {
    host: Slot,
    ways: Ways,
}

#[derive(Debug)]
enum Ways {
    /// The host is a provider without children, and no provider is shared: the host serves all amounts.
    Alone,
    /// The first ways, and whether these are all. A way takes the amounts from the providers.
    Several(Vec<Vec<Placement>>, bool),
}

/// The number of further consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FitCount {
    /// A packing with this number was found.
    pub found: u64,
    /// No packing has more; [`u64::MAX`] without a bound.
    pub most: u64,
    /// The class whose room bounds the number first.
    pub limited_by: Option<ClassId>,
}

impl FitCount {
    pub fn is_exact(&self) -> bool {
        self.found == self.most
    }
}

/// The free amount of a class on hosts that can serve the request if room does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeAmount {
    pub class: ClassId,
    /// The amount of a consumer.
    pub requested: i64,
    /// In sum.
    pub sum: i64,
    /// On a single provider.
    pub largest: i64,
    /// Whether a provider has a total of [`i32::MAX`], which stands for no limit.
    pub is_unlimited: bool,
}

impl<'s> Capacity<'s> {
    /// Searches all hosts.
    ///
    /// # Errors
    /// As of [`super::candidates()`]; [`crate::error::Error::BadRequest`] if the search was interrupted.
    pub fn of(snapshot: &'s Snapshot, request: &Request, settings: &SearchSettings) -> Result<Capacity<'s>> {
        let mut capacity = Capacity {
            snapshot,
            amounts: amounts(snapshot, request),
            hosts: Vec::new(),
            position: HashMap::new(),
            eligible: Vec::new(),
            is_complete: true,
        };
        let settings = SearchSettings {
            max_combinations: MAX_WAYS,
            ..settings.clone()
        };
        capacity.find_ways(request, &settings)?;
        capacity.find_eligible(request, &settings)?;
        Ok(capacity)
    }

    fn find_ways(&mut self, request: &Request, settings: &SearchSettings) -> Result<()> {
        let (snapshot, hosts, position) = (self.snapshot, &mut self.hosts, &mut self.position);
        let mut search = search_of_trees(snapshot, request, AmountRulesByClass::default(), None, settings)?;
        search.each_way(|host, candidate| {
            // Other hosts may come between two ways of a host.
            let at = *position.entry(host).or_insert_with(|| {
                let is_alone = snapshot.is_alone(host);
                let ways = if is_alone {
                    Ways::Alone
                } else {
                    Ways::Several(Vec::new(), true)
                };
                hosts.push(HostWays { host, ways });
                hosts.len() - 1
            });
            if let Ways::Several(ways, _) = &mut hosts[at].ways {
                ways.push(candidate().placements);
            }
        })?;
        self.is_complete = search.check_complete().is_ok();
        for host in &mut self.hosts {
            if let Ways::Several(ways, are_all) = &mut host.ways {
                *are_all = self.is_complete && ways.len() < MAX_WAYS;
            }
        }
        Ok(())
    }

    fn find_eligible(&mut self, request: &Request, settings: &SearchSettings) -> Result<()> {
        let units_alone = AmountRulesByClass::equal(AmountRules {
            units: true,
            capacity: None,
        });
        let mut eligible: BTreeSet<Slot> = BTreeSet::new();
        let mut search = search_of_trees(self.snapshot, request, units_alone, None, settings)?;
        let is_exact = search.each_tree(|host| {
            eligible.insert(host);
        })?;
        if !is_exact {
            // A tree that was given up may serve the request.
            eligible.extend(self.snapshot.hosts());
        }
        eligible.retain(|host| self.snapshot.is_host(*host));
        self.eligible = eligible.into_iter().collect();
        Ok(())
    }

    /// The number of further consumers.
    ///
    /// # Errors
    /// [`crate::error::Error::BadRequest`] if the interrupt of `settings` is set.
    pub fn total(&self, settings: &SearchSettings) -> Result<FitCount> {
        let own = self.hosts.iter().map(|host| host.host);
        let others = self
            .eligible
            .iter()
            .copied()
            .filter(|host| !self.position.contains_key(host));
        self.count(own.chain(others), settings)
    }

    /// The number of further consumers on some hosts.
    ///
    /// # Errors
    /// As of [`Self::total`].
    pub fn on(&self, hosts: &[Slot], settings: &SearchSettings) -> Result<FitCount> {
        self.count(hosts.iter().copied(), settings)
    }

    fn count(&self, hosts: impl Iterator<Item = Slot>, settings: &SearchSettings) -> Result<FitCount> {
        let mut packing = packing::ConsumerPacking::new(self.snapshot, &self.amounts, &settings.interrupt);
        let mut bound = bound::FitBound::new(self.snapshot, &self.amounts);
        for host in hosts {
            match self.position.get(&host) {
                Some(at) => {
                    packing.add(&self.hosts[*at]);
                    bound.add(&self.hosts[*at]);
                }
                None if self.is_complete => {}
                None => bound.add_tree(host),
            }
            check_interrupt(&settings.interrupt)?;
        }
        let (most, limited_by) = bound.finish();
        Ok(FitCount {
            found: packing.consumers,
            most,
            limited_by,
        })
    }

    /// The free amounts of some hosts with the providers below, by class.
    pub fn free(&self, hosts: &[Slot]) -> Vec<FreeAmount> {
        let none = |&(class, requested): &(ClassId, i64)| FreeAmount {
            class,
            requested,
            sum: 0,
            largest: 0,
            is_unlimited: false,
        };
        let mut amounts: Vec<FreeAmount> = self.amounts.iter().map(none).collect();
        for slot in hosts.iter().flat_map(|host| self.snapshot.tree(*host)) {
            for amount in &mut amounts {
                amount.add(self.snapshot, slot);
            }
        }
        amounts
    }

    /// The hosts that can serve the request if room does not count.
    pub fn eligible(&self) -> &[Slot] {
        &self.eligible
    }
}

impl FreeAmount {
    fn add(&mut self, snapshot: &Snapshot, slot: Slot) {
        let Some(inventory) = snapshot.inventory(slot, self.class) else {
            return;
        };
        let free = free(snapshot, slot, self.class);
        self.sum = self.sum.saturating_add(free);
        self.largest = free.max(self.largest);
        self.is_unlimited |= inventory.total == i32::MAX;
    }
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

/// The free amount of a class of a provider.
fn free(snapshot: &Snapshot, slot: Slot, class: ClassId) -> i64 {
    let (limit, used) = snapshot.limit_and_used(slot, class);
    limit.saturating_sub(used).max(0)
}

/// How often a host without further providers serves the amounts, and the class that bounds the number.
fn count_alone(snapshot: &Snapshot, host: Slot, amounts: &[(ClassId, i64)]) -> (u64, Option<ClassId>) {
    let counts = amounts
        .iter()
        .map(|(class, amount)| (free(snapshot, host, *class) / amount, *class));
    let least = counts.min_by_key(|(count, _)| *count);
    least.map_or((0, None), |(count, class)| (count.unsigned_abs(), Some(class)))
}
