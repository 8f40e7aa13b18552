//! One block against one plan: 64 providers at a time, a bit for each that is still in.

use super::observer::{Observer, Reason};
use super::plan::{MemberIds, Plan, TraitIds};
use super::snapshot::{Block, ClassId, Fixed, LANES, Slot, Snapshot, Stock, lanes_of};

/// Would any provider pass `plan`? Stops at the first.
pub(super) fn anybody(snapshot: &Snapshot, plan: &Plan) -> bool {
    (0..snapshot.blocks().len()).any(|block| fitting(snapshot, plan, block, u64::MAX, &mut ()) != 0)
}

/// Those of `lanes` whose provider alone passes all of `plan` but its `tree`. The cheap filters come first.
pub(super) fn fitting<O: Observer>(
    snapshot: &Snapshot,
    plan: &Plan,
    block: usize,
    lanes: u64,
    observer: &mut O,
) -> u64 {
    if lanes == 0 {
        return 0;
    }
    let data = snapshot.blocks().get(block);
    let mut sieve = Sieve {
        block,
        left: lanes & data.present,
        observer,
    };
    if sieve.traits(&plan.traits, &data.fixed)
        && sieve.members(snapshot, plan, data)
        && sieve.root(snapshot, &plan.root, data)
    {
        sieve.amounts(plan, data);
    }
    sieve.left
}

struct Sieve<'o, O> {
    block: usize,
    left: u64,
    observer: &'o mut O,
}

impl<O: Observer> Sieve<'_, O> {
    /// Keeps `lanes`, tells of the others, and says whether anybody is left.
    fn keep(&mut self, lanes: u64, reason: Reason) -> bool {
        if O::LISTENS {
            for lane in lanes_of(self.left & !lanes) {
                self.observer.refused(Slot::new(self.block, lane), reason);
            }
        }
        self.left &= lanes;
        self.left != 0
    }

    fn traits(&mut self, traits: &TraitIds, fixed: &Fixed) -> bool {
        let required = traits.required.iter().enumerate();
        self.left != 0
            && required
                .into_iter()
                .all(|(index, any_of)| self.keep(fixed.traits.any(any_of), Reason::MissingTrait { index }))
            && self.keep(!fixed.traits.any(&traits.forbidden), Reason::ForbiddenTrait)
    }

    fn members(&mut self, snapshot: &Snapshot, plan: &Plan, data: &Block) -> bool {
        let MemberIds { any_of, forbidden } = &plan.members;
        let mut inside = any_of
            .iter()
            .fold(u64::MAX, |lanes, set| lanes & data.fixed.aggregates.any(set));
        let mut outside = !data.fixed.aggregates.any(forbidden);
        if plan.spans_tree && !(any_of.is_empty() && forbidden.is_empty()) {
            for lane in lanes_of(self.left & !data.roots) {
                let root = snapshot.root(Slot::new(self.block, lane));
                inside |= u64::from(is_inside(snapshot, &plan.members, root)) << lane;
                outside &= !(u64::from(is_forbidden(snapshot, &plan.members, root)) << lane);
            }
        }
        self.keep(inside, Reason::NotMember) && self.keep(outside, Reason::ForbiddenMember)
    }

    fn root(&mut self, snapshot: &Snapshot, wanted: &TraitIds, data: &Block) -> bool {
        if wanted.is_empty() {
            return true;
        }
        let own = |lane| has_traits(snapshot, wanted, snapshot.root(Slot::new(self.block, lane)));
        let children = lanes_of(self.left & !data.roots).filter(|&lane| own(lane));
        let children = children.fold(0, |lanes, lane| lanes | 1 << lane);
        let traits = &data.fixed.traits;
        let roots = wanted
            .required
            .iter()
            .fold(data.roots, |lanes, any_of| lanes & traits.any(any_of));
        self.keep(children | roots & !traits.any(&wanted.forbidden), Reason::Root)
    }

    fn amounts(&mut self, plan: &Plan, data: &Block) {
        if plan.amounts.is_empty() {
            return;
        }
        let room = data.room();
        // Whoever listens wants to know of each why.
        if !O::LISTENS && !plan.amounts.iter().all(|&(class, amount)| room.may_hold(class, amount)) {
            self.left = 0;
            return;
        }
        for &(class, amount) in &plan.amounts {
            let Some(stock) = room.stock(class) else {
                self.keep(0, Reason::NoInventory { class });
                return;
            };
            // Mostly all have the same units and room enough, and to read what each has takes most of the time.
            let _ = self.keep(stock.present, Reason::NoInventory { class })
                && self.keep(
                    allowed(stock, data, class, amount, plan.strict),
                    Reason::Units { class },
                )
                && stock.least < amount
                && self.keep(roomy(data, class, amount, self.left), Reason::NoRoom { class });
            if self.left == 0 {
                return;
            }
        }
    }
}

/// The lanes whose units allow `amount`.
fn allowed(stock: &Stock, data: &Block, class: ClassId, amount: i64, strict: bool) -> u64 {
    if let Some(units) = stock.units {
        return if units.allow(amount, strict) { stock.present } else { 0 };
    }
    let units = data
        .fixed
        .column(class)
        .into_iter()
        .flat_map(|column| column.units.iter());
    let allowing = units.filter(|(units, _)| units.allow(amount, strict));
    allowing.fold(0, |lanes, (_, those)| lanes | those)
}

/// Those of `lanes` with room for `amount`.
fn roomy(data: &Block, class: ClassId, amount: i64, lanes: u64) -> u64 {
    let Some(column) = data.fixed.column(class) else {
        return 0;
    };
    let used = data.hot.used(class);
    // A limit is within 2^62, so that this overflows for no amount of the API; clamped for any other.
    let amount = amount.clamp(0, 1 << 61);
    let has_room = |lane: usize| u64::from(used[lane] <= column.limits[lane] - amount);
    if lanes.count_ones() < 24 {
        return lanes_of(lanes).fold(0, |roomy, lane| roomy | has_room(lane) << lane);
    }
    // Shifting the whole mask by one each time is several times faster than shifting each bit to its place.
    lanes & (0..LANES).rev().fold(0, |roomy, lane| roomy << 1 | has_room(lane))
}

/// Has one provider a trait of each set, and none that is forbidden?
pub(super) fn has_traits(snapshot: &Snapshot, wanted: &TraitIds, slot: Slot) -> bool {
    wanted
        .required
        .iter()
        .all(|any_of| any_of.iter().any(|&it| snapshot.has_trait(slot, it)))
        && !has_forbidden(snapshot, wanted, slot)
}

pub(super) fn has_forbidden(snapshot: &Snapshot, wanted: &TraitIds, slot: Slot) -> bool {
    wanted.forbidden.iter().any(|&it| snapshot.has_trait(slot, it))
}

/// Is one provider itself in an aggregate of each set?
pub(super) fn is_inside(snapshot: &Snapshot, members: &MemberIds, slot: Slot) -> bool {
    members
        .any_of
        .iter()
        .all(|any_of| any_of.iter().any(|&it| snapshot.is_member(slot, it)))
}

/// Is one provider itself in a forbidden aggregate?
pub(super) fn is_forbidden(snapshot: &Snapshot, members: &MemberIds, slot: Slot) -> bool {
    members.forbidden.iter().any(|&it| snapshot.is_member(slot, it))
}
