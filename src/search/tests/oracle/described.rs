//! The descriptions of providers: properties, domains and states, inherited down the tree.

use super::{Descriptions, World};
use crate::search::expression::{Expression, Truth};
use crate::search::request::{Domain, Group, HOST_DIMENSION, HostConditions, Request};
use crate::search::snapshot::{Description, PropertyValue, ProviderRow, ProviderState};

/// A world with descriptions.
pub(super) struct Described<'a> {
    pub(super) rows: &'a World,
    pub(super) descriptions: &'a Descriptions,
}

impl Described<'_> {
    /// The descriptions of the provider and of its ancestors.
    fn lineage(&self, row: &ProviderRow) -> Vec<&Description> {
        let mut found: Vec<&Description> = self.descriptions.get(&row.id).into_iter().collect();
        if let Some(parent) = row.parent.and_then(|parent| self.rows.get(&parent)) {
            found.extend(self.lineage(parent));
        }
        found
    }

    fn property(&self, row: &ProviderRow, name: &str) -> Option<PropertyValue> {
        let lineage = self.lineage(row);
        match name {
            "ProviderName" | "NodeName" => Some(PropertyValue::Text(row.name.clone())),
            "ProviderUuid" => Some(PropertyValue::Text(row.uuid.clone())),
            "ProviderType" | "NodeType" => lineage.iter().find_map(|own| own.kind.clone()).map(PropertyValue::Text),
            name => lineage
                .iter()
                .find_map(|own| own.properties.get(name).cloned())
                .flatten(),
        }
    }

    pub(super) fn meets(&self, row: &ProviderRow, condition: &Expression) -> bool {
        condition.judge(|name| self.property(row, name)) == Truth::True
    }

    pub(super) fn is_in(&self, row: &ProviderRow, domain: &Domain) -> bool {
        if *domain.dimension == *HOST_DIMENSION {
            return row.uuid == domain.path;
        }
        let path = self
            .lineage(row)
            .into_iter()
            .find_map(|own| own.domains.get(&domain.dimension));
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
