//! The declarations about providers by number: types with numbered properties, and aggregates with numbered dimensions.
//!
//! The catalog has the declarations as texts. A version of the snapshot has numbers, so the columns of a block are
//! filled without a comparison of texts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::catalog::Catalog;
use super::declarations::{Declarations, counted_path};
use super::description_names::{DescriptionNames, NameId};
use super::descriptions::PropertyValue;
use super::ids::AggregateId;

/// The declarations about providers, by the numbers of a version.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DeclaredValues {
    types: HashMap<Arc<str>, Vec<(NameId, Option<PropertyValue>)>>,
    /// The dimensions and paths of each aggregate.
    domains: HashMap<AggregateId, Vec<(NameId, Arc<str>)>>,
}

impl DeclaredValues {
    /// The declarations of a catalog. Adds their names.
    pub fn of(catalog: &Catalog, names: &mut DescriptionNames) -> DeclaredValues {
        let Declarations { types, domains, .. } = &**catalog.declarations();
        let mut found = DeclaredValues::default();
        for (kind, properties) in types {
            let values = properties
                .iter()
                .map(|(name, value)| (names.intern(name), value.clone()));
            found.types.insert(Arc::clone(kind), values.collect());
        }
        for ((dimension, path), aggregate) in &**domains {
            // No provider is a member of an unknown aggregate.
            if let Some(aggregate) = catalog.aggregate_id(aggregate) {
                let of_aggregate = found.domains.entry(aggregate).or_default();
                of_aggregate.push((names.intern(dimension), Arc::clone(path)));
            }
        }
        found
    }

    pub fn are_empty(&self) -> bool {
        self.types.is_empty() && self.domains.is_empty()
    }

    pub fn have_domains(&self) -> bool {
        !self.domains.is_empty()
    }

    /// Whether the members of an aggregate are in a domain.
    pub fn is_domain(&self, aggregate: AggregateId) -> bool {
        self.domains.contains_key(&aggregate)
    }

    /// The properties of a type. `None` hides an inherited property.
    pub fn of_type(&self, kind: &str) -> &[(NameId, Option<PropertyValue>)] {
        self.types.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Whether a type gives a value to a property.
    pub fn have_value(&self, name: NameId) -> bool {
        let mut properties = self.types.values().flatten();
        properties.any(|(known, value)| *known == name && value.is_some())
    }

    /// All dimensions and paths of these aggregates, each with the aggregate.
    pub fn paths(
        &self,
        aggregates: impl Iterator<Item = AggregateId>,
    ) -> impl Iterator<Item = (AggregateId, NameId, &Arc<str>)> {
        aggregates.flat_map(|aggregate| {
            let of_aggregate = self.domains.get(&aggregate).into_iter().flatten();
            of_aggregate.map(move |(dimension, path)| (aggregate, *dimension, path))
        })
    }

    /// The domain of a member of these aggregates in each dimension.
    pub fn counted(&self, aggregates: impl Iterator<Item = AggregateId>) -> Vec<(NameId, &Arc<str>)> {
        let mut by_dimension: BTreeMap<NameId, Vec<&Arc<str>>> = BTreeMap::new();
        for (_, dimension, path) in self.paths(aggregates) {
            by_dimension.entry(dimension).or_default().push(path);
        }
        let counted = by_dimension.into_iter();
        counted
            .filter_map(|(dimension, paths)| Some((dimension, counted_path(paths)?)))
            .collect()
    }
}
