//! The providers and names from before the batch: the snapshot, or rows that the batch's own transaction read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::db::engines::dialect::Folding;
use crate::model::snapshot::lineage::{self, Lineage};
use crate::search::{Catalog, ClassId, ProviderId, ProviderRow, ProviderState, Snapshot};

/// Providers and names as they were before the batch. Clones share the data.
#[derive(Clone)]
pub enum Base {
    /// All providers as in the snapshot, without traits and aggregates: no command that is decided on the snapshot
    /// needs these.
    Snapshot(Arc<Snapshot>),
    /// The providers that the batch names, as in the tables.
    Rows(Arc<Rows>),
}

/// Rows of the tables, by id, uuid and name.
pub struct Rows {
    catalog: Catalog,
    rows: HashMap<ProviderId, ProviderRow>,
    /// By uuid, exact and folded. An exact match comes first, because the collation of a column may be exact.
    uuids: HashMap<String, ProviderId>,
    folding: Folding,
    names: HashMap<Arc<str>, ProviderId>,
    /// The states and parents of providers from which claims with a choice may take.
    lineage: Lineage,
    /// If the rows lack names, trees, traits and aggregates: the classes with inventories and usage.
    classes_alone: Option<Vec<ClassId>>,
}

impl Rows {
    /// `names` belong to `rows`, in the spelling of the commands.
    pub fn new(
        catalog: Catalog,
        rows: Vec<ProviderRow>,
        folding: Folding,
        names: HashMap<Arc<str>, ProviderId>,
    ) -> Rows {
        let folded = rows.iter().map(|row| (folding(&row.uuid), row.id));
        let exact = rows.iter().map(|row| (row.uuid.to_string(), row.id));
        Rows {
            catalog,
            uuids: folded.chain(exact).collect(),
            folding,
            names,
            rows: rows.into_iter().map(|row| (row.id, row)).collect(),
            lineage: Lineage::default(),
            classes_alone: None,
        }
    }

    /// The same rows, but only uuids, generations, and inventories and usage of the catalog's classes count.
    pub fn with_classes_alone(self) -> Rows {
        let classes = self.catalog.classes().map(|(id, _)| id).collect();
        Rows {
            classes_alone: Some(classes),
            ..self
        }
    }

    /// The providers whose rows differ from the snapshot. `named` are ids of the snapshot: a named provider without a
    /// row was deleted.
    pub fn differing_from(&self, snapshot: &Snapshot, named: &[i32]) -> BTreeSet<ProviderId> {
        let named = named.iter().map(|id| ProviderId(*id));
        let deleted = named.filter(|id| !self.rows.contains_key(id));
        let changed = self.rows.values().filter(|row| !self.is_shown(snapshot, row));
        deleted.chain(changed.map(|row| row.id)).collect()
    }

    /// Whether the snapshot shows the parts of the row that count.
    fn is_shown(&self, snapshot: &Snapshot, row: &ProviderRow) -> bool {
        let Some(classes) = &self.classes_alone else {
            return is_shown(snapshot, row);
        };
        let Some(slot) = snapshot.by_id(row.id) else {
            return false;
        };
        let has_class = |class: &ClassId| {
            let used = row.used.get(class).copied().unwrap_or(0);
            snapshot.inventory(slot, *class) == row.inventories.get(class).copied()
                && snapshot.used(slot, *class) == used
        };
        *snapshot.uuid(slot) == *row.uuid
            && snapshot.generation(slot) == row.generation
            && classes.iter().all(has_class)
    }

    pub fn with_lineage(self, lineage: Lineage) -> Rows {
        Rows { lineage, ..self }
    }
}

/// Whether the snapshot shows the row. Times are not compared, because some engines store times less exactly.
pub fn is_shown(snapshot: &Snapshot, row: &ProviderRow) -> bool {
    let modified = row.modified;
    let shown = snapshot.by_id(row.id).map(|slot| snapshot.row(slot));
    shown.is_some_and(|shown| ProviderRow { modified, ..shown } == *row)
}

impl Base {
    /// The number of providers. A batch changes at most this many providers from before the batch.
    pub fn provider_count(&self) -> usize {
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

    /// Maps names that are equal to the database to one text.
    pub fn fold(&self, name: &str) -> String {
        match self {
            Base::Snapshot(_) => name.to_owned(),
            Base::Rows(rows) => (rows.folding)(name),
        }
    }

    pub fn by_uuid(&self, uuid: &str) -> Option<ProviderId> {
        match self {
            Base::Snapshot(snapshot) => snapshot.by_uuid(uuid).map(|slot| snapshot.id(slot)),
            Base::Rows(rows) => rows
                .uuids
                .get(uuid)
                .or_else(|| rows.uuids.get(&self.fold(uuid)))
                .copied(),
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
            Base::Snapshot(snapshot) => snapshot.by_id(id).map(|slot| snapshot.capacity_row(slot)),
            Base::Rows(rows) => rows.rows.get(&id).cloned(),
        }
    }

    /// Whether all providers from which a claim with a choice may take are up.
    pub fn are_all_up(&self) -> bool {
        match self {
            Base::Snapshot(snapshot) => snapshot.are_all_up(),
            Base::Rows(rows) => rows.lineage.are_all_up(),
        }
    }

    /// The provider's own state, and the provider above. [`Base::Rows`] knows both only for providers from which a
    /// claim with a choice may take, and for providers above.
    pub fn state_and_parent(&self, id: ProviderId) -> (ProviderState, Option<ProviderId>) {
        match self {
            Base::Snapshot(snapshot) => {
                let slot = snapshot.by_id(id);
                slot.map_or_else(Default::default, |slot| lineage::of_slot(snapshot, slot))
            }
            Base::Rows(rows) => rows.lineage.state_and_parent(id),
        }
    }

    /// The provider's own path in a dimension. [`Base::Rows`] knows no path: the paths that commands compare are in the
    /// descriptions of the batch's state.
    pub fn domain(&self, id: ProviderId, dimension: &str) -> Option<Arc<str>> {
        match self {
            Base::Snapshot(snapshot) => snapshot.own_domain(snapshot.by_id(id)?, dimension).cloned(),
            Base::Rows(_) => None,
        }
    }

    /// The ids of all providers whose root is among `roots`. [`Base::Rows`] has whole trees only if a command needs the
    /// trees.
    pub fn trees(&self, roots: &BTreeSet<ProviderId>) -> Vec<ProviderId> {
        match self {
            Base::Snapshot(snapshot) => {
                let slots = roots.iter().filter_map(|root| snapshot.by_id(*root));
                let trees = slots.flat_map(|slot| snapshot.tree(slot));
                trees.map(|slot| snapshot.id(slot)).collect()
            }
            Base::Rows(rows) => {
                let of_trees = rows.rows.values().filter(|row| roots.contains(&row.root));
                of_trees.map(|row| row.id).collect()
            }
        }
    }

    /// Replaces the usage and keeps the generations, for a mutant.
    #[cfg(feature = "mutants")]
    pub fn replace_usage(
        &mut self,
        used: impl Fn(ProviderId) -> std::collections::BTreeMap<crate::search::ClassId, i64>,
    ) {
        if let Base::Rows(rows) = self
            && let Some(rows) = Arc::get_mut(rows)
        {
            for row in rows.rows.values_mut() {
                row.used = used(row.id);
            }
        }
    }
}
