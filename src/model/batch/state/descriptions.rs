//! The descriptions of a batch's state.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ProviderEntry, State};
use crate::model::batch::entry::changed;
use crate::model::hosts::{Health, LeaseRow};
use crate::model::providers::DescriptionRow;
use crate::search::{ProviderId, ProviderState, SHARING_TRAIT};

impl State {
    /// The current description of a provider.
    pub fn description(&self, id: ProviderId) -> Option<&DescriptionRow> {
        self.own.descriptions.get(&id)?.now.as_ref()
    }

    /// Whether all providers from which a claim with a choice may take are up.
    pub fn are_all_up(&self) -> bool {
        self.own.descriptions.is_empty() && self.base.are_all_up()
    }

    /// The first state unequal to up on the path from the provider to the root; up if all states are up. A cycle of
    /// parents, possible after foreign writes, ends the search.
    pub fn provider_state(&self, id: ProviderId) -> ProviderState {
        let (mut next, mut seen) = (Some(id), BTreeSet::new());
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            let (before, parent) = self.base.state_and_parent(id);
            let described = self.description(id).map(|row| row.description.state);
            let state = match described {
                Some(ProviderState::Up) if before == ProviderState::Unknown => before,
                described => described.unwrap_or(before),
            };
            if state != ProviderState::Up {
                return state;
            }
            let moved = self.providers.get(&id).and_then(ProviderEntry::moved_to);
            next = moved.unwrap_or(parent);
        }
        ProviderState::Up
    }

    /// The hosts whose health the batch changes.
    pub fn hosts_of_other_health(&self) -> BTreeSet<ProviderId> {
        let leases = self.own.tables.entries::<LeaseRow>().into_iter().flatten();
        let health = |row: &Option<LeaseRow>| row.as_ref().map_or(Health::Up, |row| row.health);
        let is_unknown = |row: &Option<LeaseRow>| health(row) == Health::Unknown;
        let other = leases.filter(|(_, entry)| is_unknown(&entry.base) != is_unknown(&entry.now));
        other.filter_map(|(host, _)| self.find_provider(host)).collect()
    }

    /// Whether a provider shares resources with further trees now, and so is no host. Only for the providers described
    /// by commands: the batch has the traits of these providers.
    pub fn is_sharing(&mut self, id: ProviderId) -> bool {
        let Some(sharing) = self.trait_id(SHARING_TRAIT) else {
            return false;
        };
        self.provider(id).is_some_and(|row| row.traits.contains(&sharing))
    }

    /// The provider's own path in a dimension.
    pub fn domain(&self, id: ProviderId, dimension: &str) -> Option<Arc<str>> {
        match self.own.descriptions.get(&id) {
            Some(entry) => entry.now.as_ref()?.description.domains.get(dimension).cloned(),
            None => self.base.domain(id, dimension),
        }
    }

    /// The domain in a dimension by the aggregates of a provider.
    pub fn domain_of_aggregates(&mut self, id: ProviderId, dimension: &str) -> Option<Arc<str>> {
        let aggregates = self.provider(id)?.aggregates.clone();
        let catalog = self.base.catalog();
        catalog.domain_of_aggregates(aggregates.into_iter(), dimension)
    }

    /// The descriptions changed by the batch, with the rows before and after. Deleted rows are left out.
    pub fn changed_descriptions(&self) -> impl Iterator<Item = (ProviderId, Option<&DescriptionRow>, &DescriptionRow)> {
        changed(&self.own.descriptions).filter_map(|(id, entry)| Some((*id, entry.base.as_ref(), entry.now.as_ref()?)))
    }
}
