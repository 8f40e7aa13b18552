//! The most and the least that any provider of a block, or of many, has left of each class: where the most is not enough or
//! the least is, nobody there need be looked at.

use std::collections::BTreeMap;

use super::fixed::Fixed;
use super::hot::Hot;
use super::ids::{ClassId, lanes_of};

/// By class, sorted; classes that nobody has are not there.
#[derive(Clone, Debug)]
pub(in crate::search) struct Room(Box<[(ClassId, Left)]>);

/// What those have left who have a class: the most and the least.
#[derive(Clone, Copy, Debug)]
struct Left {
    most: i64,
    least: i64,
}

impl Room {
    pub fn of(fixed: &Fixed, hot: &Hot) -> Room {
        let left = fixed.columns().filter_map(|(class, column)| {
            let used = hot.used(class);
            let left = |lane: usize| column.limits[lane].saturating_sub(used[lane]);
            let (most, least) = (lanes_of(column.present).map(left), lanes_of(column.present).map(left));
            let (most, least) = (most.max()?, least.min()?);
            Some((class, Left { most, least }))
        });
        Room(left.collect())
    }

    /// That of several blocks.
    pub fn over<'a>(rooms: impl Iterator<Item = &'a Room>) -> Room {
        let mut all: BTreeMap<ClassId, Left> = BTreeMap::new();
        for &(class, left) in rooms.flat_map(|room| &room.0) {
            let known = all.entry(class).or_insert(left);
            (known.most, known.least) = (known.most.max(left.most), known.least.min(left.least));
        }
        Room(all.into_iter().collect())
    }

    /// Whether somebody may have so much of the class left.
    pub fn may_hold(&self, class: ClassId, amount: i64) -> bool {
        self.left(class).is_some_and(|left| left.most >= amount)
    }

    /// Whether everybody who has the class has so much of it left.
    pub fn is_ample(&self, class: ClassId, amount: i64) -> bool {
        self.left(class).is_some_and(|left| left.least >= amount)
    }

    fn left(&self, class: ClassId) -> Option<Left> {
        let at = self.0.binary_search_by_key(&class, |(class, _)| *class);
        at.ok().map(|at| self.0[at].1)
    }
}
