//! Merges change records: adds up deltas, and collects the providers and names to read again. Knows no database.

use std::collections::{BTreeSet, HashSet};

use super::committed::{Committed, Rewritten};
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Delta, NameKinds, ProviderId, ProviderRow, Snapshot, SnapshotChange};

/// The sum of some change records.
#[derive(Debug, Default)]
pub struct MergedChanges {
    deltas: Vec<Delta>,
    /// Providers whose whole change is known.
    rewritten: Vec<Rewritten>,
    /// Providers to read again. A provider without a row in the tables was deleted.
    pub marked: BTreeSet<ProviderId>,
    /// The kinds of names to read again.
    pub names: NameKinds,
}

impl MergedChanges {
    /// The sum of commits that are applied together. Deltas of different writers may come in any order.
    ///
    /// Rows that a commit of this process wrote need no read. Precondition: the snapshot shows every earlier commit on
    /// the written rows.
    pub fn of_commits(commits: impl IntoIterator<Item = Committed>) -> MergedChanges {
        let mut merged = MergedChanges::default();
        for mut committed in commits {
            for rewritten in &committed.rewritten {
                committed.reload.remove(&rewritten.delta.provider);
            }
            merged.rewritten.extend(committed.rewritten);
            merged.deltas.extend(committed.deltas);
            merged.marked.extend(committed.reload);
            merged.marked.extend(committed.removed);
            merged.names = merged.names.or(committed.names);
        }
        merged
    }

    /// Marks providers that `snapshot` does not have: deltas alone cannot bring these providers up to date.
    pub fn mark_unknown(&mut self, snapshot: &Snapshot) {
        let changed = self.all_deltas().map(|delta| delta.provider);
        let unknown: Vec<ProviderId> = changed.filter(|id| snapshot.by_id(*id).is_none()).collect();
        self.marked.extend(unknown);
    }

    /// The providers that have deltas.
    pub fn delta_providers(&self) -> HashSet<ProviderId> {
        self.deltas.iter().map(|delta| delta.provider).collect()
    }

    /// The change of `snapshot`, with the rows of the marked providers, and with the catalog if names were marked. A
    /// row already contains the deltas of its provider.
    pub fn snapshot_change(
        &self,
        snapshot: &Snapshot,
        mut reloaded: Vec<ProviderRow>,
        catalog: Option<Catalog>,
    ) -> SnapshotChange {
        reloaded.extend(
            self.rewritten
                .iter()
                .filter_map(|rewritten| rewritten_row(snapshot, rewritten)),
        );
        let existing: BTreeSet<ProviderId> = reloaded.iter().map(|row| row.id).collect();
        SnapshotChange {
            deltas: self.unmarked_deltas(snapshot),
            removed: self.marked.difference(&existing).copied().collect(),
            reloaded,
            descriptions: Vec::new(),
            catalog,
        }
    }

    fn all_deltas(&self) -> impl Iterator<Item = &Delta> {
        let of_rewritten = self.rewritten.iter().map(|rewritten| &rewritten.delta);
        self.deltas.iter().chain(of_rewritten)
    }

    /// The deltas to apply: the deltas of unmarked providers.
    fn unmarked_deltas(&self, snapshot: &Snapshot) -> Vec<Delta> {
        let unmarked = self
            .deltas
            .iter()
            .filter(|delta| !self.marked.contains(&delta.provider));
        let mut deltas: Vec<Delta> = unmarked.cloned().collect();
        if mutants::is(Mutant::SetDeltas) {
            deltas.iter_mut().for_each(|delta| set_generation(delta, snapshot));
        }
        deltas
    }

    /// Providers whose generation in `next` is behind the generation that a writer saw: a foreign writer moved the
    /// generation, and left no record.
    pub fn lagging_providers(&self, next: &Snapshot) -> BTreeSet<ProviderId> {
        let lags = |delta: &&Delta| {
            next.by_id(delta.provider)
                .is_some_and(|slot| next.generation(slot) < delta.generation)
        };
        let unmarked = self.all_deltas().filter(|delta| !self.marked.contains(&delta.provider));
        unmarked.filter(lags).map(|delta| delta.provider).collect()
    }
}

/// A provider as in `snapshot`, with the written values; `None` if `snapshot` does not have the provider.
fn rewritten_row(snapshot: &Snapshot, rewritten: &Rewritten) -> Option<ProviderRow> {
    let Rewritten { delta, inventories } = rewritten;
    let mut row = snapshot.row(snapshot.by_id(delta.provider)?);
    row.generation += i64::from(delta.moves);
    row.modified = row.modified.max(delta.modified.unwrap_or_default());
    for (class, change) in &delta.used {
        *row.used.entry(*class).or_default() += change;
    }
    row.used.retain(|_, used| *used != 0);
    row.inventories = inventories.clone();
    Some(row)
}

/// For a mutant: sets the generation that the delta names, instead of adding to the generation in the snapshot.
fn set_generation(delta: &mut Delta, snapshot: &Snapshot) {
    if let Some(slot) = snapshot.by_id(delta.provider) {
        let moves = delta.generation - snapshot.generation(slot);
        delta.moves = u32::try_from(moves).unwrap_or(0);
    }
}
