//! The descriptions of a version: sets, inherits and reads descriptions. A version without descriptions stores nothing.
//!
//! A property of a provider is the own property, else the property of the own type, else the parent's. A domain is the
//! own domain, else an ancestor's, else the domain of the own aggregates, else of the aggregates of an ancestor.
//!
//! A block keeps the descriptions of the providers in the block. All further values are computed when a search first
//! needs the values. These values are dropped when a description, an aggregate or a tree with a part in the block
//! changes, or when the declarations of the catalog change.

use std::sync::{Arc, OnceLock};

use super::declared_values::DeclaredValues;
use super::described_lanes::{BlockDescriptions, DescribedLanes, UNDESCRIBED};
use super::description_names::NameId;
use super::descriptions::{Description, PROVIDER_TYPE, PropertyValue, ProviderState};
use super::ids::{AggregateId, ProviderId, Slot, lanes_of, lanes_where};
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

    /// Must be called if the description or the aggregates of a provider change, or a provider joins or leaves a tree.
    /// The values of the provider and of the providers below are computed again.
    pub(super) fn drop_inherited(&mut self, slot: Slot) {
        if self.described.providers == 0 && !self.declared.have_domains() {
            return;
        }
        for (block, _) in by_block(self.tree(slot)) {
            self.drop_inherited_of(block);
        }
    }

    /// Must be called with a new catalog. If the declarations changed, the values of all providers are computed again.
    pub(super) fn declare(&mut self) {
        let declared = DeclaredValues::of(&self.catalog, &mut self.described.names);
        if declared == *self.declared {
            return;
        }
        let has_domains = declared.have_domains();
        self.declared = Arc::new(declared);
        for block in 0..self.blocks.len() {
            if has_domains || self.blocks.get(block).described.is_some() {
                self.drop_inherited_of(block);
            }
        }
    }

    fn drop_inherited_of(&mut self, block: usize) {
        let described = self.blocks.get_mut(block).described.get_or_insert_default();
        let described = Arc::make_mut(described);
        described.of_roots = OnceLock::new();
        described.inherited = OnceLock::new();
        described.unavailable = OnceLock::new();
    }

    /// The own description of a provider, without inherited values.
    pub fn description(&self, slot: Slot) -> Description {
        let own = self.own_of(slot);
        own.map_or_else(Description::default, |own| own.of(slot.lane(), &self.described.names))
    }

    /// The description of a provider with the values of types, aggregates and ancestors. A hidden property is `None`.
    pub fn effective_description(&self, slot: Slot) -> Description {
        let lineage: Vec<Slot> = self.lineage(slot).collect();
        let mut effective = Description::default();
        for &slot in lineage.iter().rev() {
            let own = self.description(slot);
            for (name, value) in self.declared.of_type(own.kind.as_deref().unwrap_or_default()) {
                let name = Arc::clone(self.property_text(*name));
                effective.properties.insert(name, value.clone());
            }
            effective.kind = own.kind.or(effective.kind);
            effective.properties.extend(own.properties);
            effective.domains.extend(own.domains);
            if own.state != ProviderState::Up {
                effective.state = own.state;
            }
            effective.is_unknown |= own.is_unknown;
        }
        for slot in lineage {
            for (dimension, path) in self.declared.counted(self.aggregates(slot)) {
                let dimension = Arc::clone(self.property_text(dimension));
                effective.domains.entry(dimension).or_insert_with(|| Arc::clone(path));
            }
        }
        effective
    }

    /// A property of a provider: built-in, own, of the type, or inherited.
    pub fn property(&self, slot: Slot, name: &str) -> Option<PropertyValue> {
        match self.property_source(name) {
            PropertySource::Nowhere => None,
            PropertySource::Name => Some(PropertyValue::Text(self.name(slot).into())),
            PropertySource::Uuid => Some(PropertyValue::Text(self.uuid(slot).into())),
            PropertySource::Described(id) => {
                let mut lineage = self.lineage(slot);
                lineage.find_map(|slot| self.stated_property(slot, id))?.cloned()
            }
        }
    }

    /// The statement of a provider about a property, or else of the provider's own type: `Some(None)` hides the
    /// property.
    fn stated_property(&self, slot: Slot, name: NameId) -> Option<Option<&PropertyValue>> {
        let own = self.own_of(slot)?;
        let of_type = || {
            let kind = own.property(slot.lane(), self.property_name(PROVIDER_TYPE)?)?;
            let Some(PropertyValue::Text(kind)) = kind else {
                return None;
            };
            let mut properties = self.declared.of_type(kind).iter();
            let (_, value) = properties.find(|(known, _)| *known == name)?;
            Some(value.as_ref())
        };
        own.property(slot.lane(), name).or_else(of_type)
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

    /// The path of a provider in a dimension: of the descriptions of the provider and of the ancestors, or else of
    /// the aggregates.
    pub fn domain(&self, slot: Slot, dimension: &str) -> Option<&Arc<str>> {
        let id = self.property_name(dimension)?;
        let described = self
            .lineage(slot)
            .find_map(|slot| self.own_of(slot)?.path(slot.lane(), id));
        described.or_else(|| {
            let mut lineage = self.lineage(slot);
            lineage.find_map(|slot| {
                let mut counted = self.declared.counted(self.aggregates(slot)).into_iter();
                counted.find_map(|(known, path)| (known == id).then_some(path))
            })
        })
    }

    /// The domains of a dimension whose aggregates have the provider as a member, each with the aggregate.
    pub fn domains_of_aggregates(&self, slot: Slot, dimension: &str) -> Vec<(AggregateId, &Arc<str>)> {
        let id = self.property_name(dimension);
        let paths = self.declared.paths(self.aggregates(slot));
        let paths = paths.filter(|(_, known, _)| Some(*known) == id);
        paths.map(|(aggregate, _, path)| (aggregate, path)).collect()
    }

    /// The path of a provider's own description in a dimension.
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

    /// Whether the description of any provider, or any type, gives a value to a property of this name.
    pub fn is_described_by(&self, name: &str) -> bool {
        let has = |block: usize, id: NameId| {
            let described = self.blocks.get(block).described.as_ref();
            described.is_some_and(|described| described.own.values(id).next().is_some())
        };
        let of_blocks = |id| (0..self.blocks.len()).any(|block| has(block, id));
        let id = self.property_name(name);
        id.is_some_and(|id| self.declared.have_value(id) || of_blocks(id))
    }

    /// The number of the name of a property or dimension; `None` if no description and no declaration has the name.
    pub(in crate::search) fn property_name(&self, name: &str) -> Option<NameId> {
        self.described.names.id(name)
    }

    /// The name with this number.
    pub(in crate::search) fn property_text(&self, id: NameId) -> &Arc<str> {
        self.described.names.text(id)
    }

    /// The descriptions of the roots of a block, with the values of types and aggregates. The lanes of children
    /// have own values alone.
    pub(in crate::search) fn described_roots(&self, block: usize) -> &DescribedLanes {
        let described = self.blocks.get(block).described.as_ref();
        described.map_or(&UNDESCRIBED, |described| self.lanes_of_roots(block, described))
    }

    /// The descriptions of the providers of a block with inherited values.
    pub(in crate::search) fn inheriting_lanes(&self, block: usize) -> &DescribedLanes {
        let Some(described) = &self.blocks.get(block).described else {
            return &UNDESCRIBED;
        };
        described.inherited.get_or_init(|| self.inherited(block, described))
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

    fn lanes_of_roots<'s>(&'s self, block: usize, described: &'s BlockDescriptions) -> &'s Arc<DescribedLanes> {
        if self.declared.are_empty() {
            return &described.own;
        }
        described
            .of_roots
            .get_or_init(|| self.declared_lanes(block, &described.own))
    }

    /// `own`, with the values of types and aggregates where a root states nothing.
    fn declared_lanes(&self, block: usize, own: &Arc<DescribedLanes>) -> Arc<DescribedLanes> {
        let (data, declared) = (self.blocks.get(block), &self.declared);
        let aggregates = data.profile.aggregates.iter();
        let of_domains = aggregates.filter(|(aggregate, _)| declared.is_domain(*aggregate));
        let members = of_domains.fold(0, |all, (_, lanes)| all | lanes) & data.roots;
        let mut lanes = DescribedLanes::clone(own);
        let kinds = self
            .property_name(PROVIDER_TYPE)
            .into_iter()
            .flat_map(|id| own.values(id));
        for (kind, typed) in kinds {
            let PropertyValue::Text(kind) = kind else { continue };
            for (name, value) in declared.of_type(kind) {
                lanes.add_property(*name, value, typed & data.roots);
            }
        }
        for lane in lanes_of(members) {
            for (dimension, path) in declared.counted(data.profile.aggregates.of(lane).copied()) {
                lanes.add_path(lane, dimension, path);
            }
        }
        Arc::new(lanes)
    }

    fn inherited(&self, block: usize, described: &BlockDescriptions) -> Arc<DescribedLanes> {
        let data = self.blocks.get(block);
        let of_roots = self.lanes_of_roots(block, described);
        let children = data.present & !data.roots;
        if children == 0 {
            return Arc::clone(of_roots);
        }
        let mut inherited = DescribedLanes::clone(of_roots);
        // The names are known, because every name is from a description or a declaration.
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
