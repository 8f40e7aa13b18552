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
    /// The provider's own id, if there is no parent.
    pub root: ProviderId,
    /// `updated_at` or else `created_at`, in microseconds since the Unix epoch, UTC.
    pub modified: i64,
    pub inventories: BTreeMap<ClassId, Inventory>,
    /// Sums of allocations, each unequal to zero; a class may have no inventory. Signed: a release may arrive before
    /// its claim, which makes a sum negative.
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

/// The changes of one or several commits.
///
/// The lists are applied in this order: `removed`, `deltas`, `reloaded`, `descriptions`. So a reloaded row replaces the
/// results of deltas for the same provider; the row was read later and contains the deltas. A reloaded row also
/// replaces a provider of the same id and a different uuid, because SQLite reuses ids.
#[derive(Clone, Debug, Default)]
pub struct SnapshotChange {
    pub deltas: Vec<Delta>,
    /// Whole rows, also of new providers. Their parents are in the snapshot or in the same change. If a tree moved, all
    /// providers of the tree are here, because the root of each changed.
    pub reloaded: Vec<ProviderRow>,
    pub removed: Vec<ProviderId>,
    /// The new descriptions, each the provider's own, whole. An empty description removes the old description. Applied
    /// last, so that providers of `reloaded` may be described; a reloaded row keeps its old description.
    pub descriptions: Vec<(ProviderId, Description)>,
    /// The whole catalog, if a name was added or removed.
    pub catalog: Option<Catalog>,
}

/// The effect of claims on one provider. Numbers are added to the snapshot's, never set, so deltas of several writers
/// may arrive in any order. A delta of an unknown provider has no effect: a later reload contains the delta.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub provider: ProviderId,
    /// The increase of the provider's generation.
    pub moves: u32,
    /// The provider's generation afterwards. Only compared, never set: a set generation would claim that the snapshot
    /// has all usage up to this generation.
    pub generation: i64,
    /// The provider's `updated_at`, as in [`ProviderRow::modified`]; the latest time wins.
    pub modified: Option<i64>,
    /// Signed changes of the provider's sums of usage.
    pub used: Vec<(ClassId, i64)>,
}
