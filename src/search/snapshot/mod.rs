//! One immutable version of everything that a search reads.
//!
//! Providers live in blocks of 64, and what is known of a block is three parts that are copied apart: who they are
//! (`Identity`), what they have (`Fixed`) and what claims change (`Hot`, about 4 KB). A new
//! version shares every part that did not change, so a claim copies one small part and the way to it, however many
//! providers there are. Inside a part the data is in columns: traits and aggregates are one 64-bit mask for each name
//! in use in the block, a bit a provider, and a resource class is an array of 64 limits beside an array of 64 sums.

mod block;
mod build;
mod bunch;
mod catalog;
mod change;
mod ends;
mod fixed;
mod hot;
mod identity;
mod ids;
mod index;
mod inventory;
mod kept;
mod lanes;
mod layout;
mod pages;
mod room;
mod version;

pub use bunch::Bunch;
pub use catalog::Catalog;
pub use change::{Change, Delta, ProviderRow};
pub use ids::{AggregateId, ClassId, LANES, ProviderId, Slot, TraitId};
pub use inventory::Inventory;
pub use version::Snapshot;

pub(super) use block::Block;
#[cfg(test)]
pub(super) use build::IDLE;
pub(super) use fixed::Fixed;
pub(super) use ids::lanes_of;
pub(super) use inventory::Units;
pub(super) use layout::by_block;
pub(super) use room::Stock;
