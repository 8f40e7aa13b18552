//! Undoes the changes of a command, and keeps the changes of the earlier commands of the batch.
//!
//! Most commands check everything before they change anything. A claim with a choice cannot: the allocations of the
//! first consumer decide which candidates fit the second. So the claim sets a savepoint, and each entry is copied
//! before its first change.

use std::collections::BTreeMap;

use super::state::{ConsumerEntry, ProviderEntry, State};
use crate::search::ProviderId;

/// The entries before their first change since the savepoint, and the number of warnings.
#[derive(Default)]
pub struct Savepoint {
    providers: BTreeMap<ProviderId, ProviderEntry>,
    /// `None` for a consumer without an entry.
    consumers: BTreeMap<String, Option<ConsumerEntry>>,
    warnings: usize,
}

impl State {
    /// Begins to keep entries. Only for commands that change consumers, and providers by claims.
    pub fn set_savepoint(&mut self) {
        self.savepoint = Some(Savepoint {
            warnings: self.warnings.len(),
            ..Savepoint::default()
        });
    }

    /// Keeps the changes since the savepoint.
    pub fn release_savepoint(&mut self) {
        self.savepoint = None;
    }

    /// Undoes the changes since the savepoint.
    pub fn roll_back(&mut self) {
        let Some(savepoint) = self.savepoint.take() else { return };
        self.providers.extend(savepoint.providers);
        for (uuid, entry) in savepoint.consumers {
            match entry {
                Some(entry) => self.consumers.insert(uuid, entry),
                None => self.consumers.remove(&uuid),
            };
        }
        self.warnings.truncate(savepoint.warnings);
    }

    /// Copies a provider's entry before the first change since the savepoint.
    pub(super) fn keep_provider(&mut self, id: ProviderId) {
        let is_kept = |savepoint: &Savepoint| savepoint.providers.contains_key(&id);
        if self.savepoint.as_ref().is_none_or(is_kept) {
            return;
        }
        let entry = self.entry(id).cloned();
        if let (Some(savepoint), Some(entry)) = (&mut self.savepoint, entry) {
            savepoint.providers.insert(id, entry);
        }
    }

    /// As [`State::keep_provider`], for a consumer.
    pub(super) fn keep_consumer(&mut self, uuid: &str) {
        if let Some(savepoint) = &mut self.savepoint
            && !savepoint.consumers.contains_key(uuid)
        {
            savepoint
                .consumers
                .insert(uuid.to_owned(), self.consumers.get(uuid).cloned());
        }
    }
}
