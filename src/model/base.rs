//! What a batch starts from: the snapshot, or rows that were read in the batch's own transaction.

use std::collections::HashMap;
use std::sync::Arc;

use crate::search::{Catalog, ProviderId, ProviderRow, Snapshot};

/// Providers and names as they were before the batch.
pub enum Base {
    /// Every provider, as this process last knew it, without traits and aggregates: what is decided on it needs none.
    Snapshot(Arc<Snapshot>),
    /// Those that the batch names, as the tables have them.
    Rows(Rows),
}

/// Rows of the tables, by all that a command may name them by.
pub struct Rows {
    catalog: Catalog,
    rows: HashMap<ProviderId, ProviderRow>,
    uuids: HashMap<Arc<str>, ProviderId>,
    names: HashMap<Arc<str>, ProviderId>,
}

impl Rows {
    /// `uuids` and `names` are those of the rows, as the commands spell them.
    pub fn new(
        catalog: Catalog,
        rows: Vec<ProviderRow>,
        uuids: HashMap<Arc<str>, ProviderId>,
        names: HashMap<Arc<str>, ProviderId>,
    ) -> Rows {
        Rows {
            catalog,
            uuids,
            names,
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
        }
    }
}

impl Base {
    /// How many providers there are: the most that a batch can change.
    pub fn count(&self) -> usize {
        match self {
            Base::Snapshot(snapshot) => snapshot.len(),
            Base::Rows(rows) => rows.rows.len(),
        }
    }

    pub fn catalog(&self) -> &Catalog {
        match self {
            Base::Snapshot(snapshot) => snapshot.catalog(),
            Base::Rows(rows) => &rows.catalog,
        }
    }

    pub fn by_uuid(&self, uuid: &str) -> Option<ProviderId> {
        match self {
            Base::Snapshot(snapshot) => snapshot.by_uuid(uuid).map(|slot| snapshot.id(slot)),
            Base::Rows(rows) => rows.uuids.get(uuid).copied(),
        }
    }

    pub fn by_name(&self, name: &str) -> Option<ProviderId> {
        match self {
            Base::Snapshot(snapshot) => snapshot.by_name(name).map(|slot| snapshot.id(slot)),
            Base::Rows(rows) => rows.names.get(name).copied(),
        }
    }

    pub fn row(&self, id: ProviderId) -> Option<ProviderRow> {
        match self {
            Base::Snapshot(snapshot) => snapshot.by_id(id).map(|slot| snapshot.row_of_amounts(slot)),
            Base::Rows(rows) => rows.rows.get(&id).cloned(),
        }
    }

    /// The ids of all providers whose root is `root`. Of rows, only where a command of the batch needs whole trees.
    pub fn tree(&self, root: ProviderId) -> Vec<ProviderId> {
        match self {
            Base::Snapshot(snapshot) => {
                let tree = snapshot.by_id(root).map(|slot| snapshot.tree(slot)).unwrap_or_default();
                tree.into_iter().map(|slot| snapshot.id(slot)).collect()
            }
            Base::Rows(rows) => rows
                .rows
                .values()
                .filter(|row| row.root == root)
                .map(|row| row.id)
                .collect(),
        }
    }

    /// Puts other usage under the same generations: what a mutant does.
    #[cfg(feature = "mutants")]
    pub fn spoil(&mut self, used: impl Fn(ProviderId) -> std::collections::BTreeMap<crate::search::ClassId, i64>) {
        if let Base::Rows(rows) = self {
            for row in rows.rows.values_mut() {
                row.used = used(row.id);
            }
        }
    }
}
