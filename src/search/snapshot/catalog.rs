//! The catalog: names of resource classes and traits and uuids of aggregates, with their ids, in both directions.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::declarations::{Declarations, counted_path};
use super::derived_cache::DerivedCache;
use super::ids::{AggregateId, ClassId, TraitId};
use super::limits::NormalLimit;

/// The names of one kind, listed by id: standard names come before custom names.
#[derive(Debug, PartialEq)]
struct NameTable<K: Eq + Hash> {
    by_id: BTreeMap<K, Arc<str>>,
    by_name: HashMap<Arc<str>, K>,
}

impl<K: Copy + Ord + Hash> NameTable<K> {
    fn new(entries: Vec<(K, Arc<str>)>) -> Self {
        let by_name = entries.iter().map(|(id, name)| (name.clone(), *id)).collect();
        Self {
            by_id: entries.into_iter().collect(),
            by_name,
        }
    }
}

/// The kinds of names of which some were created, renamed or deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameKinds {
    /// The names of classes, or the declarations, which are few too.
    pub classes: bool,
    pub traits: bool,
    pub aggregates: bool,
}

impl NameKinds {
    pub const ALL: NameKinds = NameKinds {
        classes: true,
        traits: true,
        aggregates: true,
    };

    /// Whether some names of any kind changed.
    pub fn any(self) -> bool {
        self != NameKinds::default()
    }

    /// The kinds of both.
    pub fn or(self, other: NameKinds) -> NameKinds {
        NameKinds {
            classes: self.classes || other.classes,
            traits: self.traits || other.traits,
            aggregates: self.aggregates || other.aggregates,
        }
    }
}

/// All names in the database. A clone copies a pointer: versions share one catalog until a name is added or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog(Arc<CatalogData>);

#[derive(Debug, PartialEq)]
struct CatalogData {
    classes: Arc<NameTable<ClassId>>,
    traits: Arc<NameTable<TraitId>>,
    aggregates: Arc<NameTable<AggregateId>>,
    declarations: Arc<Declarations>,
    derived: DerivedCache,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new(), Vec::new())
    }
}

impl Catalog {
    /// From whole tables, in any order. Names and uuids are compared byte by byte.
    pub fn new(
        classes: Vec<(ClassId, Arc<str>)>,
        traits: Vec<(TraitId, Arc<str>)>,
        aggregates: Vec<(AggregateId, Arc<str>)>,
    ) -> Self {
        Self(Arc::new(CatalogData {
            classes: Arc::new(NameTable::new(classes)),
            traits: Arc::new(NameTable::new(traits)),
            aggregates: Arc::new(NameTable::new(aggregates)),
            declarations: Arc::default(),
            derived: DerivedCache::default(),
        }))
    }

    /// As this catalog, with whole tables of the given kinds. The rest is shared, so a new trait costs the same beside
    /// any number of aggregates.
    pub fn renewed(
        &self,
        classes: Option<Vec<(ClassId, Arc<str>)>>,
        traits: Option<Vec<(TraitId, Arc<str>)>>,
        aggregates: Option<Vec<(AggregateId, Arc<str>)>>,
    ) -> Self {
        fn table<K: Copy + Ord + Hash>(
            entries: Option<Vec<(K, Arc<str>)>>,
            known: &Arc<NameTable<K>>,
        ) -> Arc<NameTable<K>> {
            entries.map_or_else(|| known.clone(), |entries| Arc::new(NameTable::new(entries)))
        }
        Self(Arc::new(CatalogData {
            classes: table(classes, &self.0.classes),
            traits: table(traits, &self.0.traits),
            aggregates: table(aggregates, &self.0.aggregates),
            declarations: self.0.declarations.clone(),
            derived: DerivedCache::default(),
        }))
    }

    /// As this catalog, with these declarations.
    pub fn with_declarations(&self, declarations: Arc<Declarations>) -> Self {
        if self.0.declarations == declarations {
            return self.clone();
        }
        Self(Arc::new(CatalogData {
            classes: self.0.classes.clone(),
            traits: self.0.traits.clone(),
            aggregates: self.0.aggregates.clone(),
            declarations,
            derived: DerivedCache::default(),
        }))
    }

    /// As this catalog, with these normal limits, by the names of classes.
    #[cfg(any(test, feature = "bench"))]
    pub fn with_limits(&self, limits: BTreeMap<Arc<str>, NormalLimit>) -> Self {
        self.with_declarations(Arc::new(Declarations {
            limits,
            ..Declarations::clone(&self.0.declarations)
        }))
    }

    pub fn declarations(&self) -> &Arc<Declarations> {
        &self.0.declarations
    }

    /// Whether any class has a normal limit.
    pub fn has_normal_limits(&self) -> bool {
        !self.0.declarations.limits.is_empty()
    }

    /// The normal limit of the class with this name.
    pub fn normal_limit(&self, class: &str) -> Option<NormalLimit> {
        self.0.declarations.limits.get(class).copied()
    }

    /// The classes with a normal limit.
    pub fn normal_limits(&self) -> impl Iterator<Item = (ClassId, NormalLimit)> {
        let limits = self.0.declarations.limits.iter();
        limits.filter_map(|(name, limit)| Some((self.class_id(name)?, *limit)))
    }

    /// Data that a reader derives from the names, cached with this catalog. All readers must use the same type `T`.
    pub fn derived<T: Any + Send + Sync>(&self, derive: impl FnOnce(&Self) -> T) -> &T {
        self.0.derived.get(|| derive(self))
    }

    /// Whether [`Self::derived`] is cached.
    pub fn has_derived(&self) -> bool {
        self.0.derived.is_filled()
    }

    /// Whether both are clones of one catalog, without a name added or removed in between.
    pub fn ptr_eq(&self, other: &Self) -> bool {
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

    /// The aggregates whose members are in a domain, with their uuids.
    pub fn aggregates_of_domains(&self) -> impl Iterator<Item = (AggregateId, &Arc<str>)> {
        let uuids = self.0.declarations.domains.values();
        uuids.filter_map(|uuid| Some((self.aggregate_id(uuid)?, uuid)))
    }

    /// The domain of a member of these aggregates in a dimension.
    pub fn domain_of_aggregates(
        &self,
        aggregates: impl Iterator<Item = AggregateId>,
        dimension: &str,
    ) -> Option<Arc<str>> {
        let uuids: Vec<&Arc<str>> = aggregates.filter_map(|id| self.aggregate_uuid(id)).collect();
        let declared = self.0.declarations.domains.iter();
        let paths = declared.filter(|((known, _), uuid)| **known == *dimension && uuids.contains(uuid));
        counted_path(paths.map(|((_, path), _)| path).collect()).cloned()
    }

    /// All classes, ordered by id.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Arc<str>)> {
        self.0.classes.by_id.iter().map(|(id, name)| (*id, name))
    }

    /// All traits, ordered by id.
    pub fn traits(&self) -> impl Iterator<Item = (TraitId, &Arc<str>)> {
        self.0.traits.by_id.iter().map(|(id, name)| (*id, name))
    }

    /// All aggregates, ordered by id.
    pub fn aggregates(&self) -> impl Iterator<Item = (AggregateId, &Arc<str>)> {
        self.0.aggregates.by_id.iter().map(|(id, uuid)| (*id, uuid))
    }
}
