//! What several changes come to: deltas to add, and marks of what has to be read again. Knows no database.

use std::collections::{BTreeSet, HashSet};

use super::save::Committed;
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Change, Delta, ProviderId, ProviderRow, Snapshot};

/// See the module.
#[derive(Debug, Default)]
pub struct Gathered {
    deltas: Vec<Delta>,
    /// Providers to be read again; one that is not found then is gone.
    pub marks: BTreeSet<ProviderId>,
    /// Whether classes, traits and aggregates are to be read again.
    pub catalog: bool,
}

impl Gathered {
    /// Takes one more change. Deltas of different writers may come in any order.
    pub fn add(&mut self, committed: Committed) {
        self.deltas.extend(committed.deltas);
        self.marks.extend(committed.reload);
        self.marks.extend(committed.removed);
        self.catalog |= committed.catalog;
    }

    /// Marks what deltas alone cannot bring up to date: providers that `snapshot` does not have.
    pub fn mark_unknown(&mut self, snapshot: &Snapshot) {
        let unknown = self.deltas.iter().map(|delta| delta.provider);
        let unknown = unknown.filter(|id| snapshot.by_id(*id).is_none());
        self.marks.extend(unknown);
    }

    /// The providers of which there are deltas.
    pub fn counted_providers(&self) -> HashSet<ProviderId> {
        self.deltas.iter().map(|delta| delta.provider).collect()
    }

    /// Whether something must be read before any of it may be shown.
    pub fn must_read(&self) -> bool {
        self.catalog || !self.marks.is_empty()
    }

    /// The change, with what was read: rows of the marked providers, and a catalog if that was marked. Rows contain the
    /// deltas of their providers.
    pub fn change(&self, snapshot: &Snapshot, reloaded: Vec<ProviderRow>, catalog: Option<Catalog>) -> Change {
        let there: BTreeSet<ProviderId> = reloaded.iter().map(|row| row.id).collect();
        Change {
            deltas: self.counted(snapshot),
            removed: self.marks.difference(&there).copied().collect(),
            reloaded,
            catalog,
        }
    }

    /// The deltas of providers that are not marked.
    fn counted(&self, snapshot: &Snapshot) -> Vec<Delta> {
        let counted = self.deltas.iter().filter(|delta| !self.marks.contains(&delta.provider));
        let mut counted: Vec<Delta> = counted.cloned().collect();
        if mutants::is(Mutant::SetDeltas) {
            counted.iter_mut().for_each(|delta| set(delta, snapshot));
        }
        counted
    }

    /// Providers whose generation is behind what a writer saw: somebody was there who leaves no changes.
    pub fn outrun(&self, next: &Snapshot) -> BTreeSet<ProviderId> {
        let behind = |delta: &&Delta| {
            next.by_id(delta.provider)
                .is_some_and(|slot| next.generation(slot) < delta.generation)
        };
        let unmarked = self.deltas.iter().filter(|delta| !self.marks.contains(&delta.provider));
        unmarked.filter(behind).map(|delta| delta.provider).collect()
    }
}

/// What a mutant does: the generation becomes the one that the delta names.
fn set(delta: &mut Delta, snapshot: &Snapshot) {
    if let Some(slot) = snapshot.by_id(delta.provider) {
        let moves = delta.generation - snapshot.generation(slot);
        delta.moves = u32::try_from(moves).unwrap_or(0);
    }
}
