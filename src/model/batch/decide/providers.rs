//! The rules of descriptions: each provider exists, and the caller names the generation of the present description.
//!
//! A host that is not up gets the trait that Nova's scheduler forbids, so OpenStack's routes no longer propose the host
//! to Nova. When the host is up again placet removes the trait, but only if placet had set the trait.
//!
//! Nova asks for the trait of the root of the serving tree. The trait of a sharing provider keeps no request away that
//! a host serves together with the provider, and the answer says so.
//!
//! A process without the new state or the new domains may decide a claim at the same time. So when a provider leaves
//! `up`, or the domains of a host change, the generations of the provider and of all providers below move. The guard of
//! the claim fails.

mod domains;

use std::collections::BTreeMap;

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::generation_moves::GENERATION_MAX;
use crate::model::batch::state::State;
use crate::model::providers::{
    DISABLED_TRAIT, Describe, DescribeAll, Described, DescriptionRow, HostOfDomain, SetStates,
};
use crate::search::{Description, ProviderId, ProviderState, TraitId};

/// An allowed description of a provider, and the changes.
struct Allowed<'a> {
    id: ProviderId,
    new: &'a Describe,
    generation: i64,
    sets_trait: bool,
    /// Whether a concurrent claim may be wrong.
    refutes_claims: bool,
    /// Whether the trait is to be added (`true`) or removed.
    trait_change: Option<bool>,
}

/// `PUT /v1/providers`, `PUT` and `PATCH /v1/providers/{uuid}`: all descriptions or none.
impl Write for DescribeAll {
    type Answer = Vec<Described>;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.add_described(self.providers.iter().map(|new| new.provider.as_str()));
        footprint.descriptions.extend(&self.providers);
    }

    fn load(&self) -> Load {
        Load::of(self.rows(), Reach::All)
    }

    /// # Errors
    /// - [`Error::ProviderNotFound`]; in a list [`Error::BadRequest`] for providers that do not exist.
    /// - [`Error::BadRequest`] for a name that the provider does not have.
    /// - [`Error::StaleDescriptions`], [`Error::DomainInUse`], [`Error::ProviderGenerationLimit`].
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<Vec<Described>> {
        let ids = found(state, self)?;
        check_names(state, self, &ids)?;
        check_generations(state, &self.providers, self.is_list, &ids)?;
        if !self.is_forced {
            domains::check(state, &self.providers, &ids, rules.read_spec)?;
        }
        let allowed = all_allowed(state, &self.providers, &ids);
        replace(state, allowed)
    }
}

/// `PATCH /v1/providers`: sets the state of the hosts that are still in the domain.
impl Write for SetStates {
    type Answer = Vec<Described>;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.add_described(self.hosts.iter().map(|host| host.uuid.as_str()));
    }

    fn load(&self) -> Load {
        Load::of(self.hosts.len(), Reach::All)
    }

    /// # Errors
    /// [`Error::BadRequest`] if no host is in the domain. [`Error::ProviderGenerationLimit`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<Vec<Described>> {
        let SetStates { hosts, wanted } = self;
        let (mut ids, mut providers) = (Vec::new(), Vec::new());
        for HostOfDomain { uuid, aggregate } in hosts {
            let Some(id) = state.find_provider(uuid) else { continue };
            let Some(provider) = state.provider(id) else { continue };
            let is_root = provider.parent.is_none();
            let is_member = aggregate.is_some_and(|aggregate| provider.aggregates.contains(&aggregate));
            let row = state.description(id);
            let description = row.map(|row| row.description.clone()).unwrap_or_default();
            let path = description.domains.get(&wanted.domain.dimension);
            let is_in_domain = wanted.has_host(uuid, path.map(|path| &**path)) || path.is_none() && is_member;
            if is_root && is_in_domain {
                ids.push(id);
                providers.push(Describe {
                    provider: uuid.clone(),
                    name: None,
                    generation: row.map(|row| row.generation),
                    description: Description {
                        state: wanted.state,
                        ..description
                    },
                });
            }
        }
        if ids.is_empty() {
            return Err(wanted.without_hosts());
        }
        check_generations(state, &providers, false, &ids)?;
        let allowed = all_allowed(state, &providers, &ids);
        replace(state, allowed)
    }
}

/// The changes of providers that have these ids.
fn all_allowed<'a>(state: &mut State, providers: &'a [Describe], ids: &[ProviderId]) -> Vec<Allowed<'a>> {
    let disabled = state.trait_id(DISABLED_TRAIT);
    let both = ids.iter().zip(providers);
    both.map(|(id, new)| allowed(state, *id, new, disabled)).collect()
}

/// Replaces descriptions, after all checks but the last.
fn replace(state: &mut State, allowed: Vec<Allowed<'_>>) -> Result<Vec<Described>> {
    let disabled = state.trait_id(DISABLED_TRAIT);
    let refuting = allowed.iter().filter(|it| it.refutes_claims).map(|it| it.id);
    let mut moved = state.with_all_below(refuting.collect());
    let with_other_traits = allowed.iter().filter(|it| it.trait_change.is_some());
    moved.extend(with_other_traits.map(|it| it.id));
    let moves = state.check_moves(moved.into_iter().collect())?;
    for it in &allowed {
        write(state, it, disabled);
    }
    state.move_generations(moves);
    Ok(allowed.iter().map(|it| described(state, it)).collect())
}

/// Replaces the description of a provider as its agent reports, by the generation of the present description. No
/// generation of a provider moves for other domains.
///
/// # Errors
/// [`Error::DomainInUse`], [`Error::ProviderGenerationLimit`].
pub fn describe_one(state: &mut State, new: &Describe, id: ProviderId, rules: &Rules) -> Result<()> {
    domains::check(state, std::slice::from_ref(new), &[id], rules.read_spec)?;
    let disabled = state.trait_id(DISABLED_TRAIT);
    let mut allowed = allowed(state, id, new, disabled);
    // The generation of the host is not the agent's. A claim that was decided before may break a rule, and is shown.
    allowed.refutes_claims = false;
    replace(state, vec![allowed]).map(drop)
}

/// The ids of the providers, in the order of the command.
fn found(state: &State, command: &DescribeAll) -> Result<Vec<ProviderId>> {
    let (mut ids, mut missing) = (Vec::new(), Vec::new());
    for (at, Describe { provider, .. }) in command.providers.iter().enumerate() {
        match state.find_provider(provider) {
            Some(id) => ids.push(id),
            None if command.is_list => {
                missing.push(format!("providers[{at}].uuid: there is no provider {provider}"));
            }
            None => return Err(Error::ProviderNotFound { uuid: provider.clone() }),
        }
    }
    refuse_members(&missing)?;
    Ok(ids)
}

/// Refuses a body with wrong members, of which each has a sentence.
fn refuse_members(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::BadRequest {
        detail: format!("{}.", wrong.join("; ")),
    })
}

/// The path of a member of a description.
fn path(is_list: bool, at: usize, member: &str) -> String {
    if is_list {
        format!("providers[{at}].{member}")
    } else {
        member.to_owned()
    }
}

fn check_names(state: &mut State, command: &DescribeAll, ids: &[ProviderId]) -> Result<()> {
    let mut wrong = Vec::new();
    for (at, (id, new)) in ids.iter().zip(&command.providers).enumerate() {
        let (Some(given), Some(row)) = (&new.name, state.provider(*id)) else {
            continue;
        };
        if **given != *row.name {
            wrong.push(format!(
                "{}: {given:?} is not {:?}, the provider's name; PUT /resource_providers/{} renames a provider",
                path(command.is_list, at, "name"),
                row.name,
                row.uuid
            ));
        }
    }
    refuse_members(&wrong)
}

fn check_generations(state: &State, providers: &[Describe], is_list: bool, ids: &[ProviderId]) -> Result<()> {
    let text = |generation: Option<i64>| generation.map_or_else(|| "null".to_owned(), |it| it.to_string());
    let stale = ids.iter().zip(providers).enumerate().filter_map(|(at, (id, new))| {
        let current = state.description(*id).map(|row| row.generation);
        let path = path(is_list, at, "generation");
        let is_usable = current == new.generation && current.is_none_or(|current| current < GENERATION_MAX);
        (!is_usable).then(|| format!("{path} is {} and not {}", text(current), text(new.generation)))
    });
    let stale: Vec<String> = stale.collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(Error::StaleDescriptions {
        detail: stale.join("; "),
    })
}

fn allowed<'a>(state: &mut State, id: ProviderId, new: &'a Describe, disabled: Option<TraitId>) -> Allowed<'a> {
    let base = state.description(id).cloned();
    let row = state.provider(id);
    let is_host = row.is_some_and(|row| row.parent.is_none());
    let has = row.is_some_and(|row| disabled.is_some_and(|disabled| row.traits.contains(&disabled)));
    let is_out = is_host && disabled.is_some() && new.description.state != ProviderState::Up;
    let did_set = base.as_ref().is_some_and(|row| row.sets_trait);
    let trait_change = match (is_out, has) {
        (true, false) => Some(true),
        (false, true) if did_set => Some(false),
        _ => None,
    };
    let was_up = base
        .as_ref()
        .is_none_or(|row| row.description.state == ProviderState::Up);
    let leaves_up = was_up && new.description.state != ProviderState::Up;
    let none = BTreeMap::new();
    let domains = base.as_ref().map_or(&none, |row| &row.description.domains);
    // Rules are about the domains of hosts alone.
    let refutes_claims = leaves_up || is_host && new.description.domains != *domains;
    let is_same = base.as_ref().is_some_and(|row| row.description == new.description);
    let current = base.map_or(0, |row| row.generation);
    Allowed {
        id,
        new,
        generation: if is_same { current } else { current + 1 },
        sets_trait: is_out && (did_set || !has),
        refutes_claims,
        trait_change,
    }
}

fn write(state: &mut State, it: &Allowed<'_>, disabled: Option<TraitId>) {
    if let (Some(disabled), Some(add)) = (disabled, it.trait_change) {
        state.edit(it.id, |row| {
            if add {
                row.traits.insert(disabled);
            } else {
                row.traits.remove(&disabled);
            }
        });
    }
    let row = DescriptionRow {
        generation: it.generation,
        sets_trait: it.sets_trait,
        description: it.new.description.clone(),
    };
    state.own.descriptions.entry(it.id).or_default().now = Some(row);
}

fn described(state: &mut State, it: &Allowed<'_>) -> Described {
    let is_sharing = state.is_sharing(it.id);
    let row = state.provider(it.id);
    Described {
        uuid: row.map_or_else(|| it.new.provider.clone(), |row| row.uuid.to_string()),
        name: row.map(|row| row.name.to_string()).unwrap_or_default(),
        generation: Some(it.generation),
        description: it.new.description.clone(),
        nova_still_claims: is_sharing && it.new.description.state != ProviderState::Up,
    }
}
