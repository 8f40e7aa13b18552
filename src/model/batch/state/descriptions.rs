//! The descriptions of a batch's state.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ProviderEntry, State};
use crate::model::providers::DescriptionRow;
use crate::search::{ProviderId, ProviderState};

/// The description of a provider in a command of the batch.
#[derive(Debug, Clone, Default)]
pub struct DescriptionEntry {
    /// The row before the batch; `None` if there was none.
    pub base: Option<DescriptionRow>,
    pub now: Option<DescriptionRow>,
}

impl DescriptionEntry {
    /// The entry of a row from the table.
    pub fn of_row(row: DescriptionRow) -> DescriptionEntry {
        DescriptionEntry {
            base: Some(row.clone()),
            now: Some(row),
        }
    }
}

impl State {
    /// The current description of a provider.
    pub fn description(&self, id: ProviderId) -> Option<&DescriptionRow> {
        self.descriptions.get(&id)?.now.as_ref()
    }

    /// Whether all providers from which a claim with a choice may take are up.
    pub fn are_all_up(&self) -> bool {
        self.descriptions.is_empty() && self.base.are_all_up()
    }

    /// The state of a provider: its own, or if the provider is up the nearest state above that is not up. The search
    /// also ends in a cycle of parents, which another program may have left in the tables.
    pub fn provider_state(&self, id: ProviderId) -> ProviderState {
        let (mut next, mut seen) = (Some(id), BTreeSet::new());
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            let (before, parent) = self.base.state_and_parent(id);
            let state = self.description(id).map_or(before, |row| row.description.state);
            if state != ProviderState::Up {
                return state;
            }
            let moved = self.providers.get(&id).and_then(ProviderEntry::moved_to);
            next = moved.unwrap_or(parent);
        }
        ProviderState::Up
    }

    /// The provider's own path in a dimension.
    pub fn domain(&self, id: ProviderId, dimension: &str) -> Option<Arc<str>> {
        match self.descriptions.get(&id) {
            Some(entry) => entry.now.as_ref()?.description.domains.get(dimension).cloned(),
            None => self.base.domain(id, dimension),
        }
    }

    pub fn set_description(&mut self, id: ProviderId, row: DescriptionRow) {
        self.descriptions.entry(id).or_default().now = Some(row);
    }

    /// The descriptions that the batch changed, with the rows before and after. Deleted providers are left out.
    pub fn changed_descriptions(&self) -> impl Iterator<Item = (ProviderId, Option<&DescriptionRow>, &DescriptionRow)> {
        let exists = |id: &ProviderId| self.providers.get(id).is_none_or(|entry| entry.now.is_some());
        let entries = self.descriptions.iter().filter(move |(id, _)| exists(id));
        entries.filter_map(|(id, entry)| {
            let now = entry.now.as_ref().filter(|_| entry.base != entry.now)?;
            Some((*id, entry.base.as_ref(), now))
        })
    }
}
