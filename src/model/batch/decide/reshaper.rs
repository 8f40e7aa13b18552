//! The rules of the reshaper: a command replaces the inventories of providers and the allocations in these inventories.
//!
//! Naively, the command would set the new inventories and afterwards the new allocations. But an inventory may not be
//! removed while an old allocation uses the inventory. In the reverse order the new allocations would lack inventories.
//!
//! So there are three steps, as in OpenStack Placement:
//!
//! 1. Add the new inventories to the old inventories (the *interim* inventories).
//! 2. Replace the allocations.
//! 3. Remove the inventories that the request leaves out.
//!
//! A provider's generation moves once for each step that concerns the provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Rules;
use super::allocations::{self, AllocationChange, AllocationRequest, InterimInventories};
use super::inventories::{check_ratio, warn_over_capacity};
use crate::error::{Error, Result};
use crate::model::batch::call_usage::CallAmounts;
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::inventories::Inventory;
use crate::model::reshaper::{Reshape, Reshaped};
use crate::search::{ClassId, ProviderId};

/// The new inventories of a provider, with classes by id.
struct TargetInventories<'a> {
    id: ProviderId,
    reshaped: &'a Reshaped,
    inventories: BTreeMap<ClassId, Inventory>,
}

/// `POST /reshaper`.
impl Write for Reshape {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.add_claims(&self.consumers);
        let providers = self.providers.iter().map(|reshaped| reshaped.provider.as_str());
        footprint.providers.extend(providers);
    }

    fn load(&self) -> Load {
        let inventories = self.providers.iter().map(|reshaped| reshaped.inventories.len());
        Load::of(
            allocations::rows_of(&self.consumers) + inventories.sum::<usize>(),
            Reach::All,
        )
    }

    fn decide(&self, state: &mut State, rules: &Rules) -> Result<()> {
        let providers = find_providers(state, self)?;
        for claim in &self.consumers {
            allocations::check_consumer(state, claim)?;
        }
        allocations::check_providers(state, &self.consumers)?;
        let targets = resolve_classes(state, &providers)?;
        let unknown = |class: &str| Error::ReshapeClassNotFound {
            class: class.to_owned(),
        };
        let requests = allocations::requests_of(state, &self.consumers, unknown)?;
        let change = AllocationChange::of(state, &self.consumers, requests);
        let interim = interim(state, &targets);
        allocations::check_amounts(state, rules, &interim, &change)?;
        check_in_use(state, &interim, &targets, &change)?;
        allocations::check_consumer_generations(state, &self.consumers)?;
        let moves = state.check_moves(moved(&targets, &change))?;
        apply(state, rules, self, targets, &change.requests);
        state.move_generations(moves);
        Ok(())
    }
}

fn find_providers<'a>(state: &mut State, reshape: &'a Reshape) -> Result<Vec<(ProviderId, &'a Reshaped)>> {
    let mut found = Vec::new();
    for reshaped in &reshape.providers {
        let uuid = &reshaped.provider;
        let id = state
            .find_provider(uuid)
            .ok_or_else(|| Error::ProviderNotFoundForReshape { uuid: uuid.clone() })?;
        let actual = state.provider(id).map_or(0, |row| row.generation);
        if actual != reshaped.generation.generation {
            return Err(Error::StaleReshapeGeneration {
                provider: uuid.clone(),
                actual,
                given: reshaped.generation.literal.clone(),
            });
        }
        found.push((id, reshaped));
    }
    Ok(found)
}

fn resolve_classes<'a>(state: &State, providers: &[(ProviderId, &'a Reshaped)]) -> Result<Vec<TargetInventories<'a>>> {
    let mut targets = Vec::new();
    for (id, reshaped) in providers {
        let mut inventories = BTreeMap::new();
        for (class, inventory) in &reshaped.inventories {
            let class_id = state
                .class_id(class)
                .ok_or_else(|| Error::ReshapeClassNotFound { class: class.clone() })?;
            check_ratio("update", &reshaped.provider, class, inventory)?;
            inventories.insert(class_id, *inventory);
        }
        targets.push(TargetInventories {
            id: *id,
            reshaped,
            inventories,
        });
    }
    Ok(targets)
}

fn interim(state: &mut State, targets: &[TargetInventories<'_>]) -> InterimInventories {
    let mut interim = InterimInventories::new();
    for target in targets {
        let mut inventories = state
            .provider(target.id)
            .map(|row| row.inventories.clone())
            .unwrap_or_default();
        inventories.extend(&target.inventories);
        interim.insert(target.id, inventories);
    }
    interim
}

/// Refuses to remove an inventory that still has usage after the allocations are replaced.
fn check_in_use(
    state: &mut State,
    interim: &InterimInventories,
    targets: &[TargetInventories<'_>],
    change: &AllocationChange<'_>,
) -> Result<()> {
    let mut requested = CallAmounts::new();
    for request in &change.requests {
        *requested.entry((request.provider, request.class)).or_insert(0) += request.amount;
    }
    for target in targets {
        let removed = interim.get(&target.id).into_iter().flat_map(BTreeMap::keys);
        let removed: Vec<ClassId> = removed
            .filter(|class| !target.inventories.contains_key(class))
            .copied()
            .collect();
        let mut classes_in_use: Vec<Arc<str>> = Vec::new();
        for class in removed {
            let key = (target.id, class);
            let current = state.provider(target.id).and_then(|row| row.used.get(&class)).copied();
            let amount = |amounts: &CallAmounts| amounts.get(&key).copied().unwrap_or(0);
            if current.unwrap_or(0) - amount(&change.released) + amount(&requested) != 0 {
                classes_in_use.push(state.class_name(class));
            }
        }
        if !classes_in_use.is_empty() {
            return Err(Error::InventoriesInUse {
                classes: classes_in_use.join(", "),
                provider: target.reshaped.provider.clone(),
            });
        }
    }
    Ok(())
}

/// The providers whose generations move, once for each step that concerns the provider. The first step concerns only
/// providers with new inventories.
fn moved(targets: &[TargetInventories<'_>], change: &AllocationChange<'_>) -> Vec<ProviderId> {
    let extended = targets.iter().filter(|target| !target.inventories.is_empty());
    let all = targets.iter().map(|target| target.id);
    extended
        .map(|target| target.id)
        .chain(change.moved.iter().copied())
        .chain(all)
        .collect()
}

fn apply(
    state: &mut State,
    rules: &Rules,
    reshape: &Reshape,
    targets: Vec<TargetInventories<'_>>,
    requests: &[AllocationRequest<'_>],
) {
    allocations::apply(state, rules, &reshape.consumers, requests);
    for target in targets {
        for (class, inventory) in &target.inventories {
            warn_over_capacity(state, target.id, *class, inventory);
            state.rewrite_inventory(target.id, *class);
        }
        state.edit(target.id, |row| row.inventories = target.inventories);
    }
}
