//! A block: 64 providers in columns, in three parts that are copied apart.

use std::sync::{Arc, OnceLock};

use super::change::ProviderRow;
use super::derived_cache::BlockCache;
use super::described_lanes::BlockDescriptions;
use super::free_capacity::FreeCapacity;
use super::identity_columns::IdentityColumns;
use super::ids::ClassId;
use super::layout::Layout;
use super::profile_columns::{Column, ProfileColumns};
use super::usage_columns::UsageColumns;

/// After this many changes of usage the derived data of a block is dropped, because much of it may be stale.
const MAX_USAGE_CHANGES: u8 = 32;

/// Pointers to the parts of a block; a copy shares all parts.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Block {
    /// The lanes with a provider.
    pub present: u64,
    /// The lanes whose provider has no parent.
    pub roots: u64,
    pub identity: Arc<IdentityColumns>,
    pub profile: Arc<ProfileColumns>,
    pub usage: Arc<UsageColumns>,
    /// `None` if no provider of the block, nor any ancestor of its providers, ever had a description.
    pub described: Option<Arc<BlockDescriptions>>,
    /// Computed when a search first needs it, dropped when a tree with its root in the block changes.
    pub layout: Arc<OnceLock<Layout>>,
    /// Computed when a search first needs it, dropped when profile or usage changes.
    free_capacity: Arc<OnceLock<FreeCapacity>>,
    /// Computed by readers from usage and from `derived`, dropped when either changes.
    pub stale_lanes: Arc<OnceLock<u64>>,
    /// How often usage changed since `derived` was dropped.
    usage_changes: u8,
    /// Computed by readers from identity and profile, dropped when identity or profile changes.
    pub derived: Arc<BlockCache>,
}

impl Block {
    /// Replaces the identity of a lane.
    pub fn set_identity(&mut self, lane: usize, row: &ProviderRow) {
        let bit = 1u64 << lane;
        self.present |= bit;
        self.roots = self.roots & !bit | u64::from(row.parent.is_none()) << lane;
        Arc::make_mut(&mut self.identity).set(lane, row);
        self.layout = Arc::default();
        self.drop_derived();
    }

    /// The usage columns, to be changed.
    pub fn usage_mut(&mut self) -> &mut UsageColumns {
        self.free_capacity = Arc::default();
        self.stale_lanes = Arc::default();
        self.usage_changes += 1;
        if self.usage_changes == MAX_USAGE_CHANGES {
            self.drop_derived();
        }
        Arc::make_mut(&mut self.usage)
    }

    pub fn free_capacity(&self) -> &FreeCapacity {
        self.free_capacity
            .get_or_init(|| FreeCapacity::of(&self.profile, &self.usage))
    }

    /// Invalidates the data that readers derived from this block. Must be called when the source of the data changes.
    pub fn drop_derived(&mut self) {
        self.derived = Arc::default();
        self.stale_lanes = Arc::default();
        self.usage_changes = 0;
    }

    /// Replaces the profile and the usage of a lane. An unchanged profile, as most reloaded rows have, stays shared.
    /// Returns whether the profile changed.
    pub fn set_profile_and_usage(&mut self, lane: usize, row: &ProviderRow) -> bool {
        let has_changed = !self.profile.has_profile_of(lane, row);
        if has_changed {
            Arc::make_mut(&mut self.profile).set(lane, row);
            self.drop_derived();
        }
        self.usage_mut().set(lane, row);
        has_changed
    }

    /// Edits the limits and the units of inventories, by class. All other terms of the inventories stay.
    pub fn edit_columns(&mut self, edit: impl FnMut(ClassId, &mut Column)) {
        Arc::make_mut(&mut self.profile).edit_columns(edit);
        self.free_capacity = Arc::default();
    }

    /// Makes a lane vacant. Caches are replaced, not cleared: readers of the previous version still use the old caches.
    pub fn clear(&mut self, lane: usize) {
        self.present &= !(1 << lane);
        self.roots &= !(1 << lane);
        self.layout = Arc::default();
        self.drop_derived();
        Arc::make_mut(&mut self.identity).clear(lane);
        Arc::make_mut(&mut self.profile).clear(lane);
        self.usage_mut().clear(lane);
    }

    /// Returns memory that the parts reserved while they grew: a copy has no spare capacity. Meant for parts that no
    /// version shares yet.
    pub fn shrink(&mut self) {
        self.identity = Arc::new(IdentityColumns::clone(&self.identity));
        self.profile = Arc::new(ProfileColumns::clone(&self.profile));
        self.usage = Arc::new(UsageColumns::clone(&self.usage));
    }
}
