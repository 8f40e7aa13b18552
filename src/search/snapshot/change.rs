//! The input of a new version: rows as loaded from the tables, and the changes of a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::catalog::Catalog;
use super::descriptions::Description;
use super::ids::{AggregateId, ClassId, ProviderId, TraitId};
use super::inventory::Inventory;

/// All data of one provider, as loaded from the tables and as edited by `model`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderRow {
    pub id: ProviderId,
    pub uuid: Arc<str>,
    pub name: Arc<str>,
    pub generation: i64,
    pub parent: Option<ProviderId>,
    /// The provider itself, if it has no parent.
    pub root: ProviderId,
    /// `updated_at` or else `created_at`, in microseconds since the Unix epoch, UTC.
    pub modified: i64,
    pub inventories: BTreeMap<ClassId, Inventory>,
    /// Sums of allocations; none is zero, and a class may have no inventory. Signed: a release may arrive before its
    /// claim, which makes a sum negative.
    pub used: BTreeMap<ClassId, i64>,
    pub traits: BTreeSet<TraitId>,
    pub aggregates: BTreeSet<AggregateId>,
}

impl ProviderRow {
    /// A root provider without inventories, traits and aggregates.
    pub fn bare(id: ProviderId, uuid: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> ProviderRow {
        ProviderRow {
            id,
            uuid: uuid.into(),
            name: name.into(),
            generation: 0,
            parent: None,
            root: id,
            modified: 0,
            inventories: BTreeMap::new(),
            used: BTreeMap::new(),
            traits: BTreeSet::new(),
            aggregates: BTreeSet::new(),
        }
    }
}

/// What one or several commits changed.
///
/// The lists are applied in this order: `removed`, `deltas`, `reloaded`, `descriptions`. So a reloaded row replaces the
/// results of deltas for the same provider; it was read later and contains them. A reloaded row also replaces a
/// provider that has the same id and another uuid, because SQLite reuses ids.
#[derive(Clone, Debug, Default)]
pub struct SnapshotChange {
    pub deltas: Vec<Delta>,
    /// Whole rows, also of new providers. Their parents are in the snapshot or in the same change. If a tree moved, all
    /// of its providers are here, because each has another root.
    pub reloaded: Vec<ProviderRow>,
    pub removed: Vec<ProviderId>,
    /// The descriptions that were set, each the provider's own, whole. An empty one removes what it had. Applied last,
    /// so that providers of `reloaded` may be described; a reloaded row keeps the description that it had.
    pub descriptions: Vec<(ProviderId, Description)>,
    /// The whole catalog, if a name was added or removed.
    pub catalog: Option<Catalog>,
}

/// How claims changed one provider. Numbers are added to those of the snapshot, never set, so that deltas of several
/// writers may arrive in any order. A delta of an unknown provider has no effect: a later reload will contain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub provider: ProviderId,
    /// By how much its generation increased.
    pub moves: u32,
    /// Its generation afterwards. Only compared, never set: a generation that is set would claim that the snapshot has
    /// all usage up to it.
    pub generation: i64,
    /// Its `updated_at`, as in [`ProviderRow::modified`]; the latest one wins.
    pub modified: Option<i64>,
    /// Signed changes of its sums of usage.
    pub used: Vec<(ClassId, i64)>,
}
