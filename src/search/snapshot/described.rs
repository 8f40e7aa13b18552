//! The descriptions of a version: sets, inherits and reads descriptions. A version without descriptions stores nothing.
//!
//! A block keeps the descriptions of its own providers. Inherited values are computed when a search first needs the
//! values, and dropped when a description or a tree with a part in the block changes.

use std::sync::{Arc, OnceLock};

use super::described_lanes::{DescribedLanes, UNDESCRIBED};
use super::description_names::NameId;
use super::descriptions::{Description, PROVIDER_TYPE, PropertyValue, ProviderState};
use super::ids::{ProviderId, Slot, lanes_of, lanes_where};
use super::layout::by_block;
use super::version::Snapshot;

/// Where the value of a property is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::search) enum PropertySource {
    /// No provider ever had a property of this name.
    Nowhere,
    Described(NameId),
    Name,
    Uuid,
}

impl Snapshot {
    /// The same version with these descriptions, each the provider's own. Unknown providers are skipped.
    pub fn with_descriptions(mut self, all: impl IntoIterator<Item = (ProviderId, Description)>) -> Snapshot {
        for (id, description) in all {
            self.describe(id, &description);
        }
        for block in 0..self.blocks.len() {
            if let Some(described) = &mut self.blocks.get_mut(block).described {
                // A copy has no spare capacity.
                let described = Arc::make_mut(described);
                described.own = Arc::new(DescribedLanes::clone(&described.own));
            }
        }
        self
    }

    /// Replaces the description of a provider.
    pub(super) fn describe(&mut self, id: ProviderId, description: &Description) {
        let Some(slot) = self.by_id(id) else { return };
        self.drop_derived_from_all();
        self.set_description(slot, description);
    }

    /// Replaces the description of a provider. An empty description removes the old description.
    pub(super) fn set_description(&mut self, slot: Slot, description: &Description) {
        let old = self.description(slot);
        if old.is_empty() && description.is_empty() {
            return;
        }
        self.described.providers += usize::from(!description.is_empty());
        self.described.not_up += usize::from(description.counted_state() != ProviderState::Up);
        self.drop_inherited(slot);
        self.described.providers -= usize::from(!old.is_empty());
        self.described.not_up -= usize::from(old.counted_state() != ProviderState::Up);
        if let Some(described) = &mut self.blocks.get_mut(slot.block()).described {
            let own = Arc::make_mut(&mut Arc::make_mut(described).own);
            own.set(slot.lane(), description, &mut self.described.names);
        }
    }

    /// Must be called if a description changes, or a provider joins or leaves a tree. The values inherited by the
    /// providers below are computed again.
    pub(super) fn drop_inherited(&mut self, slot: Slot) {
        if self.described.providers == 0 {
            return;
        }
        for (block, _) in by_block(self.tree(slot)) {
            let described = self.blocks.get_mut(block).described.get_or_insert_default();
            let described = Arc::make_mut(described);
            described.inherited = OnceLock::new();
            described.unavailable = OnceLock::new();
        }
    }

    /// The own description of a provider, without inherited values.
    pub fn description(&self, slot: Slot) -> Description {
        let own = self.own_of(slot);
        own.map_or_else(Description::default, |own| own.of(slot.lane(), &self.described.names))
    }

    /// The description of a provider with inherited values. A hidden property is `None`.
    pub fn effective_description(&self, slot: Slot) -> Description {
        let lineage: Vec<Slot> = self.lineage(slot).collect();
        let mut effective = Description::default();
        for &slot in lineage.iter().rev() {
            let own = self.description(slot);
            effective.kind = own.kind.or(effective.kind);
            effective.properties.extend(own.properties);
            effective.domains.extend(own.domains);
            if own.state != ProviderState::Up {
                effective.state = own.state;
            }
            effective.is_unknown |= own.is_unknown;
        }
        effective
    }

    /// A property of a provider, built-in or set, own or inherited.
    pub fn property(&self, slot: Slot, name: &str) -> Option<PropertyValue> {
        match self.property_source(name) {
            PropertySource::Nowhere => None,
            PropertySource::Name => Some(PropertyValue::Text(self.name(slot).into())),
            PropertySource::Uuid => Some(PropertyValue::Text(self.uuid(slot).into())),
            PropertySource::Described(id) => {
                let property = |slot: Slot| self.own_of(slot)?.property(slot.lane(), id);
                self.lineage(slot).find_map(property)?.cloned()
            }
        }
    }

    /// The source of a property, built-in or set.
    pub(in crate::search) fn property_source(&self, name: &str) -> PropertySource {
        let described = |name: &str| {
            self.property_name(name)
                .map_or(PropertySource::Nowhere, PropertySource::Described)
        };
        match name {
            "ProviderName" | "NodeName" => PropertySource::Name,
            "ProviderUuid" => PropertySource::Uuid,
            "NodeType" => described(PROVIDER_TYPE),
            name => described(name),
        }
    }

    /// The path of a provider in a dimension, own or inherited.
    pub fn domain(&self, slot: Slot, dimension: &str) -> Option<&Arc<str>> {
        let id = self.property_name(dimension)?;
        self.lineage(slot)
            .find_map(|slot| self.own_of(slot)?.path(slot.lane(), id))
    }

    /// The own path of a provider in a dimension, without the paths of its ancestors.
    pub fn own_domain(&self, slot: Slot, dimension: &str) -> Option<&Arc<str>> {
        let id = self.property_name(dimension)?;
        self.own_of(slot)?.path(slot.lane(), id)
    }

    /// Whether every provider is up.
    pub fn are_all_up(&self) -> bool {
        self.described.not_up == 0
    }

    /// The state that a person gave a provider: its own, or if its own is `Up` the nearest state of an ancestor that is
    /// not `Up`.
    pub fn given_state(&self, slot: Slot) -> ProviderState {
        let given = |slot: Slot| self.own_of(slot).map(|own| own.given_state(slot.lane()));
        let mut states = self.lineage(slot).filter_map(given);
        states.find(|&state| state != ProviderState::Up).unwrap_or_default()
    }

    /// The own state of a provider, without the states of its ancestors.
    pub fn own_state(&self, slot: Slot) -> ProviderState {
        let own = self.own_of(slot);
        own.map_or(ProviderState::Up, |own| own.state(slot.lane()))
    }

    /// The state of a provider: its own, or if its own is `Up` the nearest state of an ancestor that is not `Up`.
    pub fn state(&self, slot: Slot) -> ProviderState {
        let mut states = self.lineage(slot).map(|slot| self.own_state(slot));
        states.find(|&state| state != ProviderState::Up).unwrap_or_default()
    }

    /// Whether the own description of any provider gives a value to a property of this name.
    pub fn is_described_by(&self, name: &str) -> bool {
        let has = |block: usize, id: NameId| self.described_lanes(block).values(id).next().is_some();
        let id = self.property_name(name);
        id.is_some_and(|id| (0..self.blocks.len()).any(|block| has(block, id)))
    }

    /// The number of the name of a property or dimension; `None` if no description has the name.
    pub(in crate::search) fn property_name(&self, name: &str) -> Option<NameId> {
        self.described.names.id(name)
    }

    /// The name with this number.
    pub(in crate::search) fn property_text(&self, id: NameId) -> &Arc<str> {
        self.described.names.text(id)
    }

    /// The own descriptions of the providers of a block, without inherited values. Roots inherit nothing.
    pub(in crate::search) fn described_lanes(&self, block: usize) -> &DescribedLanes {
        let described = self.blocks.get(block).described.as_ref();
        described.map_or(&UNDESCRIBED, |described| &described.own)
    }

    /// The descriptions of the providers of a block with inherited values.
    pub(in crate::search) fn inheriting_lanes(&self, block: usize) -> &DescribedLanes {
        let Some(described) = &self.blocks.get(block).described else {
            return &UNDESCRIBED;
        };
        described
            .inherited
            .get_or_init(|| self.inherited(block, &described.own))
    }

    /// The lanes of a block that get nothing new, because they or an ancestor are not up.
    pub(in crate::search) fn unavailable_lanes(&self, block: usize) -> u64 {
        if self.are_all_up() {
            return 0;
        }
        let data = self.blocks.get(block);
        let Some(described) = &data.described else { return 0 };
        *described.unavailable.get_or_init(|| {
            let is_not_up = |lane| self.state(Slot::new(block, lane)) != ProviderState::Up;
            described.own.not_up() | lanes_where(data.present & !data.roots, is_not_up)
        })
    }

    fn inherited(&self, block: usize, own: &Arc<DescribedLanes>) -> Arc<DescribedLanes> {
        let data = self.blocks.get(block);
        let children = data.present & !data.roots;
        if children == 0 {
            return Arc::clone(own);
        }
        let mut inherited = DescribedLanes::clone(own);
        // The names are known, because every name is from a description.
        let mut names = self.described.names.clone();
        for lane in lanes_of(children) {
            inherited.set(lane, &self.effective_description(Slot::new(block, lane)), &mut names);
        }
        Arc::new(inherited)
    }

    fn own_of(&self, slot: Slot) -> Option<&DescribedLanes> {
        let described = self.blocks.get(slot.block()).described.as_ref()?;
        Some(&described.own)
    }
}
