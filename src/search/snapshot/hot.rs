//! What claims change of the providers of a block.

use super::change::ProviderRow;
use super::ids::{ClassId, LANES};

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
    pub fn empty() -> Self {
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
    pub fn set(&mut self, lane: usize, row: &ProviderRow) {
        self.clear(lane);
        self.generations[lane] = row.generation;
        self.modified[lane] = row.modified;
        row.used.iter().for_each(|(&class, &sum)| self.add(lane, class, sum));
    }

    pub fn clear(&mut self, lane: usize) {
        self.generations[lane] = 0;
        self.modified[lane] = 0;
        self.sums.iter_mut().for_each(|(_, sums)| sums[lane] = 0);
        self.sums.retain(|(_, sums)| sums.iter().any(|&sum| sum != 0));
    }
}
