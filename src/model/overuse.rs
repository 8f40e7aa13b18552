//! Usage above the limits of inventories, whatever caused the usage: a total that fell, a reserve that rose, a normal
//! limit that was set later.
//!
//! Usage above the capacity is a violation of level hard. Usage above the normal limit of the class, but within the
//! capacity, is a violation of level soft.

use std::collections::{BTreeMap, HashMap};

use super::allocations::ProviderShare;
use crate::error::{Reason, ReasonCode};
use crate::placing::Level;
use crate::search::{ClassId, Inventory, NormalLimit, Slot, Snapshot};

/// The usage of a class above a limit of a provider.
#[derive(Debug, Clone, Copy)]
pub struct Overuse {
    pub slot: Slot,
    pub class: ClassId,
    pub used: i64,
    /// The capacity if the level is hard, else the normal limit.
    pub limit: i64,
    pub level: Level,
}

/// The limits of the providers of a snapshot.
pub struct UsageLimits<'a> {
    snapshot: &'a Snapshot,
    normal: HashMap<ClassId, NormalLimit>,
}

impl<'a> UsageLimits<'a> {
    pub fn of(snapshot: &'a Snapshot) -> UsageLimits<'a> {
        UsageLimits {
            snapshot,
            normal: snapshot.catalog().normal_limits().collect(),
        }
    }

    /// The classes of a provider that are used above a limit.
    pub fn of_provider(&self, slot: Slot) -> impl Iterator<Item = Overuse> {
        let inventories = self.snapshot.inventories(slot);
        inventories.filter_map(move |(class, inventory, used)| self.overuse((slot, class), &inventory, used))
    }

    /// The classes of these shares that are used above a limit of the provider. Each overuse has the numbers of the
    /// shares. `used` is the usage.
    pub fn of_shares<'s>(
        &self,
        shares: impl Iterator<Item = (usize, &'s ProviderShare)>,
        used: impl Fn(Slot, ClassId) -> i64,
    ) -> Vec<(Overuse, Vec<usize>)> {
        let mut found: BTreeMap<(Slot, ClassId), (Overuse, Vec<usize>)> = BTreeMap::new();
        for (number, share) in shares {
            let Some(slot) = self.snapshot.by_uuid(&share.provider) else {
                continue;
            };
            for (name, _) in &share.resources {
                let class = self.snapshot.catalog().class_id(name);
                let inventory = class.and_then(|class| Some((class, self.snapshot.inventory(slot, class)?)));
                let Some((class, inventory)) = inventory else { continue };
                if let Some(overuse) = self.overuse((slot, class), &inventory, used(slot, class)) {
                    let (_, numbers) = found.entry((slot, class)).or_insert((overuse, Vec::new()));
                    numbers.push(number);
                }
            }
        }
        found.into_values().collect()
    }

    fn overuse(&self, (slot, class): (Slot, ClassId), inventory: &Inventory, used: i64) -> Option<Overuse> {
        let capacity = inventory.limit();
        let normal = self.normal.get(&class).map_or(capacity, |limit| limit.of(inventory));
        let (limit, level) = if used > capacity {
            (capacity, Level::Hard)
        } else {
            (normal, Level::Soft)
        };
        (used > limit).then_some(Overuse {
            slot,
            class,
            used,
            limit,
            level,
        })
    }

    /// The reason of a violation: `requested` is the usage, `free` the limit.
    pub fn reason(&self, overuse: &Overuse) -> Reason {
        let Overuse {
            slot,
            class,
            used,
            limit,
            level,
        } = *overuse;
        let name = self.snapshot.name(slot);
        let class = self.snapshot.catalog().class_name(class).map_or("", |name| &**name);
        let limited_by = match level {
            Level::Hard => "capacity",
            Level::Soft | Level::Prefer => "normal limit",
        };
        Reason {
            resource_provider: Some(self.snapshot.uuid(slot).to_owned()),
            provider_name: Some(name.into()),
            resource_class: Some(class.to_owned()),
            requested: Some(used),
            free: Some(limit),
            ..Reason::new(
                ReasonCode::NoRoom,
                format!("{used} of {class} are used on {name}, and the {limited_by} is {limit}."),
            )
        }
    }
}
