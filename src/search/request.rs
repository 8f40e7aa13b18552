//! What is asked: the newest form of a request, in names that are not yet looked up.

use std::collections::BTreeSet;

/// A request for allocation candidates. Old versions are this with less in it (architecture, rule 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Each suffix once, in the order in which they were named: it decides which unknown name is told.
    pub groups: Vec<Group>,
    pub group_policy: Option<GroupPolicy>,
    /// Each a set of suffixes whose providers must hang below one of them (1.36).
    pub same_subtrees: Vec<Vec<String>>,
    /// Of the root of the tree that serves the request (1.35).
    pub root_required: Traits,
    /// At most so many candidates; at least 1.
    pub limit: Option<usize>,
    /// May several providers of one tree serve it, and do summaries show whole trees? (1.29)
    pub nested: bool,
}

/// What one group wants. A granular group (suffix not "") is served by one provider, the other one by any of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub suffix: String,
    /// Class and amount, each class once, each amount at least 1.
    pub resources: Vec<(String, i64)>,
    pub traits: Traits,
    pub member_of: Members,
    /// The uuid of any provider of the one tree that may serve the group.
    pub in_tree: Option<String>,
}

/// How groups of one request stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPolicy {
    /// Granular groups may share a provider.
    None,
    /// Every granular group gets a provider of its own.
    Isolate,
}

/// Names of traits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// One of each set must be there.
    pub required: Vec<BTreeSet<String>>,
    /// None of these may be.
    pub forbidden: BTreeSet<String>,
}

/// Uuids of aggregates, as they were spelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// One of each set must be there.
    pub any_of: Vec<BTreeSet<String>>,
    /// None of these may be.
    pub forbidden: BTreeSet<String>,
}

/// The filters of a list of providers. Each field is a filter if it is there; a provider passes all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderQuery {
    pub name: Option<String>,
    pub uuid: Option<String>,
    /// The uuid of any provider of the tree.
    pub in_tree: Option<String>,
    pub traits: Traits,
    pub members: Members,
    /// As [`Group::resources`]; all of it on the provider itself.
    pub resources: Vec<(String, i64)>,
}
