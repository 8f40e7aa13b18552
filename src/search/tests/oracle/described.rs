//! The descriptions of providers: properties, domains and states, with types, aggregates and inheritance.

use super::{Descriptions, World};
use crate::search::expression::{Expression, Truth};
use crate::search::request::{Domain, Group, HOST_DIMENSION, HostConditions, Request};
use crate::search::snapshot::{Catalog, Description, PropertyValue, ProviderRow, ProviderState};

/// A world with descriptions.
pub(super) struct Described<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) rows: &'a World,
    pub(super) descriptions: &'a Descriptions,
}

impl Described<'_> {
    /// The provider and the ancestors.
    fn ancestors<'s>(&'s self, row: &'s ProviderRow) -> Vec<&'s ProviderRow> {
        let mut found = vec![row];
        if let Some(parent) = row.parent.and_then(|parent| self.rows.get(&parent)) {
            found.extend(self.ancestors(parent));
        }
        found
    }

    /// The descriptions of the provider and of the ancestors.
    fn lineage(&self, row: &ProviderRow) -> Vec<&Description> {
        let ancestors = self.ancestors(row).into_iter();
        ancestors.filter_map(|row| self.descriptions.get(&row.id)).collect()
    }

    /// The statement of a description about a property: its own, or the type's.
    fn stated(&self, own: &Description, name: &str) -> Option<Option<PropertyValue>> {
        let types = &self.catalog.declarations().types;
        let of_type = || types.get(own.kind.as_ref()?)?.get(name);
        own.properties.get(name).or_else(of_type).cloned()
    }

    /// The domain by the aggregates of a provider.
    fn of_aggregates(&self, row: &ProviderRow, dimension: &str) -> Option<&str> {
        let domains = self.catalog.declarations().domains.iter();
        let is_member = |uuid: &str| {
            let id = self.catalog.aggregate_id(uuid);
            id.is_some_and(|id| row.aggregates.contains(&id))
        };
        let paths: Vec<&str> = domains
            .filter(|((known, _), uuid)| **known == *dimension && is_member(uuid))
            .map(|((_, path), _)| &**path)
            .collect();
        let is_inside = |path: &str, other: &str| path.starts_with(&format!("{other}/"));
        let mut leaves: Vec<&str> = paths.clone();
        leaves.retain(|path| !paths.iter().any(|other| is_inside(other, path)));
        leaves.sort_unstable();
        leaves.first().copied()
    }

    fn property(&self, row: &ProviderRow, name: &str) -> Option<PropertyValue> {
        let lineage = self.lineage(row);
        match name {
            "ProviderName" | "NodeName" => Some(PropertyValue::Text(row.name.clone())),
            "ProviderUuid" => Some(PropertyValue::Text(row.uuid.clone())),
            "ProviderType" | "NodeType" => lineage.iter().find_map(|own| own.kind.clone()).map(PropertyValue::Text),
            name => lineage.iter().find_map(|own| self.stated(own, name)).flatten(),
        }
    }

    pub(super) fn meets(&self, row: &ProviderRow, condition: &Expression) -> bool {
        condition.judge(|name| self.property(row, name)) == Truth::True
    }

    pub(super) fn is_in(&self, row: &ProviderRow, domain: &Domain) -> bool {
        if *domain.dimension == *HOST_DIMENSION {
            return row.uuid == domain.path;
        }
        let dimension = &domain.dimension;
        let described = self.lineage(row).into_iter().find_map(|own| own.domains.get(dimension));
        let of_aggregates = || {
            let mut ancestors = self.ancestors(row).into_iter();
            ancestors.find_map(|row| self.of_aggregates(row, dimension))
        };
        let path = described.map(|path| &**path).or_else(of_aggregates);
        let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        path.is_some_and(|path| segments(path).starts_with(&segments(&domain.path)))
    }

    pub(super) fn is_host(&self, root: &ProviderRow, host: &HostConditions) -> bool {
        let of_dimension = |wanted: &Domain| {
            let mut same = host
                .in_domains
                .iter()
                .filter(|domain| domain.dimension == wanted.dimension);
            same.any(|domain| self.is_in(root, domain))
        };
        self.meets(root, &host.condition)
            && host.in_domains.iter().all(of_dimension)
            && !host.not_in_domains.iter().any(|domain| self.is_in(root, domain))
    }

    /// Whether a provider may serve a group, as far as the description decides.
    pub(super) fn may_give(&self, row: &ProviderRow, request: &Request, group: &Group) -> bool {
        let is_up = || {
            self.lineage(row)
                .iter()
                .all(|own| own.state == ProviderState::Up && !own.is_unknown)
        };
        (!request.host.only_up || is_up()) && self.meets(row, &group.condition)
    }
}
