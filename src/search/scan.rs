//! Evaluates a filter over a block: 64 providers at a time, with a bit for each passing provider.

use super::described_filter::HostFilter;
use super::provider_filter::{MemberIds, ProviderFilter, TraitIds};
use super::snapshot::{
    AggregateId, AmountRule, AmountRules, Block, ClassCapacity, ClassId, LANES, ProfileColumns, Slot, Snapshot,
    TraitId, lanes_of, lanes_where,
};

/// The subset of `lanes` whose provider passes all of `filter` by itself, apart from `tree`, which callers check. Cheap
/// conditions come first.
pub(super) fn fitting(snapshot: &Snapshot, filter: &ProviderFilter, block: usize, lanes: u64) -> u64 {
    if lanes == 0 {
        return 0;
    }
    let data = snapshot.blocks.get(block);
    let mut scan = BlockScan {
        block,
        passing: lanes & data.present,
    };
    if scan.traits(&filter.traits, &data.profile)
        && scan.members(snapshot, filter, data)
        && scan.root(snapshot, &filter.root, data)
        && scan.is_described(snapshot, filter, data)
    {
        scan.amounts(filter, data);
    }
    scan.passing
}

/// The scan of a block. Each condition returns whether any lane still passes.
struct BlockScan {
    block: usize,
    passing: u64,
}

impl BlockScan {
    /// Keeps the passing lanes in `lanes`.
    fn keep(&mut self, lanes: u64) -> bool {
        self.passing &= lanes;
        self.passing != 0
    }

    fn traits(&mut self, traits: &TraitIds, profile: &ProfileColumns) -> bool {
        let mut required = traits.required.iter();
        self.passing != 0
            && required.all(|any_of| self.keep(profile.traits.any(any_of)))
            && self.keep(!profile.traits.any(&traits.forbidden))
    }

    fn members(&mut self, snapshot: &Snapshot, filter: &ProviderFilter, data: &Block) -> bool {
        let MemberIds { any_of, forbidden } = &filter.members;
        let aggregates = &data.profile.aggregates;
        let mut members = any_of.iter().fold(u64::MAX, |lanes, set| lanes & aggregates.any(set));
        let mut not_forbidden = !aggregates.any(forbidden);
        if filter.spans_tree && !(any_of.is_empty() && forbidden.is_empty()) {
            for lane in lanes_of(self.passing & !data.roots) {
                let root = snapshot.root(Slot::new(self.block, lane));
                members |= u64::from(is_in_required_aggregates(snapshot, &filter.members, root)) << lane;
                not_forbidden &= !(u64::from(is_in_forbidden_aggregate(snapshot, &filter.members, root)) << lane);
            }
        }
        self.keep(members & not_forbidden)
    }

    fn root(&mut self, snapshot: &Snapshot, root_traits: &TraitIds, data: &Block) -> bool {
        if *root_traits == TraitIds::default() {
            return true;
        }
        let children = lanes_where(self.passing & !data.roots, |lane| {
            has_traits(snapshot, root_traits, snapshot.root(Slot::new(self.block, lane)))
        });
        let traits = &data.profile.traits;
        let required = root_traits.required.iter();
        let roots = required.fold(data.roots, |lanes, any_of| lanes & traits.any(any_of));
        self.keep(children | roots & !traits.any(&root_traits.forbidden))
    }

    /// States, the description of the root, and the description of the provider itself.
    fn is_described(&mut self, snapshot: &Snapshot, filter: &ProviderFilter, data: &Block) -> bool {
        if filter.only_up {
            self.passing &= !snapshot.unavailable_lanes(self.block);
        }
        if let Some(host) = &filter.host {
            self.passing &= self.with_matching_host(snapshot, host, data);
        }
        if let Some(condition) = &filter.condition {
            let described = snapshot.inheriting_lanes(self.block);
            self.passing = condition.matching(snapshot, self.block, described, self.passing);
        }
        self.passing != 0
    }

    /// The matching roots, and the passing lanes with a matching root.
    fn with_matching_host(&self, snapshot: &Snapshot, host: &HostFilter, data: &Block) -> u64 {
        let here = host.matching(snapshot, self.block, data.roots);
        let children = lanes_where(self.passing & !data.roots, |lane| {
            let root = snapshot.cached_root(Slot::new(self.block, lane));
            if root.block() == self.block {
                here & root.bit() != 0
            } else {
                host.matching(snapshot, root.block(), root.bit()) != 0
            }
        });
        here | children
    }

    fn amounts(&mut self, filter: &ProviderFilter, data: &Block) {
        if filter.amounts.is_empty() {
            return;
        }
        let capacity = data.free_capacity();
        let may_fit = |&(class, amount): &(ClassId, i64)| capacity.may_fit(class, amount);
        if filter.amount_rules.are_all() && !filter.amounts.iter().all(may_fit) {
            self.passing = 0;
            return;
        }
        for &(class, amount) in &filter.amounts {
            let Some(capacity) = capacity.of_class(class) else {
                self.passing = 0;
                return;
            };
            // Reading the columns of each lane takes most of the time. In most blocks the summary decides: all lanes
            // have the same units, and the minimum of free capacity is enough.
            let rules = filter.amount_rules.of(class);
            let is_left = self.keep(capacity.present)
                && (!rules.units || self.keep(lanes_allowing(capacity, data, class, amount, filter.strict)))
                && match rules.capacity {
                    Some(AmountRule::NormalRoom) => {
                        capacity.min_free >= amount || self.keep(lanes_with_room(data, class, amount, self.passing))
                    }
                    _ => self.keep(lanes_with_room_by(rules, data, (class, amount), self.passing)),
                };
            if !is_left {
                return;
            }
        }
    }
}

/// The lanes whose `min_unit`, `max_unit` and `step_size` allow `amount`.
fn lanes_allowing(capacity: &ClassCapacity, data: &Block, class: ClassId, amount: i64, strict: bool) -> u64 {
    if let Some(units) = capacity.units {
        return if units.allow(amount, strict) {
            capacity.present
        } else {
            0
        };
    }
    let columns = data.profile.column(class).into_iter();
    let units = columns.flat_map(|column| column.units.iter());
    let allowing = units.filter(|(units, _)| units.allow(amount, strict));
    allowing.fold(0, |all, (_, lanes)| all | lanes)
}

/// The subset of `lanes` with room for `amount`, by the form of the rule at [`super::snapshot::Inventory::limit`].
fn lanes_with_room(data: &Block, class: ClassId, amount: i64, lanes: u64) -> u64 {
    let Some(column) = data.profile.column(class) else {
        return 0;
    };
    let used = data.usage.used(class);
    // Limits are within ±2^62, so the subtraction below cannot overflow for an amount of up to 2^61.
    let amount = amount.clamp(0, 1 << 61);
    let has_room = |lane: usize| u64::from(used[lane] <= column.limits[lane] - amount);
    if lanes.count_ones() < 24 {
        return lanes_of(lanes).fold(0, |found, lane| found | has_room(lane) << lane);
    }
    // Shifting the whole mask by a bit each time is several times faster than shifting each bit to its position.
    lanes & (0..LANES).rev().fold(0, |found, lane| found << 1 | has_room(lane))
}

/// As [`lanes_with_room`], by some of the rules.
fn lanes_with_room_by(rules: AmountRules, data: &Block, (class, amount): (ClassId, i64), lanes: u64) -> u64 {
    if rules.capacity.is_none() {
        return lanes;
    }
    let used = data.usage.used(class);
    let column = data.profile.column(class);
    lanes_where(lanes, |lane| {
        column.is_some_and(|column| rules.free(column, lane, used[lane]) >= amount)
    })
}

/// Whether a provider has a trait of each required set, and no forbidden trait.
pub(super) fn has_traits(snapshot: &Snapshot, traits: &TraitIds, slot: Slot) -> bool {
    let any = |ids: &Vec<TraitId>| ids.iter().any(|&id| snapshot.has_trait(slot, id));
    traits.required.iter().all(any) && !any(&traits.forbidden)
}

/// Whether a provider itself is in an aggregate of each required set.
pub(super) fn is_in_required_aggregates(snapshot: &Snapshot, members: &MemberIds, slot: Slot) -> bool {
    let any = |ids: &Vec<AggregateId>| ids.iter().any(|&id| snapshot.is_member(slot, id));
    members.any_of.iter().all(any)
}

/// Whether a provider itself is in a forbidden aggregate.
pub(super) fn is_in_forbidden_aggregate(snapshot: &Snapshot, members: &MemberIds, slot: Slot) -> bool {
    members.forbidden.iter().any(|&id| snapshot.is_member(slot, id))
}
