//! The conditions of a request in their order, and the request with some of its conditions.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::search::request::{Group, GroupPolicy, HostConditions, Request, Traits};
use crate::search::snapshot::{AmountRule, Catalog};

/// One condition of a request. `group` is the index of a group in the request; the condition holds for all groups with
/// the same request. The order of the variants is the order in which conditions are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The group requests neither resources, nor traits, nor aggregates: nothing can serve the group.
    Requirement { group: usize },
    /// A provider has an inventory of the class `resources[index]` of the group.
    Inventory { group: usize, index: usize },
    /// The provider is in the tree of `in_tree`.
    InTree { group: usize },
    /// The host is in a required domain of the dimension of `in_domains[first]`.
    InDomain { first: usize },
    /// The host is in no forbidden domain of the dimension of `not_in_domains[first]`.
    NotInDomain { first: usize },
    /// The provider, or its root for a group without a suffix, is in an aggregate of `member_of.any_of[index]`.
    MemberOf { group: usize, index: usize },
    /// The provider, and its root for a group without a suffix, is in no forbidden aggregate.
    NotMemberOf { group: usize },
    /// The root has a trait of `root_required.required[index]`.
    RootTrait { index: usize },
    /// A provider has a trait of `traits.required[index]`.
    Trait { group: usize, index: usize },
    /// The condition of a group is true for the provider; without a group, the condition of the request for the host.
    Where { group: Option<usize> },
    /// The root has no forbidden trait. After what a provider must have: Nova forbids a trait for the state of a host.
    NoRootTrait,
    /// The provider has no forbidden trait.
    NoTrait { group: usize },
    /// The provider and its ancestors are up. After the conditions on what a provider is: the hosts that fail because
    /// of their state are otherwise those that the request is for.
    State,
    /// The inventories of [`Conditions::classes`]`[class]` meet a rule about amounts.
    Amount { rule: AmountRule, class: usize },
    /// Each granular group has a provider of its own.
    Isolation,
    /// The providers of `same_subtrees[index]` are in one subtree.
    SameSubtree { index: usize },
}

impl Condition {
    /// The group of a condition of a group. `None` for a condition of the request, or between groups.
    pub fn group(self) -> Option<usize> {
        match self {
            Condition::Requirement { group }
            | Condition::Inventory { group, .. }
            | Condition::InTree { group }
            | Condition::MemberOf { group, .. }
            | Condition::NotMemberOf { group }
            | Condition::Trait { group, .. }
            | Condition::NoTrait { group } => Some(group),
            Condition::Where { group } => group,
            Condition::State
            | Condition::InDomain { .. }
            | Condition::NotInDomain { .. }
            | Condition::RootTrait { .. }
            | Condition::NoRootTrait
            | Condition::Amount { .. }
            | Condition::Isolation
            | Condition::SameSubtree { .. } => None,
        }
    }
}

/// The conditions of a request, in their order.
#[derive(Debug)]
pub struct Conditions<'a> {
    pub request: &'a Request,
    /// The classes of the request, each once.
    pub classes: Vec<&'a str>,
    pub all: Vec<Condition>,
    /// By name, the index in `classes`.
    class_position: HashMap<&'a str, usize>,
    /// By group, the first group with an equal request.
    first_alike: Vec<usize>,
    position: HashMap<Condition, usize>,
}

impl<'a> Conditions<'a> {
    pub fn of(request: &'a Request) -> Conditions<'a> {
        let mut first_of = HashMap::new();
        let groups = request.groups.iter().enumerate();
        let first_alike: Vec<usize> = groups
            .map(|(at, group)| *first_of.entry(request_of(group)).or_insert(at))
            .collect();
        let (mut classes, mut class_position) = (Vec::new(), HashMap::new());
        for (class, _) in request.groups.iter().flat_map(|group| &group.resources) {
            class_position.entry(&**class).or_insert_with(|| {
                classes.push(&**class);
                classes.len() - 1
            });
        }
        let mut all = of_host(&request.host);
        let of_root = 0..request.root_required.required.len();
        all.extend(of_root.map(|index| Condition::RootTrait { index }));
        all.extend((!request.root_required.forbidden.is_empty()).then_some(Condition::NoRootTrait));
        for (at, group) in request.groups.iter().enumerate() {
            if first_alike[at] == at {
                all.extend(of_group(at, group));
            }
        }
        let rules = AmountRule::ALL.into_iter();
        all.extend(rules.flat_map(|rule| (0..classes.len()).map(move |class| Condition::Amount { rule, class })));
        all.extend((request.group_policy == Some(GroupPolicy::Isolate)).then_some(Condition::Isolation));
        all.extend((0..request.same_subtrees.len()).map(|index| Condition::SameSubtree { index }));
        all.sort_unstable();
        let position = all.iter().enumerate().map(|(at, condition)| (*condition, at)).collect();
        Conditions {
            request,
            classes,
            class_position,
            all,
            first_alike,
            position,
        }
    }

    /// The groups with the same request as `group`, which is the first.
    pub fn alike(&self, group: usize) -> impl Iterator<Item = usize> {
        let alike = self.first_alike.iter().enumerate();
        alike.filter(move |(_, first)| **first == group).map(|(at, _)| at)
    }

    /// The number of conditions before the rules about amounts.
    pub fn before_amounts(&self) -> usize {
        let is_before = |condition: &Condition| {
            *condition
                < Condition::Amount {
                    rule: AmountRule::ALL[0],
                    class: 0,
                }
        };
        self.all.partition_point(is_before)
    }

    /// Divides the conditions from `low` to `high`, which are at least two. A boundary between two rules about amounts
    /// comes first: a rule that leaves out no host needs no search for each class.
    pub(super) fn split(&self, low: usize, high: usize) -> usize {
        let rule = |at: usize| match self.all[at] {
            Condition::Amount { rule, .. } => Some(rule),
            _ => None,
        };
        let boundaries: Vec<usize> = (low + 1..high).filter(|at| rule(*at) != rule(at - 1)).collect();
        let middle = boundaries.get(boundaries.len() / 2);
        middle.copied().unwrap_or(low.midpoint(high))
    }

    /// A class, trait or aggregate in a condition whose name does not exist. A search with an unknown class or trait is
    /// an error. Nothing is in an unknown aggregate.
    pub fn unknown_name(&self, catalog: &Catalog, condition: Condition) -> Option<&'a str> {
        let group = |at: usize| &self.request.groups[at];
        let unknown_trait = |name: &&String| catalog.trait_id(name).is_none();
        let name = match condition {
            Condition::Inventory { group: at, index } => {
                Some(&group(at).resources[index].0).filter(|name| catalog.class_id(name).is_none())
            }
            Condition::RootTrait { index } => self.request.root_required.required[index].iter().find(unknown_trait),
            Condition::NoRootTrait => self.request.root_required.forbidden.iter().find(unknown_trait),
            Condition::Trait { group: at, index } => group(at).traits.required[index].iter().find(unknown_trait),
            Condition::NoTrait { group: at } => group(at).traits.forbidden.iter().find(unknown_trait),
            Condition::MemberOf { group: at, index } => {
                let any_of = &group(at).member_of.any_of[index];
                let is_known = |uuid: &String| catalog.aggregate_id(uuid).is_some();
                any_of.first().filter(|_| !any_of.iter().any(is_known))
            }
            _ => None,
        };
        name.map(String::as_str)
    }

    /// The request with some of its conditions. Groups without a condition are left out. Without a rule about the
    /// amount of a class, one unit is requested.
    pub fn relaxed(&self, holds: impl Fn(Condition) -> bool) -> Request {
        let holds = |condition: Condition| self.position.contains_key(&condition) && holds(condition);
        let groups = (0..self.request.groups.len()).map(|at| self.relaxed_group(at, holds));
        let is_needed = |group: &Group| {
            let has_requirement = !group.traits.required.is_empty() || !group.member_of.any_of.is_empty();
            !group.resources.is_empty() || has_requirement && !group.suffix.is_empty()
        };
        let groups: Vec<Group> = groups.filter(is_needed).collect();
        let rules = self.request.same_subtrees.iter().enumerate();
        let rules = rules.filter(|(index, _)| holds(Condition::SameSubtree { index: *index }));
        let suffixes: HashSet<&str> = groups.iter().map(|group| &*group.suffix).collect();
        let of_groups = |(_, rule): (usize, &Vec<String>)| -> Vec<String> {
            let is_kept = |suffix: &&String| suffixes.contains(&***suffix);
            rule.iter().filter(is_kept).cloned().collect()
        };
        let same_subtrees = rules.map(of_groups).filter(|rule| !rule.is_empty()).collect();
        let is_isolated = holds(Condition::Isolation);
        let policy = self.request.group_policy;
        Request {
            groups,
            group_policy: policy.map(|policy| if is_isolated { policy } else { GroupPolicy::None }),
            same_subtrees,
            root_required: relaxed_traits(
                &self.request.root_required,
                |index| holds(Condition::RootTrait { index }),
                holds(Condition::NoRootTrait),
            ),
            host: relaxed_host(&self.request.host, holds),
            limit: None,
            nested: self.request.nested,
        }
    }

    fn relaxed_group(&self, at: usize, holds: impl Fn(Condition) -> bool) -> Group {
        let of = &self.request.groups[at];
        let group = self.first_alike[at];
        let resources = of.resources.iter().enumerate().filter_map(|(index, (class, amount))| {
            let position = *self.class_position.get(&**class)?;
            let has_rule = |rule: &AmountRule| {
                holds(Condition::Amount {
                    rule: *rule,
                    class: position,
                })
            };
            let amount = if AmountRule::ALL.iter().any(has_rule) {
                *amount
            } else {
                1
            };
            holds(Condition::Inventory { group, index }).then(|| (class.clone(), amount))
        });
        let mut member_of = of.member_of.clone();
        member_of.any_of = kept(&of.member_of.any_of, |index| {
            holds(Condition::MemberOf { group, index })
        });
        if !holds(Condition::NotMemberOf { group }) {
            member_of.forbidden.clear();
        }
        Group {
            suffix: of.suffix.clone(),
            resources: resources.collect(),
            traits: relaxed_traits(
                &of.traits,
                |index| holds(Condition::Trait { group, index }),
                holds(Condition::NoTrait { group }),
            ),
            member_of,
            in_tree: of.in_tree.clone().filter(|_| holds(Condition::InTree { group })),
            condition: if holds(Condition::Where { group: Some(group) }) {
                of.condition.clone()
            } else {
                Default::default()
            },
        }
    }
}

/// The conditions of a request on hosts.
fn of_host(host: &HostConditions) -> Vec<Condition> {
    let mut all: Vec<Condition> = host.only_up.then_some(Condition::State).into_iter().collect();
    let firsts = |domains: &[crate::search::Domain]| -> Vec<usize> {
        let is_first = |at: &usize| domains[..*at].iter().all(|it| it.dimension != domains[*at].dimension);
        (0..domains.len()).filter(is_first).collect()
    };
    all.extend(
        firsts(&host.in_domains)
            .into_iter()
            .map(|first| Condition::InDomain { first }),
    );
    all.extend(
        firsts(&host.not_in_domains)
            .into_iter()
            .map(|first| Condition::NotInDomain { first }),
    );
    all.extend((!host.condition.is_empty()).then_some(Condition::Where { group: None }));
    all
}

fn of_group(group: usize, of: &Group) -> impl Iterator<Item = Condition> {
    let Group {
        resources,
        traits,
        member_of,
        in_tree,
        condition,
        ..
    } = of;
    let requests_nothing = resources.is_empty() && traits.required.is_empty() && member_of.any_of.is_empty();
    let single = [
        requests_nothing.then_some(Condition::Requirement { group }),
        in_tree.is_some().then_some(Condition::InTree { group }),
        (!member_of.forbidden.is_empty()).then_some(Condition::NotMemberOf { group }),
        (!traits.forbidden.is_empty()).then_some(Condition::NoTrait { group }),
        (!condition.is_empty()).then_some(Condition::Where { group: Some(group) }),
    ];
    let inventories = (0..resources.len()).map(move |index| Condition::Inventory { group, index });
    let members = (0..member_of.any_of.len()).map(move |index| Condition::MemberOf { group, index });
    let traits = (0..traits.required.len()).map(move |index| Condition::Trait { group, index });
    single
        .into_iter()
        .flatten()
        .chain(inventories)
        .chain(members)
        .chain(traits)
}

/// The parts of a group that are equal in groups with the same request.
fn request_of(group: &Group) -> impl Eq + Hash {
    let Group {
        suffix,
        resources,
        traits,
        member_of,
        in_tree,
        condition,
    } = group;
    (suffix.is_empty(), resources, traits, member_of, in_tree, condition)
}

fn kept<T: Clone>(all: &[T], holds: impl Fn(usize) -> bool) -> Vec<T> {
    let kept = all.iter().enumerate().filter(|(index, _)| holds(*index));
    kept.map(|(_, it)| it.clone()).collect()
}

fn relaxed_traits(traits: &Traits, holds: impl Fn(usize) -> bool, forbids: bool) -> Traits {
    Traits {
        required: kept(&traits.required, holds),
        forbidden: if forbids {
            traits.forbidden.clone()
        } else {
            Default::default()
        },
    }
}

fn relaxed_host(host: &HostConditions, holds: impl Fn(Condition) -> bool) -> HostConditions {
    let kept = |domains: &[crate::search::Domain], condition: fn(usize) -> Condition| {
        let is_kept = |domain: &&crate::search::Domain| {
            let first = domains.iter().position(|it| it.dimension == domain.dimension);
            first.is_some_and(|first| holds(condition(first)))
        };
        domains.iter().filter(is_kept).cloned().collect()
    };
    HostConditions {
        condition: if holds(Condition::Where { group: None }) {
            host.condition.clone()
        } else {
            Default::default()
        },
        in_domains: kept(&host.in_domains, |first| Condition::InDomain { first }),
        not_in_domains: kept(&host.not_in_domains, |first| Condition::NotInDomain { first }),
        only_up: holds(Condition::State),
    }
}
