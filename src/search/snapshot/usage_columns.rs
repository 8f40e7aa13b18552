//! The usage of the providers of a block: generations and sums of allocations, in columns.

use super::change::ProviderRow;
use super::ids::{ClassId, LANES};

/// Claims change this part of a block, so the part is copied for every batch.
#[derive(Clone, Debug)]
pub(in crate::search) struct UsageColumns {
    pub generations: [i64; LANES],
    pub modified: [i64; LANES],
    /// The used classes, sorted; classes without inventory too. The sums are apart, so finding a class reads no sums.
    classes: Vec<ClassId>,
    sums: Vec<[i64; LANES]>,
}

/// The sums of an unused class in a block.
static UNUSED: [i64; LANES] = [0; LANES];

impl Default for UsageColumns {
    fn default() -> Self {
        Self {
            generations: [0; LANES],
            modified: [0; LANES],
            classes: Vec::new(),
            sums: Vec::new(),
        }
    }
}

impl UsageColumns {
    /// The sum of allocations of `class` from each lane.
    pub fn used(&self, class: ClassId) -> &[i64; LANES] {
        let at = self.classes.binary_search(&class);
        at.map_or(&UNUSED, |at| &self.sums[at])
    }

    /// The sums of a lane unequal to zero, ordered by class.
    pub fn sums(&self, lane: usize) -> impl Iterator<Item = (ClassId, i64)> {
        let sums = self.classes.iter().zip(&self.sums);
        sums.map(move |(class, sums)| (*class, sums[lane]))
            .filter(|&(_, sum)| sum != 0)
    }

    pub fn add(&mut self, lane: usize, class: ClassId, amount: i64) {
        let at = self.classes.binary_search(&class).unwrap_or_else(|at| {
            // A copy has no spare capacity, and a plain insert would double the capacity.
            self.classes.reserve_exact(1);
            self.sums.reserve_exact(1);
            self.classes.insert(at, class);
            self.sums.insert(at, UNUSED);
            at
        });
        let sum = &mut self.sums[at][lane];
        // Wrapping addition, so deltas commute whatever their values.
        *sum = sum.wrapping_add(amount);
    }

    /// Replaces all data of a lane.
    pub fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.clear(lane);
        self.generations[lane] = row.generation;
        self.modified[lane] = row.modified;
        row.used.iter().for_each(|(&class, &sum)| self.add(lane, class, sum));
    }

    pub fn clear(&mut self, lane: usize) {
        self.generations[lane] = 0;
        self.modified[lane] = 0;
        self.sums.iter_mut().for_each(|sums| sums[lane] = 0);
        let is_used = |sums: &[i64; LANES]| sums.iter().any(|&sum| sum != 0);
        let mut sums = self.sums.iter();
        self.classes.retain(|_| sums.next().is_some_and(is_used));
        self.sums.retain(is_used);
    }
}
