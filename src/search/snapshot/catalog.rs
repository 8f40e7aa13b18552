//! The names of resource classes, traits and aggregates, with their ids, in both directions.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::ids::{AggregateId, ClassId, TraitId};
use super::kept::Kept;

/// One kind of name. Iteration is in the order of ids, which lists standard names before custom ones.
#[derive(Debug, PartialEq)]
struct Names<K: Eq + Hash> {
    by_id: BTreeMap<K, Arc<str>>,
    by_name: HashMap<Arc<str>, K>,
}

impl<K: Copy + Ord + Hash> Names<K> {
    fn new(all: Vec<(K, Arc<str>)>) -> Self {
        let by_name = all.iter().map(|(id, name)| (name.clone(), *id)).collect();
        Self {
            by_id: all.into_iter().collect(),
            by_name,
        }
    }
}

/// All names that the database knows. A clone is cheap: versions share one catalog until a name comes or goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog(Arc<Inner>);

#[derive(Debug, PartialEq)]
struct Inner {
    classes: Names<ClassId>,
    traits: Names<TraitId>,
    aggregates: Names<AggregateId>,
    kept: Kept,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new(), Vec::new())
    }
}

impl Catalog {
    /// Takes whole tables, in any order. Names are compared byte by byte, aggregates as they are spelled.
    pub fn new(
        classes: Vec<(ClassId, Arc<str>)>,
        traits: Vec<(TraitId, Arc<str>)>,
        aggregates: Vec<(AggregateId, Arc<str>)>,
    ) -> Self {
        Self(Arc::new(Inner {
            classes: Names::new(classes),
            traits: Names::new(traits),
            aggregates: Names::new(aggregates),
            kept: Kept::default(),
        }))
    }

    /// What a reader makes of the names, made once and kept as long as they are. All readers make the same kind of
    /// thing.
    pub fn kept<T: Any + Send + Sync>(&self, make: impl FnOnce(&Self) -> T) -> &T {
        self.0.kept.get(|| make(self))
    }

    /// Is it the same version, in which no name came or went?
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn class_id(&self, name: &str) -> Option<ClassId> {
        self.0.classes.by_name.get(name).copied()
    }

    pub fn class_name(&self, id: ClassId) -> Option<&Arc<str>> {
        self.0.classes.by_id.get(&id)
    }

    pub fn trait_id(&self, name: &str) -> Option<TraitId> {
        self.0.traits.by_name.get(name).copied()
    }

    pub fn trait_name(&self, id: TraitId) -> Option<&Arc<str>> {
        self.0.traits.by_id.get(&id)
    }

    pub fn aggregate_id(&self, uuid: &str) -> Option<AggregateId> {
        self.0.aggregates.by_name.get(uuid).copied()
    }

    pub fn aggregate_uuid(&self, id: AggregateId) -> Option<&Arc<str>> {
        self.0.aggregates.by_id.get(&id)
    }

    /// All classes by id.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Arc<str>)> {
        self.0.classes.by_id.iter().map(|(id, name)| (*id, name))
    }

    /// All traits by id.
    pub fn traits(&self) -> impl Iterator<Item = (TraitId, &Arc<str>)> {
        self.0.traits.by_id.iter().map(|(id, name)| (*id, name))
    }

    /// All aggregates by id.
    pub fn aggregates(&self) -> impl Iterator<Item = (AggregateId, &Arc<str>)> {
        self.0.aggregates.by_id.iter().map(|(id, uuid)| (*id, uuid))
    }
}
