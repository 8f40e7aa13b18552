//! Requests in their newest form, before names are resolved.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::Expression;

/// A request for allocation candidates. Requests of older microversions set fewer fields (ARCHITECTURE.md, rule 1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Each suffix once, in the order of the query: the order decides which unknown name an error reports.
    pub groups: Vec<Group>,
    pub group_policy: Option<GroupPolicy>,
    /// Sets of suffixes. One provider of a set must be at or above all providers of the set (1.36).
    pub same_subtrees: Vec<Vec<String>>,
    /// Required and forbidden traits of the root of the serving tree (1.35).
    pub root_required: Traits,
    /// Only the native API has conditions on hosts.
    pub host: HostConditions,
    /// The maximum number of candidates; at least 1.
    pub limit: Option<usize>,
    /// Whether several providers of one tree may serve the request, and summaries show whole trees (1.29).
    pub nested: bool,
}

/// A scan of a block looks at this many conditions in about the time of a step of an
/// [`Interrupt`](crate::interrupt::Interrupt).
const CONDITIONS_A_STEP: usize = 16;

impl Request {
    /// A request of the newest microversion without further conditions.
    #[cfg(test)]
    pub fn of_groups(groups: Vec<Group>) -> Request {
        Request {
            groups,
            group_policy: None,
            same_subtrees: Vec::new(),
            root_required: Traits::default(),
            host: HostConditions::default(),
            limit: None,
            nested: true,
        }
    }

    /// How many steps the scan of one block counts as: more than one for a request with many conditions.
    pub(super) fn steps_a_block(&self) -> u64 {
        let host = &self.host;
        let of_host = host.condition.comparisons().len() + host.in_domains.len() + host.not_in_domains.len();
        let of_group = |group: &Group| group.condition.comparisons().len() + group.resources.len();
        let conditions = of_host + self.groups.iter().map(of_group).sum::<usize>();
        1 + (conditions / CONDITIONS_A_STEP) as u64
    }
}

/// One group of a request. One provider serves a granular group (with a suffix), and any providers of a tree serve the
/// group without a suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    pub suffix: String,
    /// Classes with amounts; each class once, each amount at least 1.
    pub resources: Vec<(String, i64)>,
    pub traits: Traits,
    pub member_of: MemberOf,
    /// The uuid of any provider of the only tree that may serve the group.
    pub in_tree: Option<String>,
    /// A condition on the provider of a granular group. The group without a suffix has none: its condition is a
    /// condition on the host.
    pub condition: Arc<Expression>,
}

/// The conditions on the host of a request: the root of the serving tree. The default has no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostConditions {
    pub condition: Arc<Expression>,
    /// Domains of one dimension are alternatives; a domain of each dimension is required.
    pub in_domains: Vec<Domain>,
    /// None of these domains is allowed.
    pub not_in_domains: Vec<Domain>,
    /// Whether providers serve only if the provider and all its ancestors are in state `up`.
    pub only_up: bool,
}

/// The dimension in which each host is a domain of its own: its uuid.
pub const HOST_DIMENSION: &str = "host";

/// A domain of a dimension, with all domains inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    pub dimension: Arc<str>,
    /// As `domain_path` returns the path.
    pub path: Arc<str>,
}

/// Whether granular groups of one request may share providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupPolicy {
    /// Granular groups may share providers.
    None,
    /// Every granular group needs a provider of its own.
    Isolate,
}

/// Required and forbidden traits, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traits {
    /// At least one trait of each set is required.
    pub required: Vec<BTreeSet<String>>,
    /// None of these traits is allowed.
    pub forbidden: BTreeSet<String>,
}

/// Required and forbidden aggregates, by uuid in the spelling of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberOf {
    /// At least one aggregate of each set is required.
    pub any_of: Vec<BTreeSet<String>>,
    /// None of these aggregates is allowed.
    pub forbidden: BTreeSet<String>,
}

/// The filters of a list of providers. An empty field filters nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderQuery {
    pub name: Option<String>,
    pub uuid: Option<String>,
    /// The uuid of any provider of the listed tree.
    pub in_tree: Option<String>,
    pub traits: Traits,
    pub members: MemberOf,
    /// As [`Group::resources`]; the provider itself must have room for all amounts.
    pub resources: Vec<(String, i64)>,
}
