//! Merges several change records: deltas to add, and marks of what must be read again. Knows no database.

use std::collections::{BTreeSet, HashSet};

use crate::model::batch::save::{Committed, Rewritten};
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Delta, ProviderId, ProviderRow, Snapshot, SnapshotChange};

/// See the module.
#[derive(Debug, Default)]
pub struct MergedChanges {
    deltas: Vec<Delta>,
    /// Providers whose whole change is known.
    rewritten: Vec<Rewritten>,
    /// Providers to read again; one that is not found then was deleted.
    pub marks: BTreeSet<ProviderId>,
    /// Whether to read classes, traits and aggregates again.
    pub catalog: bool,
}

impl MergedChanges {
    /// Adds a record. Deltas of different writers may come in any order.
    pub fn add(&mut self, committed: Committed) {
        self.deltas.extend(committed.deltas);
        self.marks.extend(committed.reload);
        self.marks.extend(committed.removed);
        self.catalog |= committed.catalog;
    }

    /// A change of this process: it need not read what it wrote. That holds if the snapshot has everything that was committed
    /// before, as far as it concerns the rows written.
    pub fn own(mut committed: Committed) -> MergedChanges {
        for it in &committed.rewritten {
            committed.reload.remove(&it.delta.provider);
        }
        let mut merged = MergedChanges {
            rewritten: std::mem::take(&mut committed.rewritten),
            ..MergedChanges::default()
        };
        merged.add(committed);
        merged
    }

    /// Marks providers that `snapshot` does not have: deltas alone cannot bring them up to date.
    pub fn mark_unknown(&mut self, snapshot: &Snapshot) {
        let named = self.all_deltas().map(|delta| delta.provider);
        let unknown: Vec<ProviderId> = named.filter(|id| snapshot.by_id(*id).is_none()).collect();
        self.marks.extend(unknown);
    }

    /// The providers that have deltas.
    pub fn counted_providers(&self) -> HashSet<ProviderId> {
        self.deltas.iter().map(|delta| delta.provider).collect()
    }

    /// Whether something must be read before the change can be published.
    pub fn must_read(&self) -> bool {
        self.catalog || !self.marks.is_empty()
    }

    /// The change, with what was read: rows of the marked providers, and a catalog if that was marked. A row already contains
    /// the deltas of its provider.
    pub fn change(
        &self,
        snapshot: &Snapshot,
        mut reloaded: Vec<ProviderRow>,
        catalog: Option<Catalog>,
    ) -> SnapshotChange {
        reloaded.extend(self.rewritten.iter().filter_map(|it| rewritten(snapshot, it)));
        let there: BTreeSet<ProviderId> = reloaded.iter().map(|row| row.id).collect();
        SnapshotChange {
            deltas: self.counted(snapshot),
            removed: self.marks.difference(&there).copied().collect(),
            reloaded,
            catalog,
        }
    }

    fn all_deltas(&self) -> impl Iterator<Item = &Delta> {
        self.deltas.iter().chain(self.rewritten.iter().map(|it| &it.delta))
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

    /// Providers whose generation is behind what a writer saw: a foreign writer was there, which leaves no records.
    pub fn outrun(&self, next: &Snapshot) -> BTreeSet<ProviderId> {
        let behind = |delta: &&Delta| {
            next.by_id(delta.provider)
                .is_some_and(|slot| next.generation(slot) < delta.generation)
        };
        let unmarked = self.all_deltas().filter(|delta| !self.marks.contains(&delta.provider));
        unmarked.filter(behind).map(|delta| delta.provider).collect()
    }
}

/// A provider as `snapshot` shows it, with the written values.
fn rewritten(snapshot: &Snapshot, it: &Rewritten) -> Option<ProviderRow> {
    let mut row = snapshot.row(snapshot.by_id(it.delta.provider)?);
    row.generation += i64::from(it.delta.moves);
    row.modified = row.modified.max(it.delta.modified.unwrap_or_default());
    for (class, more) in &it.delta.used {
        *row.used.entry(*class).or_default() += more;
    }
    row.used.retain(|_, used| *used != 0);
    row.inventories = it.inventories.clone();
    Some(row)
}

/// A mutant: sets the generation that the delta names.
fn set(delta: &mut Delta, snapshot: &Snapshot) {
    if let Some(slot) = snapshot.by_id(delta.provider) {
        let moves = delta.generation - snapshot.generation(slot);
        delta.moves = u32::try_from(moves).unwrap_or(0);
    }
}
