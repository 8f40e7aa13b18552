//! The changes of a commit, as the snapshots of this process and of the peers apply the commit.

use std::collections::{BTreeMap, BTreeSet};

use crate::db::change_feed::Revisions;
use crate::search::{ClassId, Delta, Inventory, NameKinds, ProviderId};

/// The changes of a committed batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Committed {
    /// Providers of which only usage and generation changed.
    pub deltas: Vec<Delta>,
    /// Providers to be read again by peers: new providers, and providers of which more changed.
    pub reload: BTreeSet<ProviderId>,
    pub removed: Vec<ProviderId>,
    /// The kinds of names of which some were created, renamed or deleted.
    pub names: NameKinds,
    /// Providers of `reload` with new values, which this process applies without reading rows. Peers do not receive the
    /// values. A delta adds an amount, but an inventory is set to a value. So the result would depend on the order in
    /// which a peer applies the changes of several writers.
    pub rewritten: Vec<Rewritten>,
    /// The revisions of the snapshot from which rows of the batch differed, if any did. Peers do not receive the
    /// revisions.
    pub differs_from: Option<Revisions>,
    /// Lines for the log of this process. Peers do not receive the lines.
    pub warnings: Vec<String>,
}

/// A provider of which only inventories, usage and generation changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    pub delta: Delta,
    pub inventories: BTreeMap<ClassId, Inventory>,
}
