//! Rules about amounts: which rules hold in a search, and the normal limits as a version of the snapshot.
//!
//! A search with fewer rules tells which rule leaves out a host, and which hosts suit a request if room does not count.

use std::collections::BTreeMap;

use super::ids::{ClassId, Slot, lanes_of};
use super::inventory::Units;
use super::limits::NormalLimit;
use super::profile_columns::Column;
use super::version::Snapshot;

/// A rule about the amounts of a class. Each rule about capacity assumes the rules about capacity before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AmountRule {
    /// The capacity is enough if nothing were used.
    Capacity,
    /// `min_unit`, `max_unit` and `step_size` allow the amount.
    Units,
    /// The free capacity is enough.
    Room,
    /// The free capacity within the normal limit is enough, where the snapshot has normal limits.
    NormalRoom,
}

impl AmountRule {
    pub const ALL: [AmountRule; 4] = [
        AmountRule::Capacity,
        AmountRule::Units,
        AmountRule::Room,
        AmountRule::NormalRoom,
    ];
}

/// Which rules hold for the inventories of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::search) struct AmountRules {
    pub units: bool,
    /// The last rule about capacity; with `None` the room is unlimited.
    pub capacity: Option<AmountRule>,
}

impl AmountRules {
    pub const ALL: AmountRules = AmountRules {
        units: true,
        capacity: Some(AmountRule::NormalRoom),
    };

    /// The rules for which `holds` is true. Without a rule about capacity, later rules about capacity do not hold.
    pub fn of(holds: impl Fn(AmountRule) -> bool) -> AmountRules {
        let of_capacity = AmountRule::ALL.into_iter().filter(|rule| *rule != AmountRule::Units);
        AmountRules {
            units: holds(AmountRule::Units),
            capacity: of_capacity.take_while(|rule| holds(*rule)).last(),
        }
    }
}

/// The rules of a search about amounts.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::search) struct AmountRulesByClass {
    pub classes: BTreeMap<ClassId, AmountRules>,
    /// The rules of all classes outside of `classes`.
    pub others: AmountRules,
}

impl Default for AmountRulesByClass {
    fn default() -> Self {
        AmountRulesByClass::equal(AmountRules::ALL)
    }
}

impl AmountRulesByClass {
    /// The same rules for all classes.
    pub fn equal(rules: AmountRules) -> AmountRulesByClass {
        AmountRulesByClass {
            classes: BTreeMap::new(),
            others: rules,
        }
    }

    /// Whether all rules hold for all classes.
    pub fn are_all(&self) -> bool {
        self.others == AmountRules::ALL && self.classes.values().all(|rules| *rules == AmountRules::ALL)
    }

    pub fn of(&self, class: ClassId) -> AmountRules {
        self.classes.get(&class).copied().unwrap_or(self.others)
    }
}

/// More than any sum of amounts that `max_unit` allows.
const UNLIMITED: i64 = 1 << 48;

const ANY_UNITS: Units = Units {
    min_unit: 1,
    max_unit: i32::MAX,
    step_size: 1,
};

impl Snapshot {
    /// This version with the normal limits in place of the inventories' own. The cost grows with the number of
    /// providers with a limited class.
    pub fn at_normal_limits(&self) -> Snapshot {
        let normal: BTreeMap<ClassId, NormalLimit> = self.catalog.normal_limits().collect();
        let mut limited = self.clone();
        for at in 0..self.blocks.len() {
            let mut columns = self.blocks.get(at).profile.columns();
            if columns.any(|(class, _)| normal.contains_key(&class)) {
                limited.blocks.get_mut(at).edit_columns(|class, column| {
                    if let Some(normal) = normal.get(&class) {
                        set_limits(column, *normal);
                    }
                });
            }
        }
        limited
    }

    /// The highest amount of a class that the rules grant now, and the units of the inventory. `None` without an
    /// inventory. Assumes the form of the rule at [`super::Inventory::limit`].
    pub(in crate::search) fn room(&self, slot: Slot, class: ClassId, rules: AmountRules) -> Option<(i64, Units)> {
        let block = self.block(slot);
        let column = block.profile.column(class)?;
        let own_units = *column.units.of(slot.lane()).next()?;
        let units = if rules.units { own_units } else { ANY_UNITS };
        let free = rules.free(column, slot.lane(), block.usage.used(class)[slot.lane()]);
        Some((free.min(i64::from(units.max_unit)), units))
    }
}

impl AmountRules {
    /// The free capacity of a lane.
    pub fn free(self, column: &Column, lane: usize, used: i64) -> i64 {
        let limit = || column.inventory(lane).map_or(0, |inventory| inventory.limit());
        match self.capacity {
            None | Some(AmountRule::Units) => UNLIMITED,
            // A sum of usage below zero adds to the room.
            Some(AmountRule::Capacity) => limit().saturating_sub(used.min(0)),
            Some(AmountRule::Room) => limit().saturating_sub(used),
            Some(AmountRule::NormalRoom) => column.limits[lane].saturating_sub(used),
        }
    }
}

fn set_limits(column: &mut Column, normal: NormalLimit) {
    for lane in lanes_of(column.present) {
        if let Some(inventory) = column.inventory(lane) {
            column.limits[lane] = normal.of(&inventory);
        }
    }
}
