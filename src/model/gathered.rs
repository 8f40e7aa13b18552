//! What several changes come to: deltas to add, and marks of what has to be read again. Knows no database.

use std::collections::{BTreeSet, HashSet};

use super::save::{Committed, Rewritten};
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Change, Delta, ProviderId, ProviderRow, Snapshot};

/// See the module.
#[derive(Debug, Default)]
pub struct Gathered {
    deltas: Vec<Delta>,
    /// Providers of which everything is known that changed.
    rewritten: Vec<Rewritten>,
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

    /// A change of this process's own: what it wrote itself it need not read. That holds where what is shown now has
    /// all that was there before it, as far as it concerns what was written.
    pub fn own(mut committed: Committed) -> Gathered {
        for it in &committed.rewritten {
            committed.reload.remove(&it.delta.provider);
        }
        let mut gathered = Gathered {
            rewritten: std::mem::take(&mut committed.rewritten),
            ..Gathered::default()
        };
        gathered.add(committed);
        gathered
    }

    /// Marks what deltas alone cannot bring up to date: providers that `snapshot` does not have.
    pub fn mark_unknown(&mut self, snapshot: &Snapshot) {
        let named = self.all_deltas().map(|delta| delta.provider);
        let unknown: Vec<ProviderId> = named.filter(|id| snapshot.by_id(*id).is_none()).collect();
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
    pub fn change(&self, snapshot: &Snapshot, mut reloaded: Vec<ProviderRow>, catalog: Option<Catalog>) -> Change {
        reloaded.extend(self.rewritten.iter().filter_map(|it| rewritten(snapshot, it)));
        let there: BTreeSet<ProviderId> = reloaded.iter().map(|row| row.id).collect();
        Change {
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

    /// Providers whose generation is behind what a writer saw: somebody was there who leaves no changes.
    pub fn outrun(&self, next: &Snapshot) -> BTreeSet<ProviderId> {
        let behind = |delta: &&Delta| {
            next.by_id(delta.provider)
                .is_some_and(|slot| next.generation(slot) < delta.generation)
        };
        let unmarked = self.all_deltas().filter(|delta| !self.marks.contains(&delta.provider));
        unmarked.filter(behind).map(|delta| delta.provider).collect()
    }
}

/// A provider as `snapshot` shows it, with what was written.
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

/// What a mutant does: the generation becomes the one that the delta names.
fn set(delta: &mut Delta, snapshot: &Snapshot) {
    if let Some(slot) = snapshot.by_id(delta.provider) {
        let moves = delta.generation - snapshot.generation(slot);
        delta.moves = u32::try_from(moves).unwrap_or(0);
    }
}
