//! The sentences about conditions and the hosts left out.

use std::collections::BTreeSet;

use super::causes::{Cause, CauseHosts};
use crate::error::{Reason, ReasonCode};
use crate::model::providers::DISABLED_TRAIT;
use crate::search::{
    self, Condition, Conditions, Domain, Expression, Group, HOST_DIMENSION, ProviderState, Snapshot, Thinning, Traits,
    Truth,
};

/// The most names in a sentence.
const MAX_NAMES: usize = 4;

/// A condition of a request on one version of the snapshot.
pub struct Words<'a> {
    pub snapshot: &'a Snapshot,
    pub conditions: &'a Conditions<'a>,
    /// The name of the host, if the sentences are about a single host.
    pub named: Option<&'a str>,
    /// As [`search::SearchSettings::strict_step`].
    pub strict: bool,
}

impl Words<'_> {
    /// The condition, with the number of hosts left out for one cause.
    pub fn reason(&self, condition: Condition, found: &CauseHosts) -> Reason {
        let cause = found.cause;
        let has = |one: &str, many: &str| self.has(found, one, many);
        if let Some(unavailable) = unavailable(cause) {
            let code = match condition {
                Condition::NoRootTrait => ReasonCode::RootTraits,
                Condition::NoTrait { .. } => ReasonCode::Traits,
                _ => ReasonCode::State,
            };
            return Reason::new(code, format!("{} {unavailable}.", has("is", "are")));
        }
        let (code, what) = match condition {
            Condition::Requirement { group } => {
                let suffix = self.suffixes(group).collect::<Vec<_>>().join(", ");
                (
                    ReasonCode::Groups,
                    format!("Group {suffix} requests neither resources nor traits nor aggregates"),
                )
            }
            Condition::Inventory { group, index } => {
                let (class, amount) = &self.group(group).resources[index];
                let what = has("has no inventory of", "have no inventory of");
                let detail = format!("{what} {class}{}{}.", self.of_group(group), self.unknown(condition));
                let is_known = self.snapshot.catalog().class_id(class).is_some();
                let code = if is_known {
                    ReasonCode::NoInventory
                } else {
                    ReasonCode::ClassNotFound
                };
                return Reason {
                    resource_class: Some(class.clone()),
                    requested: Some(*amount).filter(|amount| *amount < i64::MAX),
                    ..Reason::new(code, detail)
                };
            }
            Condition::State => {
                let what = match cause {
                    Cause::Sharing { .. } => has("is not up", "are not up"),
                    _ => has("needs providers that are not up", "need providers that are not up"),
                };
                (ReasonCode::State, what)
            }
            Condition::InTree { group } => {
                let uuid = self.group(group).in_tree.as_deref().unwrap_or_default();
                let key = self.keys(group, "in_tree");
                let what = match self.snapshot.by_uuid(uuid) {
                    Some(_) => format!("{} outside of the tree of {key}: {uuid}", has("is", "are")),
                    None => format!("{key} names no resource provider: {uuid}"),
                };
                (ReasonCode::InTree, what)
            }
            Condition::InDomain { first } => {
                let domains = same_dimension(&self.conditions.request.host.in_domains, first);
                (
                    ReasonCode::Domain,
                    self.domains(&domains, &has("is in no required domain", "are in no required domain")),
                )
            }
            Condition::NotInDomain { first } => {
                let domains = same_dimension(&self.conditions.request.host.not_in_domains, first);
                (
                    ReasonCode::Domain,
                    self.domains(&domains, &has("is in a forbidden domain", "are in a forbidden domain")),
                )
            }
            Condition::MemberOf { group, index } => {
                let any_of = &self.group(group).member_of.any_of[index];
                let set = set(any_of);
                let key = self.keys(group, "member_of");
                let what = has("is not in the aggregates of", "are not in the aggregates of");
                (
                    ReasonCode::Aggregates,
                    format!("{what} {key}: {set}{}", self.missing_aggregates(any_of)),
                )
            }
            Condition::NotMemberOf { group } => {
                let names = listed(self.group(group).member_of.forbidden.iter());
                let key = self.keys(group, "member_of");
                let what = has("is in an aggregate that", "are in an aggregate that");
                (ReasonCode::Aggregates, format!("{what} {key} forbids: {names}"))
            }
            Condition::RootTrait { index } => {
                let set = set(&self.conditions.request.root_required.required[index]);
                let what = has("does not match", "do not match");
                (
                    ReasonCode::RootTraits,
                    format!("{what} root_required: {set}{}", self.unknown(condition)),
                )
            }
            Condition::NoRootTrait => {
                let forbidden = &self.conditions.request.root_required.forbidden;
                let has = has("has a trait that", "have a trait that");
                (
                    ReasonCode::RootTraits,
                    self.forbidden_traits(condition, &has, "root_required", forbidden),
                )
            }
            Condition::Trait { group, index } => {
                let what = missing(
                    &self.group(group).traits,
                    index,
                    &has("lacks", "lack"),
                    &has("has", "have"),
                );
                let key = self.keys(group, "required");
                (
                    ReasonCode::Traits,
                    format!("{what} of {key}{}", self.unknown(condition)),
                )
            }
            Condition::NoTrait { group } => {
                let key = self.keys(group, "required");
                let has = has("has a trait that", "have a trait that");
                let forbidden = &self.group(group).traits.forbidden;
                (
                    ReasonCode::Traits,
                    self.forbidden_traits(condition, &has, &key, forbidden),
                )
            }
            Condition::Where { group } => (ReasonCode::Condition, self.described(group, cause, &has)),
            Condition::Amount { rule, class } => return self.amount(rule, class, found),
            Condition::Isolation => {
                let what = has(
                    "has too few providers for groups that",
                    "have too few providers for groups that",
                );
                (ReasonCode::Groups, format!("{what} group_policy=isolate keeps apart"))
            }
            Condition::SameSubtree { index } => {
                let rule = self.conditions.request.same_subtrees[index].join(",");
                let what = has("cannot serve the groups of", "cannot serve the groups of");
                (ReasonCode::Groups, format!("{what} same_subtree={rule} in one subtree"))
            }
        };
        Reason::new(code, format!("{what}{}.", self.providers(found)))
    }

    /// A trait with an unknown name is no trait of a host: the search refuses the name.
    fn forbidden_traits(&self, condition: Condition, has: &str, key: &str, forbidden: &BTreeSet<String>) -> String {
        match self.conditions.unknown_name(self.snapshot.catalog(), condition) {
            Some(name) => format!("{key} forbids {name}, which does not exist: a search answers 400"),
            None => format!("{has} {key} forbids: {}", listed(forbidden.iter())),
        }
    }

    /// Says which aggregates do not exist or have no provider.
    fn missing_aggregates(&self, any_of: &BTreeSet<String>) -> String {
        let id = |uuid: &String| self.snapshot.catalog().aggregate_id(uuid);
        let (known, unknown): (Vec<&String>, Vec<&String>) = any_of.iter().partition(|uuid| id(uuid).is_some());
        let is_empty = |uuid: &&String| id(uuid).is_some_and(|aggregate| !self.snapshot.has_member(aggregate));
        let empty: Vec<&String> = known.into_iter().filter(is_empty).collect();
        let unknown = about(&unknown, "does not exist", "do not exist");
        unknown + &about(&empty, "has no provider", "have no provider")
    }

    /// Conditions that were not compared one by one.
    pub fn merged(&self, thinning: Thinning) -> Reason {
        let Thinning {
            left_out, conditions, ..
        } = thinning;
        let detail = format!("{left_out} hosts fail at least one of {conditions} conditions, too many to compare.");
        Reason::new(ReasonCode::NoCandidate, detail)
    }

    pub fn group(&self, at: usize) -> &Group {
        &self.conditions.request.groups[at]
    }

    /// The suffixes of all groups with the same request.
    pub fn suffixes(&self, group: usize) -> impl Iterator<Item = &str> {
        let alike = self.conditions.alike(group);
        alike.map(|at| &*self.group(at).suffix)
    }

    /// The keys of the query with this name, for all groups with the same request.
    pub fn keys(&self, group: usize, name: &str) -> String {
        let keys: Vec<String> = self.suffixes(group).map(|suffix| format!("{name}{suffix}")).collect();
        listed(keys.iter())
    }

    /// Empty if the request has a single group.
    pub fn of_group(&self, group: usize) -> String {
        let suffixes: Vec<&str> = self.suffixes(group).collect();
        match suffixes[..] {
            _ if self.conditions.request.groups.len() == 1 => String::new(),
            [""] => " of the group without a suffix".to_owned(),
            _ => format!(" of {}", self.keys(group, "resources")),
        }
    }

    /// Says if the condition has an unknown class or trait, which a search refuses.
    fn unknown(&self, condition: Condition) -> String {
        let name = self.conditions.unknown_name(self.snapshot.catalog(), condition);
        name.map_or_else(String::new, |name| {
            format!("; {name} does not exist: a search answers 400")
        })
    }

    /// Domains of one dimension. Names the domains without a host.
    fn domains(&self, domains: &[&Domain], what: &str) -> String {
        let name = |domain: &&Domain| format!("{}:{}", domain.dimension, domain.path);
        let names: Vec<String> = domains.iter().map(name).collect();
        let is_empty = |domain: &&&Domain| match &*domain.dimension {
            HOST_DIMENSION => self.snapshot.by_uuid(&domain.path).is_none(),
            dimension => {
                let mut paths = self.snapshot.hosts_by_domain(dimension);
                !paths.any(|(path, _)| search::is_in_domain(path, &domain.path))
            }
        };
        let empty: Vec<String> = domains.iter().filter(is_empty).map(name).collect();
        let empty: Vec<&String> = empty.iter().collect();
        format!(
            "{what}: {}{}",
            listed(names.iter()),
            about(&empty, "has no host", "have no host")
        )
    }

    /// Why the condition of a group, or of the request for hosts, is not true.
    fn described(&self, group: Option<usize>, cause: Cause, has: &dyn Fn(&str, &str) -> String) -> String {
        let (condition, suffix) = match group {
            Some(group) => (&self.group(group).condition, &*self.group(group).suffix),
            None => (&self.conditions.request.host.condition, ""),
        };
        let compared = |at: usize| condition.comparisons()[at].clone();
        match cause {
            Cause::Verdict(Truth::Missing(at)) => {
                let name = compared(at).name.to_string();
                let end = if is_known(self.snapshot, &name) {
                    ""
                } else {
                    ", which no provider has"
                };
                format!("{} property {name} of where{suffix}{end}", has("lacks", "lack"))
            }
            Cause::Verdict(Truth::Type(at)) => {
                let comparison = compared(at);
                let (name, kind) = (&comparison.name, comparison.type_name());
                format!(
                    "{} property {name} of another type than the {kind} in where{suffix}",
                    has("has", "have")
                )
            }
            _ => {
                format!(
                    "{} where{suffix}: {}",
                    has("does not meet", "do not meet"),
                    short(condition)
                )
            }
        }
    }
}

/// The number of hosts with a verb.
pub fn counted(hosts: usize, one: &str, many: &str) -> String {
    match hosts {
        1 => format!("1 host {one}"),
        _ => format!("{hosts} hosts {many}"),
    }
}

/// What makes hosts unavailable, behind "is" or "are". `None` for further causes.
pub fn unavailable(cause: Cause) -> Option<String> {
    match cause {
        Cause::State(state) if state != ProviderState::Up => Some(state.name().to_owned()),
        Cause::Disabled => Some(format!("disabled (trait {DISABLED_TRAIT})")),
        _ => None,
    }
}

/// The domains of the dimension of the first.
pub fn same_dimension(domains: &[Domain], first: usize) -> Vec<&Domain> {
    domains
        .iter()
        .filter(|domain| domain.dimension == domains[first].dimension)
        .collect()
}

fn missing(traits: &Traits, index: usize, lacks: &str, has: &str) -> String {
    let any_of = &traits.required[index];
    match any_of.len() {
        1 => format!("{lacks} trait {}", listed(any_of.iter())),
        _ => format!("{has} none of the traits {}", listed(any_of.iter())),
    }
}

/// A set of alternative names, in the spelling of `member_of` and of `root_required`.
pub fn set(any_of: &BTreeSet<String>) -> String {
    match any_of.len() {
        1 => listed(any_of.iter()),
        _ => format!("in:{}", joined(any_of.iter(), ",")),
    }
}

/// The first names, in words.
pub fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    joined(names, ", ")
}

/// The first names.
pub fn joined<'a>(names: impl Iterator<Item = &'a String>, separator: &str) -> String {
    let mut names = names.map(String::as_str);
    let mut first: Vec<&str> = names.by_ref().take(MAX_NAMES).collect();
    first.extend(names.next().map(|_| "…"));
    first.join(separator)
}

/// Behind a semicolon, names with a verb. Empty without a name.
fn about(names: &[&String], one: &str, many: &str) -> String {
    let verb = match names.len() {
        0 => return String::new(),
        1 => one,
        _ => many,
    };
    format!("; {} {verb}", listed(names.iter().copied()))
}

/// Whether any provider has a property of this name.
fn is_known(snapshot: &Snapshot, name: &str) -> bool {
    search::BUILT_IN_PROPERTIES.contains(&name) || snapshot.is_described_by(name)
}

/// The beginning of a condition, long enough to recognise the condition.
pub fn short(condition: &Expression) -> String {
    const MAX_CHARACTERS: usize = 100;
    let text = condition.to_string();
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}
