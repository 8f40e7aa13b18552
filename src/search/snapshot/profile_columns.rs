//! Profiles of the providers of a block: traits, aggregates and inventories, in columns.

use super::change::ProviderRow;
use super::ids::{AggregateId, ClassId, LANES, TraitId};
use super::inventory::{Inventory, Units};
use super::lanes::Lanes;

/// The part of a block with the inventories, traits and aggregates of its providers.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct ProfileColumns {
    pub traits: Lanes<TraitId>,
    pub aggregates: Lanes<AggregateId>,
    /// The classes, sorted. The columns are apart, so finding a class reads no column.
    classes: Vec<ClassId>,
    columns: Vec<Column>,
}

impl ProfileColumns {
    pub fn column(&self, class: ClassId) -> Option<&Column> {
        let at = self.classes.binary_search(&class).ok()?;
        Some(&self.columns[at])
    }

    /// All classes with an inventory in the block, sorted.
    pub fn columns(&self) -> impl Iterator<Item = (ClassId, &Column)> {
        self.classes.iter().copied().zip(&self.columns)
    }

    /// The inventories of a lane, ordered by class.
    pub fn inventories(&self, lane: usize) -> impl Iterator<Item = (ClassId, Inventory)> {
        self.columns()
            .filter_map(move |(class, column)| Some((class, column.inventory(lane)?)))
    }

    /// Whether the lane has the traits, aggregates and inventories of `row`. All fields are named, so no new field can
    /// be forgotten here.
    pub fn has_profile_of(&self, lane: usize, row: &ProviderRow) -> bool {
        let ProviderRow {
            traits,
            aggregates,
            inventories,
            // In the identity columns.
            id: _,
            uuid: _,
            name: _,
            parent: _,
            root: _,
            // In the usage columns.
            generation: _,
            modified: _,
            used: _,
        } = row;
        let inventories = inventories.iter().map(|(&class, &inventory)| (class, inventory));
        self.traits.of(lane).eq(traits)
            && self.aggregates.of(lane).eq(aggregates)
            && self.inventories(lane).eq(inventories)
    }

    /// Replaces all data of a lane.
    pub fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.clear(lane);
        self.traits.set(lane, row.traits.iter().copied());
        self.aggregates.set(lane, row.aggregates.iter().copied());
        for (&class, inventory) in &row.inventories {
            let at = self.classes.binary_search(&class).unwrap_or_else(|at| {
                self.classes.reserve_exact(1);
                self.columns.reserve_exact(1);
                self.classes.insert(at, class);
                let empty = Column {
                    present: 0,
                    limits: [0; LANES],
                    units: Lanes::default(),
                    limit_terms: Vec::new(),
                };
                self.columns.insert(at, empty);
                at
            });
            self.columns[at].set(lane, inventory);
        }
    }

    pub fn clear(&mut self, lane: usize) {
        self.traits.set(lane, []);
        self.aggregates.set(lane, []);
        self.columns.iter_mut().for_each(|column| column.clear(lane));
        let mut columns = self.columns.iter();
        self.classes
            .retain(|_| columns.next().is_some_and(|column| column.present != 0));
        self.columns.retain(|column| column.present != 0);
    }

    /// Edits the column of each class. The classes and the lanes of a column must stay.
    pub fn edit_columns(&mut self, mut edit: impl FnMut(ClassId, &mut Column)) {
        let columns = self.classes.iter().zip(&mut self.columns);
        columns.for_each(|(class, column)| edit(*class, column));
    }
}

/// A class in a block.
#[derive(Clone, Debug)]
pub(in crate::search) struct Column {
    /// The lanes with an inventory of the class.
    pub present: u64,
    /// [`Inventory::limit`] of each lane.
    pub limits: [i64; LANES],
    pub units: Lanes<Units>,
    /// The remaining fields of the inventories, only for lanes in `present`, in their order: few providers of a tree
    /// have the same class.
    limit_terms: Vec<LimitTerms>,
}

/// The terms of an inventory's limit. Searches read only the limit.
#[derive(Clone, Debug)]
struct LimitTerms {
    total: i32,
    reserved: i32,
    ratio: f64,
}

impl Column {
    /// The index of a lane in `limit_terms`, or the index for inserting the lane.
    fn position(&self, lane: usize) -> usize {
        (self.present & ((1 << lane) - 1)).count_ones() as usize
    }

    pub fn inventory(&self, lane: usize) -> Option<Inventory> {
        let Units {
            min_unit,
            max_unit,
            step_size,
        } = *self.units.of(lane).next()?;
        let LimitTerms { total, reserved, ratio } = self.limit_terms[self.position(lane)];
        Some(Inventory {
            total,
            reserved,
            min_unit,
            max_unit,
            step_size,
            allocation_ratio: ratio,
        })
    }

    /// The total of the inventory of a lane in `present`.
    pub fn total(&self, lane: usize) -> i32 {
        self.limit_terms[self.position(lane)].total
    }

    /// Adds the inventory of a lane without an inventory of the class.
    fn set(&mut self, lane: usize, inventory: &Inventory) {
        let terms = LimitTerms {
            total: inventory.total,
            reserved: inventory.reserved,
            ratio: inventory.allocation_ratio,
        };
        self.limit_terms.insert(self.position(lane), terms);
        self.present |= 1 << lane;
        self.limits[lane] = inventory.limit();
        self.units.set(lane, [inventory.units()]);
    }

    fn clear(&mut self, lane: usize) {
        if self.present >> lane & 1 == 1 {
            self.limit_terms.remove(self.position(lane));
            self.present &= !(1 << lane);
            self.units.set(lane, []);
        }
    }
}
