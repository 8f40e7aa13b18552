//! Free capacity per class, summarised for a block. If the maximum is too small, the block is skipped; if the minimum
//! is enough, the providers of the block need no individual check.
//!
//! The summaries assume the form of the rule at [`super::Inventory::limit`].

use super::ids::{ClassId, lanes_of};
use super::inventory::Units;
use super::profile_columns::{Column, ProfileColumns};
use super::usage_columns::UsageColumns;

/// The free capacity of a block by class, sorted: classes with an inventory in the block. One allocation, and usually
/// the only data of the block's inventories that a search reads.
#[derive(Clone, Debug)]
pub(in crate::search) struct FreeCapacity(Box<[(ClassId, ClassCapacity)]>);

/// One class in a block.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct ClassCapacity {
    /// The lanes with an inventory of the class.
    pub present: u64,
    /// The maximum and the minimum of limit less usage over these lanes.
    pub max_free: i64,
    pub min_free: i64,
    /// The extremes of usages and of limits over the lanes with free capacity, from which costs are bounded.
    pub used: (i64, i64),
    pub limits: (i64, i64),
    /// The bounds of an amount, if the bounds are the same for all these lanes.
    pub units: Option<Units>,
}

impl FreeCapacity {
    pub fn of(profile: &ProfileColumns, usage: &UsageColumns) -> FreeCapacity {
        let classes = profile.columns().filter_map(|(class, column)| {
            let used = usage.used(class);
            let free = |lane: usize| column.limits[lane].saturating_sub(used[lane]);
            let (min_free, max_free) = extremes(lanes_of(column.present).map(free))?;
            let roomy = || lanes_of(column.present).filter(|&lane| free(lane) > 0);
            let capacity = ClassCapacity {
                present: column.present,
                max_free,
                min_free,
                used: extremes(roomy().map(|lane| used[lane])).unwrap_or_default(),
                limits: extremes(roomy().map(|lane| column.limits[lane])).unwrap_or_default(),
                units: common_units(column),
            };
            Some((class, capacity))
        });
        FreeCapacity(classes.collect())
    }

    pub fn classes(&self) -> &[(ClassId, ClassCapacity)] {
        &self.0
    }

    /// `None` if no provider of the block has the class.
    pub fn of_class(&self, class: ClassId) -> Option<&ClassCapacity> {
        let at = self.0.binary_search_by_key(&class, |(class, _)| *class).ok()?;
        Some(&self.0[at].1)
    }

    /// False if no provider of the block has `amount` of the class free.
    pub fn may_fit(&self, class: ClassId, amount: i64) -> bool {
        self.of_class(class).is_some_and(|capacity| capacity.max_free >= amount)
    }
}

/// The least and the greatest value; `None` without any.
fn extremes(mut values: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let first = values.next()?;
    let wider = |(least, greatest): (i64, i64), value: i64| (least.min(value), greatest.max(value));
    Some(values.fold((first, first), wider))
}

fn common_units(column: &Column) -> Option<Units> {
    let mut all = column.units.iter();
    let (units, _) = all.next()?;
    all.next().is_none().then_some(*units)
}
