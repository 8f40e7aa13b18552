//! Every provider of the deployment in memory, and the questions that are asked of it.
//!
//! This room is pure: it knows no SQL, no HTTP, no clock, no JSON and no microversion, and rolls no dice
//! (a seed comes in). `model` keeps a [`Snapshot`] fresh; `wire` reads a [`Request`] or a [`ProviderQuery`] in its newest
//! form; [`candidates()`] and [`providers()`] answer.
//!
//! - `snapshot/`: the columns, in blocks of 64 providers, and how a new version is made of an old one;
//! - `request`: what is asked, in names; `plan`: the same in ids, with what is unknown refused;
//! - `scan`: one block against one plan, a bit for each provider that fits;
//! - `order`: which block comes when; `regions`: which need not come;
//! - `filter` and `candidates`: the two answers; `alone`: candidates of one provider; `selection`: what of all of them
//!   an answer holds; `servers`: who serves a group; `interrupt`: what ends a search from outside;
//! - `trees/`: candidates that several providers serve together;
//! - `naive`: the slow oracle that tests compare all of it with.

mod alone;
mod candidates;
mod filter;
mod interrupt;
mod observer;
mod order;
mod plan;
mod regions;
mod request;
mod scan;
mod selection;
mod servers;
pub mod snapshot;
mod trees;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use candidates::{Candidate, Candidates, Placement, Settings, Strategy, candidates};
pub use filter::providers;
pub use interrupt::Interrupt;
pub use observer::{Observer, Reason};
pub use request::{Group, GroupPolicy, Members, ProviderQuery, Request, Traits};
pub use selection::Selection;
pub use servers::Servers;
pub use snapshot::{
    AggregateId, Bunch, Catalog, Change, ClassId, Delta, Inventory, LANES, ProviderId, ProviderRow, Slot, Snapshot,
    TraitId,
};
