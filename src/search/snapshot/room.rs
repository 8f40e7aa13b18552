//! What is told of a class by all providers of a block, or of many: where the most that anybody has left is not enough,
//! nobody there need be looked at, and where the least is, nobody one by one.

use std::collections::BTreeMap;

use super::fixed::{Column, Fixed};
use super::hot::Hot;
use super::ids::{ClassId, lanes_of};
use super::inventory::Units;

/// Of a block: by class, sorted; classes that nobody has are not there. It lies in one piece, and is mostly all that a search
/// reads of what providers have.
#[derive(Clone, Debug)]
pub(in crate::search) struct Room(Box<[(ClassId, Stock)]>);

/// What those have who have a class.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Stock {
    /// Their lanes.
    pub present: u64,
    /// The most and the least that is left.
    pub most: i64,
    pub least: i64,
    /// The bounds of an amount, where they are the same for all.
    pub units: Option<Units>,
}

impl Room {
    pub fn of(fixed: &Fixed, hot: &Hot) -> Room {
        let stocks = fixed.columns().filter_map(|(class, column)| {
            let used = hot.used(class);
            let left = |lane: usize| column.limits[lane].saturating_sub(used[lane]);
            let (most, least) = (lanes_of(column.present).map(left), lanes_of(column.present).map(left));
            let stock = Stock {
                present: column.present,
                most: most.max()?,
                least: least.min()?,
                units: units(column),
            };
            Some((class, stock))
        });
        Room(stocks.collect())
    }

    /// None where nobody has the class.
    pub fn stock(&self, class: ClassId) -> Option<&Stock> {
        let at = self.0.binary_search_by_key(&class, |(class, _)| *class).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether somebody may have so much of the class left.
    pub fn may_hold(&self, class: ClassId, amount: i64) -> bool {
        self.stock(class).is_some_and(|stock| stock.most >= amount)
    }
}

fn units(column: &Column) -> Option<Units> {
    let mut all = column.units.iter();
    let (units, _) = all.next()?;
    all.next().is_none().then_some(units)
}

/// Of several blocks: by class, sorted, the most that anybody has left.
#[derive(Clone, Debug)]
pub(in crate::search) struct Most(Box<[(ClassId, i64)]>);

impl Most {
    pub fn of<'a>(rooms: impl Iterator<Item = &'a Room>) -> Most {
        let mut all: BTreeMap<ClassId, i64> = BTreeMap::new();
        for (class, stock) in rooms.flat_map(|room| &room.0) {
            let most = all.entry(*class).or_insert(stock.most);
            *most = (*most).max(stock.most);
        }
        Most(all.into_iter().collect())
    }

    /// As [`Room::may_hold`].
    pub fn may_hold(&self, class: ClassId, amount: i64) -> bool {
        let at = self.0.binary_search_by_key(&class, |(class, _)| *class);
        at.is_ok_and(|at| self.0[at].1 >= amount)
    }
}
