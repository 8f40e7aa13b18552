//! The descriptions of the providers of a block, in columns: each value of a property and each path of a domain, with a
//! bit for every provider of the value. Hosts are much alike, so a block has few different values.

use std::sync::Arc;

use super::description_names::{DescriptionNames, NameId};
use super::descriptions::{Description, PropertyValue, ProviderState};
use crate::search::expression::PROVIDER_TYPE;

/// The descriptions of the providers of one block.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct DescribedLanes {
    /// Sorted by name and value; `None` hides an inherited property.
    properties: Vec<Entry<Option<PropertyValue>>>,
    /// Sorted by dimension and path.
    domains: Vec<Entry<Arc<str>>>,
    /// By state but `Up`, in the order of [`ProviderState::ALL`].
    states: [u64; 3],
}

#[derive(Clone, Debug)]
struct Entry<V> {
    name: NameId,
    value: V,
    lanes: u64,
}

/// The columns of a block without descriptions.
pub(super) static UNDESCRIBED: DescribedLanes = DescribedLanes {
    properties: Vec::new(),
    domains: Vec::new(),
    states: [0; 3],
};

impl DescribedLanes {
    /// The values of a property, each with its lanes.
    pub fn values(&self, name: NameId) -> impl Iterator<Item = (&PropertyValue, u64)> {
        let found = of_name(&self.properties, name).iter();
        found.filter_map(|entry| Some((entry.value.as_ref()?, entry.lanes)))
    }

    /// The paths of a dimension, each with its lanes.
    pub fn paths(&self, dimension: NameId) -> impl Iterator<Item = (&Arc<str>, u64)> {
        let found = of_name(&self.domains, dimension).iter();
        found.map(|entry| (&entry.value, entry.lanes))
    }

    /// The dimensions, each with the lanes of a path in the dimension; a dimension may occur several times.
    pub fn dimensions(&self) -> impl Iterator<Item = (NameId, u64)> {
        self.domains.iter().map(|entry| (entry.name, entry.lanes))
    }

    /// The statement of a lane about a property: `Some(None)` if the lane hides the property.
    pub fn property(&self, lane: usize, name: NameId) -> Option<Option<&PropertyValue>> {
        let mut found = of_name(&self.properties, name).iter();
        found
            .find(|entry| entry.lanes >> lane & 1 == 1)
            .map(|entry| entry.value.as_ref())
    }

    pub fn path(&self, lane: usize, dimension: NameId) -> Option<&Arc<str>> {
        let mut found = of_name(&self.domains, dimension).iter();
        found
            .find(|entry| entry.lanes >> lane & 1 == 1)
            .map(|entry| &entry.value)
    }

    pub fn state(&self, lane: usize) -> ProviderState {
        let states = ProviderState::ALL[1..].iter().zip(self.states);
        let mut states = states.filter(|(_, lanes)| lanes >> lane & 1 == 1);
        states.next().map_or(ProviderState::Up, |((_, state), _)| *state)
    }

    /// The lanes in a state other than `Up`.
    pub fn not_up(&self) -> u64 {
        self.states.iter().fold(0, |all, lanes| all | lanes)
    }

    /// The description of a lane.
    pub fn of(&self, lane: usize, names: &DescriptionNames) -> Description {
        let mut description = Description {
            state: self.state(lane),
            ..Description::default()
        };
        for entry in self.properties.iter().filter(|entry| entry.lanes >> lane & 1 == 1) {
            match (&**names.text(entry.name), &entry.value) {
                (PROVIDER_TYPE, Some(PropertyValue::Text(kind))) => description.kind = Some(Arc::clone(kind)),
                _ => {
                    let name = Arc::clone(names.text(entry.name));
                    description.properties.insert(name, entry.value.clone());
                }
            }
        }
        let domains = self.domains.iter().filter(|entry| entry.lanes >> lane & 1 == 1);
        let domains = domains.map(|entry| (Arc::clone(names.text(entry.name)), Arc::clone(&entry.value)));
        description.domains = domains.collect();
        description
    }

    /// Replaces the description of a lane.
    pub fn set(&mut self, lane: usize, description: &Description, names: &mut DescriptionNames) {
        self.clear(lane);
        let Description {
            kind,
            properties,
            domains,
            state,
        } = description;
        if let Some(kind) = kind {
            let value = Some(PropertyValue::Text(Arc::clone(kind)));
            add(&mut self.properties, lane, names.intern(&PROVIDER_TYPE.into()), value);
        }
        for (name, value) in properties {
            add(&mut self.properties, lane, names.intern(name), value.clone());
        }
        for (dimension, path) in domains {
            add(&mut self.domains, lane, names.intern(dimension), Arc::clone(path));
        }
        if let Some(at) = (*state as usize).checked_sub(1) {
            self.states[at] |= 1 << lane;
        }
    }

    pub fn clear(&mut self, lane: usize) {
        clear(&mut self.properties, lane);
        clear(&mut self.domains, lane);
        self.states.iter_mut().for_each(|lanes| *lanes &= !(1 << lane));
    }

    pub fn shrink(&mut self) {
        self.properties.shrink_to_fit();
        self.domains.shrink_to_fit();
    }
}

fn of_name<V>(entries: &[Entry<V>], name: NameId) -> &[Entry<V>] {
    let first = entries.partition_point(|entry| entry.name < name);
    let length = entries[first..].partition_point(|entry| entry.name == name);
    &entries[first..first + length]
}

fn add<V: Ord>(entries: &mut Vec<Entry<V>>, lane: usize, name: NameId, value: V) {
    let lanes = 1 << lane;
    match entries.binary_search_by(|entry| (entry.name, &entry.value).cmp(&(name, &value))) {
        Ok(at) => entries[at].lanes |= lanes,
        Err(at) => entries.insert(at, Entry { name, value, lanes }),
    }
}

fn clear<V>(entries: &mut Vec<Entry<V>>, lane: usize) {
    entries.iter_mut().for_each(|entry| entry.lanes &= !(1 << lane));
    entries.retain(|entry| entry.lanes != 0);
}
