//! The most that any provider of a block has left of each class: where that is not enough, nobody there need be looked at.

use super::fixed::Fixed;
use super::hot::Hot;
use super::ids::{ClassId, lanes_of};

/// By class, sorted; classes that nobody has are not there.
#[derive(Debug)]
pub(in crate::search) struct Room(Box<[(ClassId, i64)]>);

impl Room {
    pub fn of(fixed: &Fixed, hot: &Hot) -> Room {
        let most = fixed.columns().filter_map(|(class, column)| {
            let used = hot.used(class);
            let left = lanes_of(column.present).map(|lane| column.limits[lane].saturating_sub(used[lane]));
            Some((class, left.max()?))
        });
        Room(most.collect())
    }

    /// Whether somebody may have so much of the class left.
    pub fn may_hold(&self, class: ClassId, amount: i64) -> bool {
        let at = self.0.binary_search_by_key(&class, |(class, _)| *class);
        at.is_ok_and(|at| self.0[at].1 >= amount)
    }
}
