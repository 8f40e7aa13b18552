//! The descriptions of the providers of a block, in columns: each value of a property and each path of a domain, with a
//! bit for every provider of the value. Hosts are much alike, so a block has few different values.

use std::sync::{Arc, OnceLock};

use super::description_names::{DescriptionNames, NameId};
use super::descriptions::{Description, PROVIDER_TYPE, PropertyValue, ProviderState};
use super::lanes::Lanes;

/// The descriptions of a block.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct BlockDescriptions {
    pub own: Arc<DescribedLanes>,
    /// The descriptions of the roots with the values of types and aggregates.
    pub of_roots: OnceLock<Arc<DescribedLanes>>,
    /// The descriptions of the providers with inherited values.
    pub inherited: OnceLock<Arc<DescribedLanes>>,
    /// The lanes not up themselves, or below a provider that is not up.
    pub unavailable: OnceLock<u64>,
}

/// The descriptions of the providers of one block.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct DescribedLanes {
    /// By name and value; `None` hides an inherited property.
    properties: Lanes<(NameId, Option<PropertyValue>)>,
    /// By dimension and path.
    domains: Lanes<(NameId, Arc<str>)>,
    /// The states other than `Up` that a person gave.
    states: Lanes<ProviderState>,
    /// The lanes of hosts without a lease.
    unknown: u64,
}

/// The columns of a block without descriptions.
pub(super) static UNDESCRIBED: DescribedLanes = DescribedLanes {
    properties: Lanes::EMPTY,
    domains: Lanes::EMPTY,
    states: Lanes::EMPTY,
    unknown: 0,
};

impl DescribedLanes {
    /// The values of a property, each with its lanes.
    pub fn values(&self, name: NameId) -> impl Iterator<Item = (&PropertyValue, u64)> {
        let found = self.properties.equal(|(other, _)| other.cmp(&name)).iter();
        found.filter_map(|((_, value), lanes)| Some((value.as_ref()?, *lanes)))
    }

    /// The paths of a dimension, each with its lanes.
    pub fn paths(&self, dimension: NameId) -> impl Iterator<Item = (&Arc<str>, u64)> {
        let found = self.domains.equal(|(other, _)| other.cmp(&dimension)).iter();
        found.map(|((_, path), lanes)| (path, *lanes))
    }

    /// The dimensions, each with the lanes of a path in the dimension; a dimension may occur several times.
    pub fn dimensions(&self) -> impl Iterator<Item = (NameId, u64)> {
        self.domains.iter().map(|((name, _), lanes)| (*name, *lanes))
    }

    /// The statement of a lane about a property: `Some(None)` if the lane hides the property.
    pub fn property(&self, lane: usize, name: NameId) -> Option<Option<&PropertyValue>> {
        let mut found = self.properties.equal(|(other, _)| other.cmp(&name)).iter();
        let ((_, value), _) = found.find(|(_, lanes)| lanes >> lane & 1 == 1)?;
        Some(value.as_ref())
    }

    /// The lanes with a statement about a property.
    fn stating(&self, name: NameId) -> u64 {
        let found = self.properties.equal(|(other, _)| other.cmp(&name)).iter();
        found.fold(0, |all, (_, lanes)| all | lanes)
    }

    /// Gives a statement about a property to the lanes among `lanes` without a statement of their own.
    pub fn add_property(&mut self, name: NameId, value: &Option<PropertyValue>, lanes: u64) {
        let lanes = lanes & !self.stating(name);
        self.properties.add((name, value.clone()), lanes);
    }

    /// Gives a path to the lane, unless the lane has a path in the dimension.
    pub fn add_path(&mut self, lane: usize, dimension: NameId, path: &Arc<str>) {
        if self.path(lane, dimension).is_none() {
            self.domains.add((dimension, Arc::clone(path)), 1 << lane);
        }
    }

    pub fn path(&self, lane: usize, dimension: NameId) -> Option<&Arc<str>> {
        let (path, _) = self.paths(dimension).find(|(_, lanes)| lanes >> lane & 1 == 1)?;
        Some(path)
    }

    /// The state that a person gave.
    pub fn given_state(&self, lane: usize) -> ProviderState {
        self.states.of(lane).next().copied().unwrap_or_default()
    }

    /// As [`Description::counted_state`].
    pub fn state(&self, lane: usize) -> ProviderState {
        match self.given_state(lane) {
            ProviderState::Up if self.is_unknown(lane) => ProviderState::Unknown,
            state => state,
        }
    }

    fn is_unknown(&self, lane: usize) -> bool {
        self.unknown >> lane & 1 == 1
    }

    /// The lanes in a state other than `Up`.
    pub fn not_up(&self) -> u64 {
        self.states.iter().fold(self.unknown, |all, (_, lanes)| all | lanes)
    }

    /// The description of a lane.
    pub fn of(&self, lane: usize, names: &DescriptionNames) -> Description {
        let mut description = Description {
            state: self.given_state(lane),
            is_unknown: self.is_unknown(lane),
            ..Description::default()
        };
        for (name, value) in self.properties.of(lane) {
            let name = names.text(*name);
            match (&**name, value) {
                (PROVIDER_TYPE, Some(PropertyValue::Text(kind))) => description.kind = Some(Arc::clone(kind)),
                _ => {
                    description.properties.insert(Arc::clone(name), value.clone());
                }
            }
        }
        let domains = self.domains.of(lane);
        let domains = domains.map(|(name, path)| (Arc::clone(names.text(*name)), Arc::clone(path)));
        description.domains = domains.collect();
        description
    }

    /// Replaces the description of a lane.
    pub fn set(&mut self, lane: usize, description: &Description, names: &mut DescriptionNames) {
        let Description {
            kind,
            properties,
            domains,
            state,
            is_unknown,
        } = description;
        let mut values = Vec::with_capacity(properties.len() + 1);
        if let Some(kind) = kind {
            let value = Some(PropertyValue::Text(Arc::clone(kind)));
            values.push((names.intern(&PROVIDER_TYPE.into()), value));
        }
        for (name, value) in properties {
            values.push((names.intern(name), value.clone()));
        }
        self.properties.set(lane, values);
        let paths = domains
            .iter()
            .map(|(name, path)| (names.intern(name), Arc::clone(path)));
        self.domains.set(lane, paths);
        self.states
            .set(lane, Some(*state).filter(|state| *state != ProviderState::Up));
        self.unknown = self.unknown & !(1 << lane) | u64::from(*is_unknown) << lane;
    }
}
