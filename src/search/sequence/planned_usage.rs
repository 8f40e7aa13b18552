//! The usage of providers in a plan: the usage of a snapshot, with the amounts that consumers take or give back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::search::candidate::Placement;
use crate::search::rank::{CandidateLoad, Scoring};
use crate::search::snapshot::{ClassId, Delta, Slot, Snapshot, SnapshotChange};

/// The planned usage. Slots of the first snapshot stay valid, because only usage changes.
#[derive(Clone, Debug)]
pub struct PlannedUsage {
    snapshot: Arc<Snapshot>,
    /// Amounts that the snapshot does not show yet.
    pending: HashMap<(Slot, ClassId), i64>,
}

/// The trees and the direction of a change of usage.
#[derive(Debug)]
pub struct UsageChange {
    /// The roots of the trees.
    pub(in crate::search) roots: Vec<Slot>,
    /// Whether a sharing provider changed.
    pub(in crate::search) is_shared: bool,
    pub(super) is_release: bool,
}

impl PlannedUsage {
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot,
            pending: HashMap::new(),
        }
    }

    /// A snapshot that shows all planned usage.
    pub fn snapshot(&mut self) -> &Arc<Snapshot> {
        if !self.pending.is_empty() {
            self.snapshot = Arc::new(with_usage(&self.snapshot, std::mem::take(&mut self.pending)));
        }
        &self.snapshot
    }

    /// The planned usage of a provider.
    pub fn used(&self, slot: Slot, class: ClassId) -> i64 {
        self.load(&Placement { slot, class, amount: 0 }).used
    }

    /// Adds amounts. Released amounts are negative.
    pub fn add(&mut self, placements: &[Placement]) -> UsageChange {
        let mut change = UsageChange {
            roots: Vec::with_capacity(1),
            is_shared: false,
            is_release: false,
        };
        for &Placement { slot, class, amount } in placements {
            let sum = self.pending.entry((slot, class)).or_default();
            *sum = sum.saturating_add(amount);
            let root = self.snapshot.cached_root(slot);
            if !change.roots.contains(&root) {
                change.roots.push(root);
            }
            change.is_shared |= self.snapshot.is_sharing(slot);
            change.is_release |= amount < 0;
        }
        change
    }

    /// Whether all amounts fit, apart from the units of their inventories.
    pub fn has_room(&self, placements: &[Placement]) -> bool {
        placements.iter().all(|placement| {
            let load = self.load(placement);
            load.used <= load.limit
        })
    }

    /// The usage above the limits of the providers and classes of these placements, each once.
    pub fn over_limits(&self, placements: &[Placement]) -> Vec<Placement> {
        let mut over: Vec<Placement> = Vec::new();
        for &Placement { slot, class, .. } in placements {
            let is_known = over.iter().any(|it| (it.slot, it.class) == (slot, class));
            if is_known || self.snapshot.inventory(slot, class).is_none() {
                continue;
            }
            let load = self.load(&Placement { slot, class, amount: 0 });
            let amount = load.used.saturating_sub(load.limit);
            if amount > 0 {
                over.push(Placement { slot, class, amount });
            }
        }
        over
    }

    /// By how much these amounts would raise the usage above limits, summed over their providers and classes.
    pub fn added_over(&self, placements: &[Placement]) -> i64 {
        let over = placements.iter().map(|placement| {
            let CandidateLoad { used, limit, .. } = self.load(placement);
            let over = |used: i64| used.saturating_sub(limit).max(0);
            over(used) - over(used.saturating_sub(placement.amount))
        });
        over.fold(0, i64::saturating_add)
    }

    /// The cost of a candidate, whether the candidate fits or not.
    pub fn cost(&self, scoring: Scoring, placements: &[Placement]) -> f64 {
        scoring.cost_of_loads(placements.iter().map(|placement| self.load(placement)))
    }

    /// See [`Snapshot::is_alone`].
    pub(super) fn is_alone(&self, root: Slot) -> bool {
        self.snapshot.is_alone(root)
    }

    fn load(&self, placement: &Placement) -> CandidateLoad {
        let &Placement { slot, class, amount } = placement;
        let (limit, used) = self.snapshot.limit_and_used(slot, class);
        let pending = self.pending.get(&(slot, class)).copied().unwrap_or_default();
        CandidateLoad {
            slot,
            class,
            used: used.saturating_add(pending).saturating_add(amount),
            limit,
        }
    }
}

impl Snapshot {
    /// This version with all free capacity of these providers in use: a search finds no room there. Slots are equal.
    pub fn without_room_on(&self, providers: impl Iterator<Item = Slot>) -> Snapshot {
        let free = |slot: Slot| {
            let classes = self.inventories(slot);
            classes.map(move |(class, ..)| {
                let (limit, used) = self.limit_and_used(slot, class);
                ((slot, class), limit.saturating_sub(used).max(0))
            })
        };
        with_usage(self, providers.flat_map(free).collect())
    }
}

/// The snapshot with these amounts added to the usage of providers.
fn with_usage(snapshot: &Snapshot, amounts: HashMap<(Slot, ClassId), i64>) -> Snapshot {
    let mut by_provider: BTreeMap<Slot, Vec<(ClassId, i64)>> = BTreeMap::new();
    for ((slot, class), amount) in amounts {
        by_provider.entry(slot).or_default().push((class, amount));
    }
    let deltas = by_provider.into_iter().map(|(slot, used)| Delta {
        provider: snapshot.id(slot),
        moves: 0,
        generation: snapshot.generation(slot),
        modified: None,
        used,
    });
    snapshot.apply(&SnapshotChange {
        deltas: deltas.collect(),
        ..SnapshotChange::default()
    })
}
