//! A version of the snapshot, and how it is read.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::block::Block;
use super::catalog::Catalog;
use super::change::ProviderRow;
use super::ids::{AggregateId, ClassId, LANES, ProviderId, Slot, TraitId, lanes_of};
use super::index::{IdIndex, TextIndex};
use super::inventory::{Inventory, Units};
use super::layout::Layout;
use super::pages::Pages;
use super::room::Most;

/// Everything of every provider at one moment of this process. Immutable: readers share it, and
/// [`Snapshot::apply`] makes the next one, which shares all that did not change. A clone is as cheap.
///
/// A [`Slot`] that is handed to it must have come from the same version.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) catalog: Catalog,
    pub(super) blocks: Pages<Block, Outline>,
    pub(super) by_uuid: TextIndex,
    pub(super) by_name: TextIndex,
    pub(super) by_id: IdIndex,
    /// Slots whose provider was removed.
    pub(super) vacant: Arc<Vec<Slot>>,
    /// Slots that were ever taken.
    pub(super) taken: usize,
    /// How many providers have a parent: none, and nobody asks about trees.
    pub(super) children: usize,
    /// `MISC_SHARES_VIA_AGGREGATE`, and who has it.
    pub(super) sharing_trait: Option<TraitId>,
    pub(super) sharing: Arc<BTreeSet<Slot>>,
    /// How many versions came before this one.
    pub(super) number: u64,
}

/// What a search need not look into the blocks of a region for.
#[derive(Clone, Debug)]
pub(in crate::search) struct Outline {
    most: Most,
    spilling: bool,
}

impl Snapshot {
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// How many providers there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest index that a slot can have; some below it may be vacant.
    pub fn slots(&self) -> usize {
        self.taken
    }

    /// All providers by id.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        self.by_id.slots()
    }

    /// `uuid` in the one spelling of the tables.
    pub fn by_uuid(&self, uuid: &str) -> Option<Slot> {
        self.by_uuid.get(uuid, |slot| self.uuid(slot) == uuid)
    }

    pub fn by_name(&self, name: &str) -> Option<Slot> {
        self.by_name.get(name, |slot| self.name(slot) == name)
    }

    pub fn by_id(&self, id: ProviderId) -> Option<Slot> {
        self.by_id.get(id)
    }

    /// A whole copy of one provider, for `model` to edit.
    pub fn row(&self, slot: Slot) -> ProviderRow {
        ProviderRow {
            traits: self.traits(slot).collect(),
            aggregates: self.aggregates(slot).collect(),
            ..self.row_of_amounts(slot)
        }
    }

    /// A provider's row without its traits and aggregates, of which there are many: all that claims and inventories are
    /// decided on.
    pub fn row_of_amounts(&self, slot: Slot) -> ProviderRow {
        let identity = &self.block(slot).identity;
        ProviderRow {
            id: self.id(slot),
            uuid: self.uuid(slot).into(),
            name: self.name(slot).into(),
            generation: self.generation(slot),
            parent: identity.parents[slot.lane()],
            root: identity.trees[slot.lane()],
            modified: self.modified(slot),
            inventories: self
                .inventories(slot)
                .map(|(class, inventory, _)| (class, inventory))
                .collect(),
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
        self.block(slot).hot.generations[slot.lane()]
    }

    /// As [`ProviderRow::modified`].
    pub fn modified(&self, slot: Slot) -> i64 {
        self.block(slot).hot.modified[slot.lane()]
    }

    pub fn parent(&self, slot: Slot) -> Option<Slot> {
        self.by_id(self.block(slot).identity.parents[slot.lane()]?)
    }

    /// The provider at the top of the tree; itself for one without a parent.
    pub fn root(&self, slot: Slot) -> Slot {
        let block = self.block(slot);
        if block.roots & slot.bit() != 0 {
            return slot;
        }
        self.by_id(block.identity.trees[slot.lane()]).unwrap_or(slot)
    }

    /// Direct children, by id.
    pub fn children(&self, slot: Slot) -> &[Slot] {
        self.block(slot).identity.children.of(slot.lane())
    }

    /// A provider and everything below it, parents before children.
    pub fn tree(&self, top: Slot) -> Vec<Slot> {
        let mut found = Vec::new();
        let mut left = vec![top];
        while let Some(slot) = left.pop() {
            found.push(slot);
            left.extend(self.children(slot).iter().rev());
        }
        found
    }

    /// In the order of ids.
    pub fn traits(&self, slot: Slot) -> impl Iterator<Item = TraitId> {
        self.block(slot).fixed.traits.of(slot.lane())
    }

    pub fn has_trait(&self, slot: Slot, wanted: TraitId) -> bool {
        self.block(slot).fixed.traits.get(wanted) & slot.bit() != 0
    }

    /// Is the provider itself in the aggregate?
    pub fn is_member(&self, slot: Slot, aggregate: AggregateId) -> bool {
        self.block(slot).fixed.aggregates.get(aggregate) & slot.bit() != 0
    }

    /// In the order of ids.
    pub fn aggregates(&self, slot: Slot) -> impl Iterator<Item = AggregateId> {
        self.block(slot).fixed.aggregates.of(slot.lane())
    }

    /// Each class with an inventory, in the order of ids, with the sum of what is used of it.
    pub fn inventories(&self, slot: Slot) -> impl Iterator<Item = (ClassId, Inventory, i64)> {
        let block = self.block(slot);
        let used = move |class| block.hot.used(class)[slot.lane()];
        block
            .fixed
            .inventories(slot.lane())
            .map(move |(class, inventory)| (class, inventory, used(class)))
    }

    pub fn inventory(&self, slot: Slot, class: ClassId) -> Option<Inventory> {
        self.block(slot).fixed.column(class)?.inventory(slot.lane())
    }

    /// The sum of what is used of a class, with or without an inventory of it.
    pub fn used(&self, slot: Slot, class: ClassId) -> i64 {
        self.block(slot).hot.used(class)[slot.lane()]
    }

    /// The same for all classes of one provider.
    pub fn usage(&self, slot: Slot) -> impl Fn(ClassId) -> i64 {
        let hot = &self.block(slot).hot;
        move |class| hot.used(class)[slot.lane()]
    }

    /// Every sum that is not zero, in the order of classes; classes without an inventory too.
    pub fn sums(&self, slot: Slot) -> impl Iterator<Item = (ClassId, i64)> {
        self.block(slot).hot.sums(slot.lane())
    }

    /// A provider and those that stand beside it, in the order of their lanes.
    pub fn beside(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        lanes_of(self.block(slot).present).map(move |lane| Slot::new(slot.block(), lane))
    }

    /// What a reader makes of the providers beside `slot`, all at once. It is kept until one of them comes, goes, gets another
    /// uuid, name, parent, inventory, trait or aggregate, or any name of the catalog changes; so it may be made of these, and
    /// not of generations or other providers, nor of usage but for what [`Snapshot::noted`] tells to be untrue. It is made
    /// anew after some claims too. All readers make the same kind of thing.
    pub fn kept<T: Any + Send + Sync>(&self, slot: Slot, make: impl FnOnce() -> T) -> &T {
        self.block(slot).kept.get(self.number, make)
    }

    /// What a reader notes of the providers beside `slot`, a bit for each at its lane. It is kept until usage of one of them
    /// changes or what is [`Snapshot::kept`] is forgotten; so it may be made of both.
    pub fn noted(&self, slot: Slot, make: impl FnOnce() -> u64) -> u64 {
        self.block(slot).noted(make)
    }

    fn block(&self, slot: Slot) -> &Block {
        self.blocks.get(slot.block())
    }

    pub(in crate::search) fn blocks(&self) -> &Pages<Block, Outline> {
        &self.blocks
    }

    /// Which region a block is in: many that stand side by side, of which some is known without a look into each.
    pub(in crate::search) fn region(block: usize) -> usize {
        Pages::<Block, Outline>::node(block)
    }

    /// False where nobody in the region of a block has so much left.
    pub(in crate::search) fn may_hold(&self, block: usize, amounts: &[(ClassId, i64)]) -> bool {
        let most = &self.outline(block).most;
        amounts.iter().all(|&(class, amount)| most.may_hold(class, amount))
    }

    /// False where no tree that has its root in the region of a block has providers in other blocks.
    pub(in crate::search) fn may_spill(&self, block: usize) -> bool {
        self.outline(block).spilling
    }

    fn outline(&self, block: usize) -> &Outline {
        self.blocks.digest(block, |blocks| Outline {
            most: Most::of(blocks.clone().map(|block| self.blocks.get(block).room())),
            // Where nobody has a parent nobody need know how trees lie.
            spilling: self.children > 0 && blocks.into_iter().any(|block| self.layout(block).spilling != 0),
        })
    }

    /// How the trees of a block lie in it.
    pub(in crate::search) fn layout(&self, block: usize) -> &Layout {
        self.blocks.get(block).layout.get_or_init(|| Layout::of(self, block))
    }

    /// What is left of a class: the highest amount that capacity and `max_unit` grant now, and the class's units. None
    /// without an inventory.
    pub(in crate::search) fn room(&self, slot: Slot, class: ClassId) -> Option<(i64, Units)> {
        let block = self.block(slot);
        let column = block.fixed.column(class)?;
        let units = column.units.of(slot.lane()).next()?;
        let free = column.limits[slot.lane()].saturating_sub(block.hot.used(class)[slot.lane()]);
        Some((free.min(i64::from(units.max_unit)), units))
    }

    /// How many trees there are.
    pub(in crate::search) fn roots(&self) -> usize {
        self.len() - self.children
    }

    /// Is any provider a child?
    pub(in crate::search) fn has_trees(&self) -> bool {
        self.children > 0
    }

    /// The providers with `MISC_SHARES_VIA_AGGREGATE`.
    pub(in crate::search) fn sharing(&self) -> impl Iterator<Item = Slot> {
        self.sharing.iter().copied()
    }

    /// The slot of the next new provider that finds no vacancy.
    pub(super) fn next_slot(&self) -> Slot {
        Slot::new(self.taken / LANES, self.taken % LANES)
    }
}
