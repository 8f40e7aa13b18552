//! The rules of the reshaper: interim inventories, allocations, final inventories, as one command.
//!
//! An inventory may neither go while something uses it nor come too late for what is to use it. So claims are judged on
//! *interim* inventories, which are what a provider has with what it is to have over it; what is too much then goes,
//! if nothing uses it any more. A provider's generation moves once for each of the three that concerns it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Rules;
use super::allocations::{self, Ask, Change, Interim, Sums};
use super::inventories::{check_ratio, warn_over_capacity};
use crate::error::{Error, Result};
use crate::model::inventories::Inventory;
use crate::model::reshaper::{Reshape, Reshaped};
use crate::model::state::State;
use crate::search::{ClassId, ProviderId};

/// A provider's inventories as they are to be.
struct Wanted<'a> {
    id: ProviderId,
    asked: &'a Reshaped,
    inventories: BTreeMap<ClassId, Inventory>,
}

/// `POST /reshaper`.
pub fn reshape(state: &mut State, rules: &Rules, reshape: &Reshape) -> Result<()> {
    let providers = find_providers(state, reshape)?;
    for one in &reshape.consumers {
        allocations::check_consumer(state, one)?;
    }
    let shares = allocations::find_providers(state, &reshape.consumers)?;
    let wanted = resolve(state, &providers)?;
    let unknown = |class: &str| Error::ReshapeClassNotFound {
        class: class.to_owned(),
    };
    let asks = allocations::find_classes(state, shares, unknown)?;
    let change = Change::of(state, &reshape.consumers, asks);
    let interim = interim(state, &wanted);
    allocations::check_room(state, rules, &interim, &change)?;
    check_in_use(state, &interim, &wanted, &change)?;
    apply(state, rules, reshape, wanted, &change.asks);
    Ok(())
}

fn find_providers<'a>(state: &mut State, reshape: &'a Reshape) -> Result<Vec<(ProviderId, &'a Reshaped)>> {
    let mut found = Vec::new();
    for asked in &reshape.providers {
        let uuid = &asked.provider;
        let id = state
            .find_provider(uuid)
            .ok_or_else(|| Error::ProviderNotFoundForReshape { uuid: uuid.clone() })?;
        let actual = state.provider(id).map_or(0, |row| row.generation);
        if actual != asked.generation.generation {
            return Err(Error::StaleReshapeGeneration {
                provider: uuid.clone(),
                actual,
                given: asked.generation.spelled.clone(),
            });
        }
        found.push((id, asked));
    }
    Ok(found)
}

fn resolve<'a>(state: &State, providers: &[(ProviderId, &'a Reshaped)]) -> Result<Vec<Wanted<'a>>> {
    let mut wanted = Vec::new();
    for (id, asked) in providers {
        let mut inventories = BTreeMap::new();
        for (class, inventory) in &asked.inventories {
            let known = state
                .class_id(class)
                .ok_or_else(|| Error::ReshapeClassNotFound { class: class.clone() })?;
            check_ratio("update", &asked.provider, class, inventory)?;
            inventories.insert(known, *inventory);
        }
        wanted.push(Wanted {
            id: *id,
            asked,
            inventories,
        });
    }
    Ok(wanted)
}

fn interim(state: &mut State, wanted: &[Wanted<'_>]) -> Interim {
    let mut interim = Interim::new();
    for one in wanted {
        let mut inventories = state
            .provider(one.id)
            .map(|row| row.inventories.clone())
            .unwrap_or_default();
        inventories.extend(&one.inventories);
        interim.insert(one.id, inventories);
    }
    interim
}

/// No inventory goes of which something is used once the allocations are replaced.
fn check_in_use(state: &mut State, interim: &Interim, wanted: &[Wanted<'_>], change: &Change<'_>) -> Result<()> {
    let mut asked = Sums::new();
    for ask in &change.asks {
        *asked.entry((ask.provider, ask.class)).or_insert(0) += ask.amount;
    }
    for one in wanted {
        let going = interim.get(&one.id).into_iter().flat_map(BTreeMap::keys);
        let going: Vec<ClassId> = going
            .filter(|class| !one.inventories.contains_key(class))
            .copied()
            .collect();
        let mut used: Vec<Arc<str>> = Vec::new();
        for class in going {
            let key = (one.id, class);
            let now = state.provider(one.id).and_then(|row| row.used.get(&class)).copied();
            let sum = |sums: &Sums| sums.get(&key).copied().unwrap_or(0);
            if now.unwrap_or(0) - sum(&change.released) + sum(&asked) != 0 {
                used.push(state.class_name(class));
            }
        }
        if !used.is_empty() {
            return Err(Error::InventoriesInUse {
                classes: used.join(", "),
                provider: one.asked.provider.clone(),
            });
        }
    }
    Ok(())
}

fn apply(state: &mut State, rules: &Rules, reshape: &Reshape, wanted: Vec<Wanted<'_>>, asks: &[Ask<'_>]) {
    // Interim inventories that are the old ones need not be written.
    let interim: BTreeSet<ProviderId> = wanted
        .iter()
        .filter(|it| !it.inventories.is_empty())
        .map(|it| it.id)
        .collect();
    for id in interim {
        state.move_generation(id);
    }
    allocations::apply(state, rules, &reshape.consumers, asks);
    for one in wanted {
        for (class, inventory) in &one.inventories {
            warn_over_capacity(state, one.id, *class, inventory);
            state.rewrite_inventory(one.id, *class);
        }
        state.edit(one.id, |row| row.inventories = one.inventories);
        state.move_generation(one.id);
    }
}
