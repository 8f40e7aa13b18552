//! How a version is made: from whole tables, or from the version before it.

use std::sync::Arc;

use super::block::Block;
use super::catalog::Catalog;
use super::change::{Change, Delta, ProviderRow};
use super::ids::{LANES, ProviderId, Slot};
use super::index::{IdIndex, TextIndex};
use super::pages::Pages;
use super::version::Snapshot;

/// The standard trait by which a provider says that it shares what it has with its aggregates.
const SHARES: &str = "MISC_SHARES_VIA_AGGREGATE";

/// What readers made of a block is forgotten when nobody asked for it in so many versions: a minute of claims as fast as
/// they come, hours of a quiet cloud, which has little to keep. Looked for once in `SWEEP` versions.
pub(in crate::search) const IDLE: u64 = 1 << 16;
const SWEEP: u64 = 1 << 10;

/// Trees of up to so many providers are kept in one block each: at most a quarter of a block stays empty.
const MOST_IN_ONE_BLOCK: usize = LANES / 4;

impl Snapshot {
    /// The first version, from whole tables. Trees are laid out together, roots by id, so that a search sees a tree in one
    /// block, or in few.
    pub fn build(catalog: Catalog, mut providers: Vec<ProviderRow>) -> Snapshot {
        providers.sort_by_key(|row| (row.root, row.parent.is_some(), row.id));
        Snapshot::lay_out(catalog, providers)
    }

    /// The same, where providers come tree by tree: those of a tree must be together.
    pub fn lay_out(catalog: Catalog, providers: impl IntoIterator<Item = ProviderRow>) -> Snapshot {
        let mut snapshot = Snapshot {
            sharing_trait: catalog.trait_id(SHARES),
            catalog,
            blocks: Pages::default(),
            by_uuid: TextIndex::default(),
            by_name: TextIndex::default(),
            by_id: IdIndex::default(),
            vacant: Arc::default(),
            taken: 0,
            children: 0,
            sharing: Arc::default(),
            number: 0,
        };
        let (mut gaps, mut shrunk) = (Vec::new(), 0);
        let mut left = providers.into_iter().peekable();
        while let Some(first) = left.next() {
            // Columns get the memory of rows that are in them already, instead of some beside it.
            let root = first.root;
            let mut tree = vec![first];
            tree.extend(std::iter::from_fn(|| left.next_if(|row| row.root == root)));
            gaps.extend(snapshot.make_room(tree.len()));
            snapshot.reload(&tree);
            let full = snapshot.taken / LANES;
            (shrunk..full).for_each(|block| snapshot.blocks.get_mut(block).shrink());
            shrunk = full;
        }
        snapshot.by_uuid.shrink();
        snapshot.by_name.shrink();
        snapshot.vacant = Arc::new(gaps);
        snapshot
    }

    /// Leaves the rest of a block empty where a tree of that many providers would not fit in, if little is lost by it.
    fn make_room(&mut self, providers: usize) -> Vec<Slot> {
        let left = (LANES - self.taken % LANES) % LANES;
        if left >= providers || providers > MOST_IN_ONE_BLOCK {
            return Vec::new();
        }
        let gap = (0..left).map(|lane| Slot::new(self.taken / LANES, self.taken % LANES + lane));
        let gap = gap.collect();
        self.taken += left;
        gap
    }

    /// A new version that shares what `change` does not touch.
    pub fn apply(&self, change: &Change) -> Snapshot {
        let mut next = self.clone();
        next.number += 1;
        if let Some(catalog) = &change.catalog {
            next.catalog = catalog.clone();
            next.find_sharing();
            next.forget_kept(|_| true);
        } else if next.number.is_multiple_of(SWEEP) {
            let since = next.number.saturating_sub(IDLE);
            next.forget_kept(|block| block.kept.is_idle(since));
        }
        change.removed.iter().for_each(|&id| next.remove(id));
        change.deltas.iter().for_each(|delta| next.add(delta));
        next.reload(&change.reloaded);
        next
    }

    fn forget_kept(&mut self, which: impl Fn(&Block) -> bool) {
        for at in 0..self.blocks.len() {
            if which(self.blocks.get(at)) {
                self.blocks.get_mut(at).forget_kept();
            }
        }
    }

    /// Another database may number the trait otherwise; a catalog that merely grew does not.
    fn find_sharing(&mut self) {
        let wanted = self.catalog.trait_id(SHARES);
        if wanted != self.sharing_trait {
            self.sharing_trait = wanted;
            let found = self
                .iter()
                .filter(|&slot| wanted.is_some_and(|wanted| self.has_trait(slot, wanted)));
            self.sharing = Arc::new(found.collect());
        }
    }

    fn remove(&mut self, id: ProviderId) {
        let Some(slot) = self.by_id(id) else { return };
        self.leave_parent(slot);
        self.forget_names(slot);
        self.by_id.remove(id);
        self.blocks.get_mut(slot.block()).clear(slot.lane());
        if self.sharing.contains(&slot) {
            Arc::make_mut(&mut self.sharing).remove(&slot);
        }
        Arc::make_mut(&mut self.vacant).push(slot);
    }

    fn add(&mut self, delta: &Delta) {
        let Some(slot) = self.by_id(delta.provider) else { return };
        let lane = slot.lane();
        let hot = self.blocks.get_mut(slot.block()).heat();
        hot.generations[lane] += i64::from(delta.moves);
        if let Some(modified) = delta.modified {
            hot.modified[lane] = hot.modified[lane].max(modified);
        }
        delta
            .used
            .iter()
            .for_each(|&(class, amount)| hot.add(lane, class, amount));
    }

    /// Places every row before it ties any to its parent: a parent may come after its child.
    fn reload(&mut self, rows: &[ProviderRow]) {
        let mut moved = Vec::new();
        for row in rows {
            let known = self.by_id(row.id);
            let slot = known.unwrap_or_else(|| self.vacancy());
            if known.is_none() || !self.is_who(slot, row) {
                self.identify(slot, row, known.is_some());
                moved.push(slot);
            }
            self.blocks.get_mut(slot.block()).fill(slot.lane(), row);
            self.note_sharing(slot, row);
        }
        moved.into_iter().for_each(|slot| self.join_parent(slot));
    }

    fn vacancy(&mut self) -> Slot {
        if !self.vacant.is_empty() {
            return Arc::make_mut(&mut self.vacant).pop().expect("seen not to be empty");
        }
        let slot = self.next_slot();
        if self.taken.is_multiple_of(LANES) {
            self.blocks.push(Block::empty());
        }
        self.taken += 1;
        slot
    }

    /// Does `row` leave the provider's names and its place in the tree as they are?
    fn is_who(&self, slot: Slot, row: &ProviderRow) -> bool {
        let (identity, lane) = (&self.blocks.get(slot.block()).identity, slot.lane());
        identity.uuids.get(lane) == &*row.uuid
            && identity.names.get(lane) == &*row.name
            && identity.parents[lane] == row.parent
            && identity.trees[lane] == row.root
    }

    fn identify(&mut self, slot: Slot, row: &ProviderRow, known: bool) {
        if known {
            self.leave_parent(slot);
            self.forget_names(slot);
        }
        self.by_uuid.insert(&row.uuid, slot);
        self.by_name.insert(&row.name, slot);
        self.by_id.insert(row.id, slot);
        self.children += usize::from(row.parent.is_some());
        self.blocks.get_mut(slot.block()).identify(slot.lane(), row);
    }

    fn forget_names(&mut self, slot: Slot) {
        let identity = &self.blocks.get(slot.block()).identity;
        self.by_uuid.remove(identity.uuids.get(slot.lane()), slot);
        self.by_name.remove(identity.names.get(slot.lane()), slot);
    }

    fn note_sharing(&mut self, slot: Slot, row: &ProviderRow) {
        let shares = self.sharing_trait.is_some_and(|shares| row.traits.contains(&shares));
        if shares && !self.sharing.contains(&slot) {
            Arc::make_mut(&mut self.sharing).insert(slot);
        } else if !shares && self.sharing.contains(&slot) {
            Arc::make_mut(&mut self.sharing).remove(&slot);
        }
    }

    fn leave_parent(&mut self, slot: Slot) {
        let parent = self.blocks.get(slot.block()).identity.parents[slot.lane()];
        self.children -= usize::from(parent.is_some());
        self.forget_layout(slot);
        if let Some(parent) = parent.and_then(|parent| self.by_id(parent)) {
            let identity = Arc::make_mut(&mut self.blocks.get_mut(parent.block()).identity);
            identity.children.remove(parent.lane(), slot);
        }
    }

    fn join_parent(&mut self, slot: Slot) {
        let parent = self.blocks.get(slot.block()).identity.parents[slot.lane()];
        let Some(parent) = parent.and_then(|parent| self.by_id(parent)) else {
            return;
        };
        self.forget_layout(slot);
        if !self.children(parent).contains(&slot) {
            let id = self.id(slot);
            let at = self.children(parent).partition_point(|&child| self.id(child) < id);
            let identity = Arc::make_mut(&mut self.blocks.get_mut(parent.block()).identity);
            identity.children.insert(parent.lane(), at, slot);
        }
    }

    /// Of the block that has the root of the provider's tree.
    fn forget_layout(&mut self, slot: Slot) {
        let root = self.root(slot);
        self.blocks.get_mut(root.block()).forget_layout();
    }
}
