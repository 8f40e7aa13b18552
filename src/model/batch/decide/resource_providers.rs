//! The rules of providers and their trees. A change of name or parent moves no generation.

use chrono::DateTime;

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::Write;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::State;
use crate::model::resource_providers::{Create, Delete, NewParent, Provider, Update};
use crate::search::{ProviderId, ProviderRow};

const NO_SUCH_PARENT: &str = "parent provider UUID does not exist.";

/// The id of the provider in the request's path.
pub fn find(state: &State, uuid: &str) -> Result<ProviderId> {
    state
        .find_provider(uuid)
        .ok_or_else(|| Error::ProviderNotFound { uuid: uuid.to_owned() })
}

/// `POST /resource_providers`.
impl Write for Create {
    type Answer = Provider;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.uuid);
        footprint.providers.extend(self.parent.as_deref());
        footprint.parents.extend(self.parent.as_deref());
        footprint.names.insert(&self.name);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Provider> {
        let refuse = |reason| Error::CannotCreateProvider {
            name: self.name.clone(),
            uuid: self.uuid.clone(),
            reason,
        };
        if self.name.is_empty() {
            return Err(refuse("name is required"));
        }
        let parent = match &self.parent {
            None => None,
            Some(parent) if *parent == self.uuid => {
                return Err(refuse(
                    "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is \
                     no parent.",
                ));
            }
            Some(parent) => Some(state.find_provider(parent).ok_or_else(|| refuse(NO_SUCH_PARENT))?),
        };
        check_unique(state, self)?;
        let root = parent.and_then(|id| state.provider(id)).map(|row| row.root);
        let row = ProviderRow {
            parent,
            root: root.unwrap_or(ProviderId(0)),
            modified: state.now.timestamp_micros(),
            ..ProviderRow::bare(ProviderId(0), self.uuid.as_str(), self.name.as_str())
        };
        let id = state.add_provider(row, root.is_none());
        Ok(view(state, id))
    }
}

/// Refuses a taken uuid or name. If both are taken, the error names the column that the database checks first, as in
/// OpenStack Placement.
fn check_unique(state: &State, create: &Create) -> Result<()> {
    let uuid = state
        .find_provider(&create.uuid)
        .map(|_| format!("uuid: {}", create.uuid));
    let name = state
        .find_provider_by_name(&create.name)
        .map(|_| format!("name: {}", create.name));
    let duplicate = if state.names_first {
        name.or(uuid)
    } else {
        uuid.or(name)
    };
    duplicate.map_or(Ok(()), |duplicate| Err(Error::DuplicateProvider { duplicate }))
}

/// `PUT /resource_providers/{uuid}`.
impl Write for Update {
    type Answer = Provider;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.uuid);
        footprint.trees.insert(&self.uuid);
        footprint.names.insert(&self.name);
        if let NewParent::Set(parent) = &self.parent {
            footprint.providers.extend(parent.as_deref());
            footprint.parents.extend(parent.as_deref());
        }
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Provider> {
        let id = find(state, &self.uuid)?;
        let parent = state.provider(id).and_then(|row| row.parent);
        let new_parent = match &self.parent {
            NewParent::Keep => parent,
            NewParent::Set(requested) => check_parent(state, self, id, parent, requested.as_deref())?,
        };
        if state.find_provider_by_name(&self.name).is_some_and(|other| other != id) {
            return Err(Error::DuplicateProvider {
                duplicate: self.name.clone(),
            });
        }
        let now = state.now.timestamp_micros();
        if state.provider(id).is_some_and(|row| row.name.as_ref() != self.name) {
            state.rename_provider(id, &self.name);
            state.edit(id, |row| row.modified = now);
        }
        if new_parent != parent {
            move_subtree(state, id, new_parent);
            state.edit(id, |row| row.modified = now);
        }
        Ok(view(state, id))
    }
}

/// The id of the requested parent, if the update may set this parent.
fn check_parent(
    state: &mut State,
    update: &Update,
    id: ProviderId,
    parent: Option<ProviderId>,
    requested: Option<&str>,
) -> Result<Option<ProviderId>> {
    let refuse = |action, reason| Error::CannotSaveProvider {
        uuid: update.uuid.clone(),
        action,
        reason,
    };
    let Some(requested) = requested else {
        if parent.is_some() && !update.may_reparent {
            return Err(refuse("update", "un-parenting a provider is not currently allowed."));
        }
        return Ok(None);
    };
    // OpenStack Placement calls this action `create`, and clients match on the sentence.
    let new_parent = state
        .find_provider(requested)
        .ok_or_else(|| refuse("create", NO_SUCH_PARENT))?;
    if parent.is_some_and(|current| current != new_parent) && !update.may_reparent {
        return Err(refuse("update", "re-parenting a provider is not currently allowed."));
    }
    if state.with_all_below(vec![id]).contains(&new_parent) {
        return Err(refuse("update", "creating loop in the provider tree is not allowed."));
    }
    Ok(Some(new_parent))
}

/// Sets the provider's parent, and the root of all providers in its subtree.
fn move_subtree(state: &mut State, id: ProviderId, parent: Option<ProviderId>) {
    let root = parent
        .and_then(|parent| state.provider(parent))
        .map_or(id, |row| row.root);
    let now = state.now.timestamp_micros();
    for member in state.with_all_below(vec![id]) {
        state.edit(member, |row| {
            if row.root != root {
                row.root = root;
                row.modified = now;
            }
        });
    }
    state.edit(id, |row| row.parent = parent);
}

/// `DELETE /resource_providers/{uuid}`.
impl Write for Delete {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.uuid);
        footprint.trees.insert(&self.uuid);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let uuid = &self.uuid;
        let id = state
            .find_provider(uuid)
            .ok_or_else(|| Error::ProviderNotFoundForDelete { uuid: uuid.clone() })?;
        if state.with_all_below(vec![id]).len() > 1 {
            return Err(Error::ProviderHasChildren { uuid: uuid.clone() });
        }
        if state.provider(id).is_some_and(|row| !row.used.is_empty()) {
            return Err(Error::ProviderInUse { uuid: uuid.clone() });
        }
        state.delete_provider(id);
        Ok(())
    }
}

/// The provider as clients see it.
fn view(state: &mut State, id: ProviderId) -> Provider {
    let mut row = |id: ProviderId| {
        let found = state.provider(id).cloned();
        found.unwrap_or_else(|| ProviderRow::bare(id, "", ""))
    };
    let shown = row(id);
    Provider {
        parent: shown.parent.map(|parent| row(parent).uuid),
        root: row(shown.root).uuid,
        uuid: shown.uuid,
        name: shown.name,
        generation: shown.generation,
        modified: DateTime::from_timestamp_micros(shown.modified).unwrap_or(state.now),
    }
}
