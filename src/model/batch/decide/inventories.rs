//! The rules of inventories. Every write moves the provider's generation, even if no value changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Rules;
use super::resource_providers::find;
use crate::error::{Error, Result};
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::inventories::{Add, Clear, Inventories, Inventory, Remove, Replace, Update};
use crate::search::{ClassId, ProviderId};

/// `PUT …/inventories`.
impl Write for Replace {
    type Answer = Inventories;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn load(&self) -> Load {
        Load {
            is_plannable: true,
            ..Load::of(self.inventories.len(), Reach::Inventories)
        }
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Inventories> {
        replace(state, self)
    }
}

/// Replaces the inventories of a provider.
pub fn replace(state: &mut State, replace: &Replace) -> Result<Inventories> {
    let id = find(state, &replace.provider)?;
    check_generation(state, id, replace.generation)?;
    let stored = stored_uuid(state, id);
    for (class, inventory) in &replace.inventories {
        check_capacity("update", &stored, class, inventory, replace.reserved_may_equal_total)?;
    }
    let mut requested = BTreeMap::new();
    for (class, inventory) in &replace.inventories {
        let class_id = state.class_id(class).ok_or_else(|| Error::UnknownClassInInventory {
            class: class.clone(),
            provider: stored.clone(),
        })?;
        requested.insert(class_id, *inventory);
    }
    if let Some(classes) = in_use(state, id, |class| !requested.contains_key(&class)) {
        return Err(Error::InventoriesInUse {
            classes,
            provider: stored.clone(),
        });
    }
    let moves = state.check_moves(vec![id])?;
    for (class, inventory) in &requested {
        warn_over_capacity(state, id, *class, inventory);
        state.rewrite_inventory(id, *class);
    }
    state.edit(id, |row| row.inventories = requested);
    state.move_generations(moves);
    let written = replace
        .inventories
        .iter()
        .map(|(class, inventory)| (class.as_str().into(), *inventory));
    Ok(answer(state, id, written.collect()))
}

/// `POST …/inventories`.
impl Write for Add {
    type Answer = Inventories;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn load(&self) -> Load {
        Load::of(1, Reach::Inventories)
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Inventories> {
        let id = find(state, &self.provider)?;
        check_capacity(
            "create",
            &stored_uuid(state, id),
            &self.class,
            &self.inventory,
            self.reserved_may_equal_total,
        )?;
        let class = state.class_id(&self.class).ok_or_else(|| Error::InvalidInventory {
            action: "create",
            provider: stored_uuid(state, id),
            reason: format!("No such resource class {}.", self.class),
        })?;
        if has_inventory(state, id, class) {
            return Err(Error::InventoryExists {
                class: self.class.clone(),
                provider: stored_uuid(state, id),
            });
        }
        write_one(state, id, class, &self.class, self.inventory)
    }
}

/// `PUT …/inventories/{class}`.
impl Write for Update {
    type Answer = Inventories;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn load(&self) -> Load {
        Load {
            is_plannable: true,
            ..Load::of(1, Reach::Inventories)
        }
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Inventories> {
        let id = find(state, &self.provider)?;
        check_generation(state, id, self.generation)?;
        check_capacity(
            "update",
            &stored_uuid(state, id),
            &self.class,
            &self.inventory,
            self.reserved_may_equal_total,
        )?;
        // As in OpenStack Placement, an unknown class is a 404, and a class without an inventory here is a 400.
        let class = state.class_id(&self.class).ok_or_else(|| Error::ClassNotFound {
            name: self.class.clone(),
        })?;
        if !has_inventory(state, id, class) {
            return Err(Error::InventoryNotFoundForUpdate {
                class: self.class.clone(),
                provider: stored_uuid(state, id),
            });
        }
        let written = write_one(state, id, class, &self.class, self.inventory)?;
        warn_over_capacity(state, id, class, &self.inventory);
        Ok(written)
    }
}

/// `DELETE …/inventories/{class}`.
impl Write for Remove {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn load(&self) -> Load {
        Load::of(1, Reach::Inventories)
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let id = find(state, &self.provider)?;
        let class = state
            .class_id(&self.class)
            .ok_or_else(|| Error::InventoryClassNotFoundForDelete {
                class: self.class.clone(),
            })?;
        if let Some(classes) = in_use(state, id, |used| used == class) {
            return Err(Error::InventoryInUse {
                class: classes,
                provider: stored_uuid(state, id),
            });
        }
        if !has_inventory(state, id, class) {
            return Err(Error::InventoryNotFoundForDelete {
                class: self.class.clone(),
            });
        }
        state.edit_and_move(id, |row| {
            row.inventories.remove(&class);
        })
    }
}

/// `DELETE …/inventories`.
impl Write for Clear {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn load(&self) -> Load {
        Load::of(1, Reach::Inventories)
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let id = find(state, &self.provider)?;
        if let Some(classes) = in_use(state, id, |_| true) {
            return Err(Error::AllInventoriesInUse {
                classes,
                provider: stored_uuid(state, id),
            });
        }
        state.edit_and_move(id, |row| row.inventories.clear())
    }
}

fn check_generation(state: &mut State, id: ProviderId, expected: i64) -> Result<()> {
    match state.provider(id) {
        Some(row) if row.generation != expected => Err(Error::StaleInventoryGeneration),
        _ => Ok(()),
    }
}

fn has_inventory(state: &mut State, id: ProviderId, class: ClassId) -> bool {
    let row = state.provider(id);
    row.is_some_and(|row| row.inventories.contains_key(&class))
}

/// The provider's uuid in the spelling of the table, which on MariaDB may differ from the request. For sentences.
fn stored_uuid(state: &mut State, id: ProviderId) -> String {
    state.provider(id).map_or_else(String::new, |row| row.uuid.to_string())
}

/// Checks the capacity: `total` less `reserved`, times the ratio, rounded down. The capacity must be positive, or from
/// 1.26 (`may_be_zero`) at least 0.
fn check_capacity(
    action: &'static str,
    provider: &str,
    class: &str,
    inventory: &Inventory,
    may_be_zero: bool,
) -> Result<()> {
    check_ratio(action, provider, class, inventory)?;
    let capacity = inventory.capacity().trunc();
    if capacity > 0.0 || (may_be_zero && capacity >= 0.0) {
        return Ok(());
    }
    let relation = if may_be_zero {
        "greater than"
    } else {
        "greater than or equal to"
    };
    let reason = format!(
        "Invalid inventory for '{class}' on resource provider '{provider}'. The reserved value is {relation} total."
    );
    Err(Error::InvalidInventory {
        action,
        provider: provider.to_owned(),
        reason,
    })
}

/// Checks that the ratio is a finite number. The schema cannot check this, because clients' JSON may have `NaN` and
/// `Infinity`.
pub fn check_ratio(action: &'static str, provider: &str, class: &str, inventory: &Inventory) -> Result<()> {
    if inventory.allocation_ratio.is_finite() {
        return Ok(());
    }
    Err(Error::InvalidInventory {
        action,
        provider: provider.to_owned(),
        reason: format!("The allocation_ratio of '{class}' is no finite number."),
    })
}

/// The names of the selected classes of which the provider has usage, joined by `, `; `None` if there are none.
fn in_use(state: &mut State, id: ProviderId, is_selected: impl Fn(ClassId) -> bool) -> Option<String> {
    let row = state.provider(id)?;
    let used: Vec<ClassId> = row
        .inventories
        .keys()
        .filter(|class| is_selected(**class) && row.used.contains_key(class))
        .copied()
        .collect();
    let names: Vec<Arc<str>> = used.into_iter().map(|class| state.class_name(class)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Logs a warning if the usage exceeds the capacity. The inventory is not refused, because the operator may decide so.
pub fn warn_over_capacity(state: &mut State, id: ProviderId, class: ClassId, inventory: &Inventory) {
    let Some(row) = state.provider(id) else { return };
    let used = row.used.get(&class).copied().unwrap_or(0);
    if used as f64 > inventory.capacity() {
        let uuid = row.uuid.clone();
        let name = state.class_name(class);
        state.warnings.push(format!(
            "Resource provider {uuid} is now over capacity for {name}: {used} used of {}; no further claim fits",
            inventory.capacity()
        ));
    }
}

fn write_one(
    state: &mut State,
    id: ProviderId,
    class: ClassId,
    name: &str,
    inventory: Inventory,
) -> Result<Inventories> {
    state.edit_and_move(id, |row| {
        row.inventories.insert(class, inventory);
    })?;
    state.rewrite_inventory(id, class);
    Ok(answer(state, id, vec![(name.into(), inventory)]))
}

fn answer(state: &mut State, id: ProviderId, inventories: Vec<(Arc<str>, Inventory)>) -> Inventories {
    let modified = (!inventories.is_empty()).then_some(state.now);
    let (provider, generation) = state
        .provider(id)
        .map_or_else(|| ("".into(), 0), |row| (row.uuid.clone(), row.generation));
    Inventories {
        provider,
        generation,
        inventories,
        modified,
    }
}
