//! One version of the snapshot, and its readers' functions.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::block::Block;
use super::catalog::Catalog;
use super::change::ProviderRow;
use super::declared_values::DeclaredValues;
use super::derived_cache::DerivedCache;
use super::description_names::DescriptionCounts;
use super::ids::{AggregateId, ClassId, ProviderId, Slot, TraitId, lanes_of};
use super::index::{IdIndex, TextIndex};
use super::inventory::Inventory;
use super::persistent_vec::{NODE_LEN, PersistentVec};
use super::zone_map::ZoneMap;

/// All data of all providers at one moment, as this process knows the data. Immutable: readers share a version, and
/// [`Snapshot::apply`] makes the next version, which shares all unchanged parts. A clone copies pointers.
///
/// A `Slot` is valid only for the version from which it came.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(super) catalog: Catalog,
    pub(in crate::search) blocks: PersistentVec<Block, ZoneMap>,
    pub(super) by_uuid: TextIndex,
    pub(super) by_name: TextIndex,
    pub(super) by_id: IdIndex,
    /// Slots without a provider: of removed providers, and gaps at the end of blocks.
    pub(super) free_slots: Arc<Vec<Slot>>,
    /// The number of existing slots, including vacant slots.
    pub(super) slot_count: usize,
    /// The number of providers with a parent. If there are none, trees need no check.
    pub(super) child_count: usize,
    /// `MISC_SHARES_VIA_AGGREGATE`, and the providers with this trait.
    pub(super) sharing_trait: Option<TraitId>,
    pub(super) sharing: Arc<BTreeSet<Slot>>,
    pub(super) described: DescriptionCounts,
    /// From the catalog.
    pub(super) declared: Arc<DeclaredValues>,
    /// Data that readers derived from all providers, shared with versions that differ in usage alone.
    pub(super) derived: Arc<DerivedCache>,
    /// The number of earlier versions.
    pub(super) version: u64,
}

impl Snapshot {
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The number of providers.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots, including vacant slots: one more than the highest index.
    pub fn slots(&self) -> usize {
        self.slot_count
    }

    /// All providers, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        self.by_id.slots()
    }

    /// The provider with this uuid, in any case if the database ignores the case of uuids.
    pub fn by_uuid(&self, uuid: &str) -> Option<Slot> {
        self.by_uuid.get(uuid, |slot| self.uuid(slot))
    }

    /// The provider with this name, in any case if the database ignores the case of names.
    pub fn by_name(&self, name: &str) -> Option<Slot> {
        self.by_name.get(name, |slot| self.name(slot))
    }

    pub fn by_id(&self, id: ProviderId) -> Option<Slot> {
        self.by_id.get(id)
    }

    /// A copy of all data of one provider, for `model` to edit.
    pub fn row(&self, slot: Slot) -> ProviderRow {
        ProviderRow {
            traits: self.traits(slot).collect(),
            aggregates: self.aggregates(slot).collect(),
            ..self.capacity_row(slot)
        }
    }

    /// A provider's row without its traits and aggregates, which may be many. Decisions on claims and inventories do
    /// not need traits and aggregates.
    pub fn capacity_row(&self, slot: Slot) -> ProviderRow {
        let identity = &self.block(slot).identity;
        ProviderRow {
            id: self.id(slot),
            uuid: self.uuid(slot).into(),
            name: self.name(slot).into(),
            generation: self.generation(slot),
            parent: identity.parents[slot.lane()],
            root: identity.trees[slot.lane()],
            modified: self.modified(slot),
            inventories: self.block(slot).profile.inventories(slot.lane()).collect(),
            used: self.sums(slot).collect(),
            traits: BTreeSet::new(),
            aggregates: BTreeSet::new(),
        }
    }

    pub fn id(&self, slot: Slot) -> ProviderId {
        self.block(slot).identity.ids[slot.lane()]
    }

    pub fn uuid(&self, slot: Slot) -> &str {
        self.block(slot).identity.uuids.get(slot.lane())
    }

    pub fn name(&self, slot: Slot) -> &str {
        self.block(slot).identity.names.get(slot.lane())
    }

    pub fn generation(&self, slot: Slot) -> i64 {
        self.block(slot).usage.generations[slot.lane()]
    }

    /// See [`ProviderRow::modified`].
    pub fn modified(&self, slot: Slot) -> i64 {
        self.block(slot).usage.modified[slot.lane()]
    }

    /// Ordered by id.
    pub fn traits(&self, slot: Slot) -> impl Iterator<Item = TraitId> {
        self.block(slot).profile.traits.of(slot.lane()).copied()
    }

    pub fn has_trait(&self, slot: Slot, wanted: TraitId) -> bool {
        self.block(slot).profile.traits.get(&wanted) & slot.bit() != 0
    }

    /// Whether any provider is in the aggregate.
    pub fn has_member(&self, aggregate: AggregateId) -> bool {
        let has_member = |block: usize| self.blocks.get(block).profile.aggregates.get(&aggregate) != 0;
        (0..self.blocks.len()).any(has_member)
    }

    /// Whether the provider itself is in the aggregate.
    pub fn is_member(&self, slot: Slot, aggregate: AggregateId) -> bool {
        self.block(slot).profile.aggregates.get(&aggregate) & slot.bit() != 0
    }

    /// Ordered by id.
    pub fn aggregates(&self, slot: Slot) -> impl Iterator<Item = AggregateId> {
        self.block(slot).profile.aggregates.of(slot.lane()).copied()
    }

    /// The classes with an inventory, ordered by id, each with its inventory and its sum of usage.
    pub fn inventories(&self, slot: Slot) -> impl Iterator<Item = (ClassId, Inventory, i64)> {
        let used = self.usage(slot);
        let inventories = self.block(slot).profile.inventories(slot.lane());
        inventories.map(move |(class, inventory)| (class, inventory, used(class)))
    }

    pub fn inventory(&self, slot: Slot, class: ClassId) -> Option<Inventory> {
        self.block(slot).profile.column(class)?.inventory(slot.lane())
    }

    /// The sum of usage of a class, with or without an inventory of the class.
    pub fn used(&self, slot: Slot, class: ClassId) -> i64 {
        self.block(slot).usage.used(class)[slot.lane()]
    }

    /// [`Snapshot::used`] of one provider, as a function of the class. The block is looked up once.
    pub fn usage(&self, slot: Slot) -> impl Fn(ClassId) -> i64 {
        let usage = &self.block(slot).usage;
        move |class| usage.used(class)[slot.lane()]
    }

    /// The sums of usage unequal to zero, ordered by class; classes without an inventory too.
    pub fn sums(&self, slot: Slot) -> impl Iterator<Item = (ClassId, i64)> {
        self.block(slot).usage.sums(slot.lane())
    }

    /// The providers in the block of `slot`, including `slot`, in the order of their lanes.
    pub fn same_block(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        lanes_of(self.block(slot).present).map(move |lane| Slot::new(slot.block(), lane))
    }

    /// Data that a reader derives from all providers in the block of `slot`, cached with the block.
    ///
    /// `derive` may use identities, inventories, traits and aggregates of these providers and all names of the catalog:
    /// the cache is dropped when any of these changes. `derive` must not use generations or other blocks. Usage may be
    /// used if the reader checks the data with [`Snapshot::stale_lanes`], because the cache is dropped only after
    /// several changes of usage. All readers must use the same type `T`.
    pub fn derived<T: Any + Send + Sync>(&self, slot: Slot, derive: impl FnOnce() -> T) -> &T {
        self.block(slot).derived.get(self.version, derive)
    }

    /// Data that a reader derives from all providers, cached until something but usage changes.
    ///
    /// `derive` may use identities, inventories without their limits, traits, aggregates, descriptions and names. The
    /// same holds for the returned data, if the data is filled later. All readers must use the same type `T`.
    pub fn derived_from_all<T: Any + Send + Sync>(&self, derive: impl FnOnce() -> T) -> &T {
        self.derived.get(derive)
    }

    /// Must be called when something but usage changes. Other versions keep a shared cache.
    pub(super) fn drop_derived_from_all(&mut self) {
        match Arc::get_mut(&mut self.derived) {
            Some(own) => *own = DerivedCache::default(),
            None => self.derived = Arc::default(),
        }
    }

    /// The providers in the block of `slot` for which the data of [`Snapshot::derived`] is outdated by usage, a bit for
    /// each lane. The result of `find` is cached until usage changes or the derived data is dropped.
    pub fn stale_lanes(&self, slot: Slot, find: impl FnOnce() -> u64) -> u64 {
        *self.block(slot).stale_lanes.get_or_init(find)
    }

    pub(super) fn block(&self, slot: Slot) -> &Block {
        self.blocks.get(slot.block())
    }

    /// [`Inventory::limit`] and the sum of usage of a class; a limit of zero without an inventory.
    pub(in crate::search) fn limit_and_used(&self, slot: Slot, class: ClassId) -> (i64, i64) {
        let block = self.block(slot);
        let column = block.profile.column(class);
        let limit = column.map_or(0, |column| column.limits[slot.lane()]);
        (limit, block.usage.used(class)[slot.lane()])
    }

    /// The providers with `MISC_SHARES_VIA_AGGREGATE`.
    pub fn sharing(&self) -> impl Iterator<Item = Slot> {
        self.sharing.iter().copied()
    }

    /// The sharing providers of a block.
    pub(in crate::search) fn sharing_of_block(&self, block: usize) -> impl Iterator<Item = Slot> {
        let first = Slot::new(block, 0);
        self.sharing
            .range(first..)
            .copied()
            .take_while(move |slot| slot.is_in_block_of(first))
    }

    /// Whether any provider shares its resources with other trees.
    pub fn has_sharing(&self) -> bool {
        !self.sharing.is_empty()
    }

    /// Whether a provider shares its resources with other trees.
    pub fn is_sharing(&self, slot: Slot) -> bool {
        self.sharing.contains(&slot)
    }

    /// The region of a block.
    pub(in crate::search) fn region(block: usize) -> usize {
        block / NODE_LEN
    }

    /// The summary of the region of a block.
    pub(in crate::search) fn zone_map(&self, block: usize) -> &ZoneMap {
        self.blocks.summary(block, |blocks| {
            // Without any child the layouts need not be computed.
            let spans_blocks = self.has_trees() && blocks.clone().any(|block| self.layout(block).spilling != 0);
            ZoneMap::new(blocks.map(|block| self.blocks.get(block).free_capacity()), spans_blocks)
        })
    }
}
