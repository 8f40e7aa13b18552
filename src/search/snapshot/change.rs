//! What makes a new version: rows as loaded from the tables, and what a commit changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::catalog::Catalog;
use super::ids::{AggregateId, ClassId, ProviderId, TraitId};
use super::inventory::Inventory;

/// Everything of one provider, as loaded from the tables and as edited by `model`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderRow {
    pub id: ProviderId,
    pub uuid: Arc<str>,
    pub name: Arc<str>,
    pub generation: i64,
    pub parent: Option<ProviderId>,
    /// Itself, for a provider without a parent.
    pub root: ProviderId,
    /// `updated_at` or else `created_at`, in microseconds since the epoch, UTC.
    pub modified: i64,
    pub inventories: BTreeMap<ClassId, Inventory>,
    /// Sums of allocations. Signed, because a release of a claim that is not yet seen makes a sum negative; may name
    /// classes without inventory; has no zeros.
    pub used: BTreeMap<ClassId, i64>,
    pub traits: BTreeSet<TraitId>,
    pub aggregates: BTreeSet<AggregateId>,
}

impl ProviderRow {
    /// A root that has nothing yet.
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

/// What a commit, or several, changed.
///
/// Of one provider in several lists the last word is: it is removed, then deltas are added, then a reloaded row
/// replaces all that is known of it (a reload was read later and contains the deltas). A reloaded row whose id is
/// known under another uuid replaces that provider, because SQLite reuses ids.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub deltas: Vec<Delta>,
    /// Whole rows, new providers among them. A parent is in the snapshot or in the same change; of a tree that moved,
    /// every provider is here, because every one has another root.
    pub reloaded: Vec<ProviderRow>,
    pub removed: Vec<ProviderId>,
    /// The whole catalog, if a name came or went.
    pub catalog: Option<Catalog>,
}

/// How one provider's claims moved it. Numbers are added to what the snapshot has, never set, so that deltas of
/// several writers may come in any order. A delta of an unknown provider does nothing: it is in a later reload.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub provider: ProviderId,
    /// How often its generation moved.
    pub moves: u32,
    /// The generation after it, to compare with alone: a set one would vouch for usage that the snapshot lacks.
    pub generation: i64,
    /// Its `updated_at` as in [`ProviderRow::modified`]; the latest of all wins.
    pub modified: Option<i64>,
    /// Signed changes of its sums.
    pub used: Vec<(ClassId, i64)>,
}
