//! Builds a version of the snapshot: from whole tables, or from the previous version.

use std::sync::Arc;

use super::block::Block;
use super::catalog::Catalog;
use super::change::{Delta, ProviderRow, SnapshotChange};
use super::descriptions::Description;
use super::ids::{LANES, ProviderId, Slot};
use super::index::TextIndex;
use super::version::Snapshot;

/// The standard trait of a sharing provider, whose inventories serve all trees with a common aggregate.
pub const SHARING_TRAIT: &str = "MISC_SHARES_VIA_AGGREGATE";

/// Derived data of a block is dropped if no reader used the data in this many versions. They are a minute of claims at
/// full speed, or hours of an idle cloud, which has little derived data anyway.
pub(in crate::search) const IDLE_VERSIONS: u64 = 1 << 16;
/// The number of versions between two sweeps for idle derived data.
const SWEEP_INTERVAL: u64 = 1 << 10;

/// A tree of at most this many providers is placed in one block when the first version is built. At most a quarter of a
/// block may stay empty at the end.
const MAX_PADDED_TREE: usize = LANES / 4;

impl Snapshot {
    /// The first version, from whole tables. Providers are sorted tree by tree, roots by id, so a tree is in few
    /// blocks.
    pub fn build(catalog: Catalog, providers: Vec<ProviderRow>) -> Snapshot {
        Snapshot::lay_out(catalog, [false; 2], Snapshot::sorted_by_tree(providers))
    }

    pub(in crate::search) fn sorted_by_tree(mut providers: Vec<ProviderRow>) -> Vec<ProviderRow> {
        providers.sort_by_key(|row| (row.root, row.parent.is_some(), row.id));
        providers
    }

    /// As [`Snapshot::build`], from sorted providers: the providers of a tree must come one after the other.
    /// `ignores_case`: whether the database ignores the case of letters in uuids, and in names.
    pub fn lay_out(
        catalog: Catalog,
        ignores_case: [bool; 2],
        providers: impl IntoIterator<Item = ProviderRow>,
    ) -> Snapshot {
        Snapshot::lay_out_with(ignores_case.map(TextIndex::new), catalog, providers)
    }

    /// As [`Snapshot::lay_out`], with indexes of uuids and names that tests choose.
    pub(in crate::search) fn lay_out_with(
        [by_uuid, by_name]: [TextIndex; 2],
        catalog: Catalog,
        providers: impl IntoIterator<Item = ProviderRow>,
    ) -> Snapshot {
        let mut snapshot = Snapshot {
            sharing_trait: catalog.trait_id(SHARING_TRAIT),
            catalog,
            by_uuid,
            by_name,
            ..Snapshot::default()
        };
        snapshot.declare();
        let (mut gaps, mut shrunk) = (Vec::new(), 0);
        let mut rows = providers.into_iter().peekable();
        while let Some(first) = rows.next() {
            // Rows are freed tree by tree, and the columns reuse their memory.
            let root = first.root;
            let mut tree = vec![first];
            tree.extend(std::iter::from_fn(|| rows.next_if(|row| row.root == root)));
            gaps.extend(snapshot.skip_to_next_block(tree.len()));
            snapshot.reload(&tree);
            let full = snapshot.slot_count / LANES;
            (shrunk..full).for_each(|block| snapshot.blocks.get_mut(block).shrink());
            shrunk = full;
        }
        snapshot.by_uuid.shrink();
        snapshot.by_name.shrink();
        snapshot.free_slots = Arc::new(gaps);
        snapshot
    }

    /// Leaves the rest of the last block empty if a small tree of this many providers does not fit. Returns empty
    /// slots.
    fn skip_to_next_block(&mut self, providers: usize) -> Vec<Slot> {
        let free_lanes = (LANES - self.slot_count % LANES) % LANES;
        if free_lanes >= providers || providers > MAX_PADDED_TREE {
            return Vec::new();
        }
        let gap = (0..free_lanes).map(|lane| Slot::new(self.slot_count / LANES, self.slot_count % LANES + lane));
        let gap = gap.collect();
        self.slot_count += free_lanes;
        gap
    }

    /// A new version, which shares with this version all parts that `change` does not touch.
    pub fn apply(&self, change: &SnapshotChange) -> Snapshot {
        let mut next = self.clone();
        next.version += 1;
        if let Some(catalog) = &change.catalog {
            next.catalog = catalog.clone();
            next.drop_derived_from_all();
            next.find_sharing();
            next.drop_derived(|_| true);
            next.declare();
        } else if next.version.is_multiple_of(SWEEP_INTERVAL) {
            let since = next.version.saturating_sub(IDLE_VERSIONS);
            next.drop_derived(|block| block.derived.is_idle(since));
        }
        change.removed.iter().for_each(|&id| next.remove(id));
        change.deltas.iter().for_each(|delta| next.apply_delta(delta));
        next.reload(&change.reloaded);
        for (id, description) in &change.descriptions {
            next.describe(*id, description);
        }
        next
    }

    fn drop_derived(&mut self, predicate: impl Fn(&Block) -> bool) {
        for at in 0..self.blocks.len() {
            if predicate(self.blocks.get(at)) {
                self.blocks.get_mut(at).drop_derived();
            }
        }
    }

    /// Finds the sharing providers again if the trait's id changed, as after a reload from a different database. If
    /// names were only added, the id is the same.
    fn find_sharing(&mut self) {
        let trait_id = self.catalog.trait_id(SHARING_TRAIT);
        if trait_id != self.sharing_trait {
            self.sharing_trait = trait_id;
            let has_trait = |slot: &Slot| trait_id.is_some_and(|id| self.has_trait(*slot, id));
            self.sharing = Arc::new(self.iter().filter(has_trait).collect());
        }
    }

    fn remove(&mut self, id: ProviderId) {
        let Some(slot) = self.by_id(id) else { return };
        self.drop_derived_from_all();
        self.set_description(slot, &Description::default());
        self.drop_inherited(slot);
        self.unlink_from_parent(slot);
        self.remove_names(slot);
        self.by_id.remove(id);
        self.blocks.get_mut(slot.block()).clear(slot.lane());
        if self.sharing.contains(&slot) {
            Arc::make_mut(&mut self.sharing).remove(&slot);
        }
        Arc::make_mut(&mut self.free_slots).push(slot);
    }

    fn apply_delta(&mut self, delta: &Delta) {
        let Some(slot) = self.by_id(delta.provider) else { return };
        let lane = slot.lane();
        let usage = self.blocks.get_mut(slot.block()).usage_mut();
        usage.generations[lane] += i64::from(delta.moves);
        if let Some(modified) = delta.modified {
            usage.modified[lane] = usage.modified[lane].max(modified);
        }
        for &(class, amount) in &delta.used {
            usage.add(lane, class, amount);
        }
    }

    /// Replaces or adds providers by rows. Parents are linked at the end, because a parent may come after its child.
    fn reload(&mut self, rows: &[ProviderRow]) {
        let mut moved = Vec::new();
        for row in rows {
            let known = self.by_id(row.id);
            let slot = known.unwrap_or_else(|| self.free_slot());
            let has_identity = known.is_some() && self.has_identity_of(slot, row);
            if !has_identity {
                self.set_identity(slot, row, known.is_some());
            }
            if !has_identity || self.has_other_domains(slot, row) {
                moved.push(slot);
            }
            let block = self.blocks.get_mut(slot.block());
            if block.set_profile_and_usage(slot.lane(), row) {
                self.drop_derived_from_all();
            }
            self.update_sharing(slot, row);
        }
        moved.iter().for_each(|&slot| self.link_to_parent(slot));
        moved.into_iter().for_each(|slot| self.drop_inherited(slot));
    }

    /// The slot of a removed provider, or a new slot.
    fn free_slot(&mut self) -> Slot {
        if !self.free_slots.is_empty()
            && let Some(slot) = Arc::make_mut(&mut self.free_slots).pop()
        {
            return slot;
        }
        let slot = Slot::new(self.slot_count / LANES, self.slot_count % LANES);
        if self.slot_count.is_multiple_of(LANES) {
            self.blocks.push(Block::default());
        }
        self.slot_count += 1;
        slot
    }

    /// Whether the provider has the uuid, name, parent and root of `row`. All fields are named, so no new field can be
    /// forgotten here.
    fn has_identity_of(&self, slot: Slot, row: &ProviderRow) -> bool {
        let ProviderRow {
            // The slot was found by the id.
            id: _,
            uuid,
            name,
            parent,
            root,
            // In the profile and usage columns.
            generation: _,
            modified: _,
            inventories: _,
            used: _,
            traits: _,
            aggregates: _,
        } = row;
        let (identity, lane) = (&self.block(slot).identity, slot.lane());
        identity.uuids.get(lane) == &**uuid
            && identity.names.get(lane) == &**name
            && identity.parents[lane] == *parent
            && identity.trees[lane] == *root
    }

    fn set_identity(&mut self, slot: Slot, row: &ProviderRow, is_known: bool) {
        self.drop_derived_from_all();
        if is_known {
            if self.uuid(slot) != &*row.uuid {
                // A new provider, to which SQLite gave the id of a removed provider.
                self.set_description(slot, &Description::default());
            }
            self.unlink_from_parent(slot);
            self.remove_names(slot);
        }
        self.by_uuid.insert(&row.uuid, slot);
        self.by_name.insert(&row.name, slot);
        self.by_id.insert(row.id, slot);
        self.child_count += usize::from(row.parent.is_some());
        self.blocks.get_mut(slot.block()).set_identity(slot.lane(), row);
    }

    fn remove_names(&mut self, slot: Slot) {
        let identity = &self.blocks.get(slot.block()).identity;
        self.by_uuid.remove(identity.uuids.get(slot.lane()), slot);
        self.by_name.remove(identity.names.get(slot.lane()), slot);
    }

    /// Whether the aggregates of `row` may put the provider into different domains.
    fn has_other_domains(&self, slot: Slot, row: &ProviderRow) -> bool {
        self.declared.have_domains() && !self.aggregates(slot).eq(row.aggregates.iter().copied())
    }

    fn update_sharing(&mut self, slot: Slot, row: &ProviderRow) {
        let shares = self.sharing_trait.is_some_and(|shares| row.traits.contains(&shares));
        if shares && !self.is_sharing(slot) {
            Arc::make_mut(&mut self.sharing).insert(slot);
        } else if !shares && self.is_sharing(slot) {
            Arc::make_mut(&mut self.sharing).remove(&slot);
        }
    }

    fn unlink_from_parent(&mut self, slot: Slot) {
        let has_parent = self.block(slot).identity.parents[slot.lane()].is_some();
        self.child_count -= usize::from(has_parent);
        self.drop_layout(slot);
        if let Some(parent) = self.parent(slot) {
            let identity = Arc::make_mut(&mut self.blocks.get_mut(parent.block()).identity);
            identity.children.remove(parent.lane(), slot);
        }
    }

    fn link_to_parent(&mut self, slot: Slot) {
        let Some(parent) = self.parent(slot) else { return };
        self.drop_layout(slot);
        if !self.children(parent).contains(&slot) {
            let id = self.id(slot);
            let at = self.children(parent).partition_point(|&child| self.id(child) < id);
            let identity = Arc::make_mut(&mut self.blocks.get_mut(parent.block()).identity);
            identity.children.insert(parent.lane(), at, slot);
        }
    }

    /// Drops the layout of the block with the root of the provider's tree.
    fn drop_layout(&mut self, slot: Slot) {
        let root = self.root(slot);
        self.blocks.get_mut(root.block()).layout = Arc::default();
    }
}
