//! 64 providers side by side, in three parts that are copied apart.

use std::sync::{Arc, LazyLock};

use super::change::ProviderRow;
use super::ids::{AggregateId, ClassId, LANES, ProviderId, Slot, TraitId};
use super::inventory::{Inventory, Units};
use super::lanes::Lanes;

/// What an empty lane is called.
static NOTHING: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));

/// The parts of a block; copying one copies three pointers.
#[derive(Clone, Debug)]
pub(in crate::search) struct Block {
    /// The lanes that are taken.
    pub present: u64,
    /// The lanes whose provider has no parent.
    pub roots: u64,
    pub identity: Arc<Identity>,
    pub fixed: Arc<Fixed>,
    pub hot: Arc<Hot>,
}

impl Block {
    pub fn empty() -> Self {
        let (identity, hot) = (Arc::new(Identity::empty()), Arc::new(Hot::empty()));
        Self {
            present: 0,
            roots: 0,
            identity,
            fixed: Arc::default(),
            hot,
        }
    }

    /// Who the provider of a lane is; what it has is set apart.
    pub fn identify(&mut self, lane: usize, row: &ProviderRow) {
        let bit = 1u64 << lane;
        self.present |= bit;
        self.roots = if row.parent.is_none() {
            self.roots | bit
        } else {
            self.roots & !bit
        };
        Arc::make_mut(&mut self.identity).set(lane, row);
    }

    /// What the provider of a lane has, all of it.
    pub fn fill(&mut self, lane: usize, row: &ProviderRow) {
        Arc::make_mut(&mut self.fixed).set(lane, row);
        Arc::make_mut(&mut self.hot).set(lane, row);
    }

    /// Makes a lane vacant.
    pub fn clear(&mut self, lane: usize) {
        self.present &= !(1 << lane);
        self.roots &= !(1 << lane);
        Arc::make_mut(&mut self.identity).clear(lane);
        Arc::make_mut(&mut self.fixed).clear(lane);
        Arc::make_mut(&mut self.hot).clear(lane);
    }
}

/// Who the providers are, and how they hang together. Changes when one is made, renamed, moved or removed.
///
/// Parents and roots are ids, not slots: an id that is gone finds nothing, a slot that is gone finds another provider.
#[derive(Clone, Debug)]
pub(in crate::search) struct Identity {
    pub ids: [ProviderId; LANES],
    pub uuids: [Arc<str>; LANES],
    pub names: [Arc<str>; LANES],
    pub parents: [Option<ProviderId>; LANES],
    pub trees: [ProviderId; LANES],
    /// Of each lane its direct children, by id.
    pub children: [Vec<Slot>; LANES],
}

impl Identity {
    fn empty() -> Self {
        Self {
            ids: [ProviderId(0); LANES],
            uuids: std::array::from_fn(|_| NOTHING.clone()),
            names: std::array::from_fn(|_| NOTHING.clone()),
            parents: [None; LANES],
            trees: [ProviderId(0); LANES],
            children: std::array::from_fn(|_| Vec::new()),
        }
    }

    /// Children stay: they belong to those who name this provider their parent.
    fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.ids[lane] = row.id;
        self.uuids[lane] = row.uuid.clone();
        self.names[lane] = row.name.clone();
        self.parents[lane] = row.parent;
        self.trees[lane] = row.root;
    }

    fn clear(&mut self, lane: usize) {
        self.uuids[lane] = NOTHING.clone();
        self.names[lane] = NOTHING.clone();
        self.parents[lane] = None;
        self.children[lane] = Vec::new();
    }
}

/// What the providers have. Changes when an operator or a host reports.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Fixed {
    pub traits: Lanes<TraitId>,
    pub aggregates: Lanes<AggregateId>,
    /// By class.
    columns: Vec<(ClassId, Column)>,
}

impl Fixed {
    pub fn column(&self, class: ClassId) -> Option<&Column> {
        self.columns
            .binary_search_by_key(&class, |&(class, _)| class)
            .ok()
            .map(|at| &self.columns[at].1)
    }

    /// The inventories of one lane, by class.
    pub fn inventories(&self, lane: usize) -> impl Iterator<Item = (ClassId, Inventory)> {
        self.columns
            .iter()
            .filter_map(move |(class, column)| Some((*class, column.inventory(lane)?)))
    }

    /// Replaces all of one lane.
    fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.clear(lane);
        self.traits.set(lane, row.traits.iter().copied());
        self.aggregates.set(lane, row.aggregates.iter().copied());
        for (&class, inventory) in &row.inventories {
            let at = self
                .columns
                .binary_search_by_key(&class, |&(class, _)| class)
                .unwrap_or_else(|at| {
                    self.columns.insert(at, (class, Column::empty()));
                    at
                });
            self.columns[at].1.set(lane, inventory);
        }
    }

    fn clear(&mut self, lane: usize) {
        self.traits.set(lane, []);
        self.aggregates.set(lane, []);
        self.columns.iter_mut().for_each(|(_, column)| column.clear(lane));
        self.columns.retain(|(_, column)| column.present != 0);
    }
}

/// One class in a block.
#[derive(Clone, Debug)]
pub(in crate::search) struct Column {
    /// The lanes that have an inventory of the class.
    pub present: u64,
    /// The highest sum of usage that each lane's capacity grants.
    pub limits: [i64; LANES],
    pub units: Lanes<Units>,
    totals: [i32; LANES],
    reserved: [i32; LANES],
    ratios: [f64; LANES],
}

impl Column {
    fn empty() -> Self {
        Self {
            present: 0,
            limits: [0; LANES],
            units: Lanes::default(),
            totals: [0; LANES],
            reserved: [0; LANES],
            ratios: [0.0; LANES],
        }
    }

    pub fn inventory(&self, lane: usize) -> Option<Inventory> {
        let Units {
            min_unit,
            max_unit,
            step_size,
        } = self.units.of(lane).next()?;
        Some(Inventory {
            total: self.totals[lane],
            reserved: self.reserved[lane],
            min_unit,
            max_unit,
            step_size,
            allocation_ratio: self.ratios[lane],
        })
    }

    fn set(&mut self, lane: usize, inventory: &Inventory) {
        self.present |= 1 << lane;
        self.limits[lane] = inventory.limit();
        self.units.set(lane, [inventory.units()]);
        self.totals[lane] = inventory.total;
        self.reserved[lane] = inventory.reserved;
        self.ratios[lane] = inventory.allocation_ratio;
    }

    fn clear(&mut self, lane: usize) {
        self.present &= !(1 << lane);
        self.units.set(lane, []);
    }
}

/// What claims change: the part that is copied for every batch.
#[derive(Clone, Debug)]
pub(in crate::search) struct Hot {
    pub generations: [i64; LANES],
    pub modified: [i64; LANES],
    /// By class; classes without inventory too.
    sums: Vec<(ClassId, [i64; LANES])>,
}

/// The sums of a class that nobody in a block uses.
static UNUSED: [i64; LANES] = [0; LANES];

impl Hot {
    fn empty() -> Self {
        Self {
            generations: [0; LANES],
            modified: [0; LANES],
            sums: Vec::new(),
        }
    }

    /// How much of `class` each lane's consumers hold.
    pub fn used(&self, class: ClassId) -> &[i64; LANES] {
        self.sums
            .binary_search_by_key(&class, |&(class, _)| class)
            .map_or(&UNUSED, |at| &self.sums[at].1)
    }

    /// The sums of one lane that are not zero, by class.
    pub fn sums(&self, lane: usize) -> impl Iterator<Item = (ClassId, i64)> {
        self.sums
            .iter()
            .map(move |(class, sums)| (*class, sums[lane]))
            .filter(|&(_, sum)| sum != 0)
    }

    pub fn add(&mut self, lane: usize, class: ClassId, amount: i64) {
        let at = self
            .sums
            .binary_search_by_key(&class, |&(class, _)| class)
            .unwrap_or_else(|at| {
                self.sums.insert(at, (class, UNUSED));
                at
            });
        let sum = &mut self.sums[at].1[lane];
        // Wraps, so that additions commute whatever they are.
        *sum = sum.wrapping_add(amount);
    }

    /// Replaces all of one lane.
    fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.clear(lane);
        self.generations[lane] = row.generation;
        self.modified[lane] = row.modified;
        row.used.iter().for_each(|(&class, &sum)| self.add(lane, class, sum));
    }

    fn clear(&mut self, lane: usize) {
        self.generations[lane] = 0;
        self.modified[lane] = 0;
        self.sums.iter_mut().for_each(|(_, sums)| sums[lane] = 0);
        self.sums.retain(|(_, sums)| sums.iter().any(|&sum| sum != 0));
    }
}
