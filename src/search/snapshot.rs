//! The snapshot: one immutable version of all data that searches read.
//!
//! Naively, all providers would be in one structure behind a lock, and searches and commits would wait for each other.
//! Or each commit would copy 100,000 providers to change one sum. So the snapshot is a persistent data structure
//! (structural sharing, copy-on-write). A new version shares every unchanged part with the old version, and readers
//! keep the version with which they began.
//!
//! - Providers stand in blocks of 64. A block has three parts, copied apart by how often they change: identity (uuid,
//!   name, parent), profile (inventories, traits, aggregates) and usage (sums and generations, about 4 KB). A claim
//!   copies one usage part and the path to the part, however many providers there are.
//! - Inside a part the data is in columns. A trait or an aggregate of the block is one 64-bit mask, a bit for each
//!   provider. A resource class is an array of 64 limits beside an array of 64 sums. So a scan decides for 64
//!   providers.
//! - Data derived from a block or a region is computed when a search first needs the data, and kept until the source
//!   changes. Derived are `layout`, `free_capacity`, `zone_map`, and the caches of other layers (`derived_cache`).

mod amount_rules;
mod block;
mod block_slots;
mod build;
mod catalog;
mod change;
mod declarations;
mod declared_values;
mod derived_cache;
mod described;
mod described_lanes;
mod description_names;
mod descriptions;
mod free_capacity;
mod identity_columns;
mod ids;
mod index;
mod inventory;
mod lanes;
mod layout;
mod limits;
mod persistent_vec;
mod profile_columns;
mod provider_trees;
mod usage_columns;
mod version;
mod zone_map;

pub use amount_rules::AmountRule;
pub use block_slots::BlockSlots;
pub use build::SHARING_TRAIT;
pub use catalog::{Catalog, NameKinds};
pub use change::{Delta, ProviderRow, SnapshotChange};
pub use declarations::{Declarations, DomainKey, by_levels};
pub use descriptions::{
    BUILT_IN_PROPERTIES, Description, Properties, PropertyValue, ProviderState, domain_path, is_in_domain,
};
pub use ids::{AggregateId, ClassId, LANES, ProviderId, Slot, TraitId};
pub use inventory::Inventory;
pub use limits::NormalLimit;
pub use version::Snapshot;

pub(super) use amount_rules::{AmountRules, AmountRulesByClass};
pub(super) use block::Block;
#[cfg(test)]
pub(super) use build::IDLE_VERSIONS;
pub(super) use described::PropertySource;
pub(super) use described_lanes::DescribedLanes;
pub(super) use description_names::NameId;
pub(super) use free_capacity::ClassCapacity;
pub(super) use ids::{lanes_of, lanes_where};
#[cfg(test)]
pub(super) use index::TextIndex;
pub(super) use inventory::Units;
pub(super) use layout::{Layout, by_block};
pub(super) use profile_columns::ProfileColumns;
