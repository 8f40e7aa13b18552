//! Hosts left out by a condition because of sharing providers: the host meets the condition, and the sharing providers
//! in reach do not.
//!
//! Naively, the host and each sharing provider are asked for the condition. But groups, roots and trees have rules of
//! their own about sharing providers. So the search decides: the host has a candidate without the classes of the
//! sharing providers.

use std::collections::{BTreeMap, BTreeSet};

use super::ExplainedRequest;
use super::condition::{Condition, Conditions};
use super::explainer::Explainer;
use super::host_set::HostSet;
use crate::error::Result;
use crate::search::settings::SearchSettings;
use crate::search::snapshot::{Slot, Snapshot};

/// The hosts among `hosts`, left out by a condition, with sharing providers as the cause; each with the class whose
/// sharing providers fail the condition. `removed`: conditions without effect.
///
/// # Errors
/// As of [`super::explain`].
pub fn failing_pools(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    (condition, removed): (Condition, &BTreeSet<Condition>),
    hosts: &[Slot],
    settings: &SearchSettings,
) -> Result<BTreeMap<Slot, usize>> {
    let mut found = BTreeMap::new();
    let is_unknown = || {
        explanation
            .conditions
            .unknown_name(snapshot.catalog(), condition)
            .is_some()
    };
    if !is_of_providers(condition) || !snapshot.has_sharing() || is_unknown() {
        return Ok(found);
    }
    let search = FailureSearch {
        snapshot,
        explanation,
        condition,
        removed,
        settings,
    };
    for (classes, hosts) in shared_classes(snapshot, explanation, hosts, settings) {
        let hosts = HostSet::of(snapshot, hosts);
        let passing = search.left_without(&classes, &hosts)?;
        for class in &classes {
            let others: Vec<usize> = classes.iter().copied().filter(|other| other != class).collect();
            let failing = match others[..] {
                [] => passing.iter().collect(),
                _ => passing
                    .without(&search.left_without(&others, &hosts)?)
                    .collect::<Vec<Slot>>(),
            };
            for host in failing {
                found.entry(host).or_insert(*class);
            }
        }
    }
    Ok(found)
}

/// Whether sharing providers have to meet the condition too.
fn is_of_providers(condition: Condition) -> bool {
    match condition {
        Condition::InTree { .. }
        | Condition::MemberOf { .. }
        | Condition::NotMemberOf { .. }
        | Condition::Trait { .. }
        | Condition::NoTrait { .. }
        | Condition::Where { group: Some(_) }
        | Condition::State => true,
        Condition::Requirement { .. }
        | Condition::Inventory { .. }
        | Condition::InDomain { .. }
        | Condition::NotInDomain { .. }
        | Condition::RootTrait { .. }
        | Condition::NoRootTrait
        | Condition::Where { group: None }
        | Condition::Amount { .. }
        | Condition::Isolation
        | Condition::SameSubtree { .. } => false,
    }
}

/// The hosts by the classes available to the host from sharing providers alone. Hosts without these classes are left
/// out.
fn shared_classes(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    hosts: &[Slot],
    settings: &SearchSettings,
) -> BTreeMap<Vec<usize>, Vec<Slot>> {
    let classes = 0..explanation.conditions.classes.len();
    let providers = classes.filter_map(|class| {
        let providers = explanation.providers(snapshot, class, &settings.interrupt)?;
        providers.are_shared().then_some((class, providers))
    });
    let providers: Vec<_> = providers.collect();
    let mut by_classes: BTreeMap<Vec<usize>, Vec<Slot>> = BTreeMap::new();
    for host in hosts {
        let shared = providers.iter().filter(|(_, providers)| !providers.are_own(*host));
        let shared: Vec<usize> = shared.map(|(class, _)| *class).collect();
        if !shared.is_empty() {
            by_classes.entry(shared).or_default().push(*host);
        }
    }
    by_classes
}

struct FailureSearch<'a> {
    snapshot: &'a Snapshot,
    explanation: &'a ExplainedRequest<'a>,
    condition: Condition,
    removed: &'a BTreeSet<Condition>,
    settings: &'a SearchSettings,
}

impl FailureSearch<'_> {
    /// The hosts with a candidate up to the condition if these classes are not requested.
    fn left_without(&self, classes: &[usize], hosts: &HostSet) -> Result<HostSet> {
        let conditions = &self.explanation.conditions;
        let (snapshot, only) = (self.snapshot, self.explanation.only);
        let mut explainer = Explainer::new(snapshot, conditions.request, self.settings, only);
        let of_classes = classes.iter().flat_map(|class| conditions.of_class(*class));
        explainer.removed = self.removed.iter().copied().chain(of_classes).collect();
        explainer.left_up_to(self.condition, hosts)
    }
}

impl Conditions<'_> {
    /// The conditions by which groups request a class. If a group requests no further class, all conditions of the
    /// group.
    fn of_class(&self, class: usize) -> Vec<Condition> {
        let is_class = |condition: &Condition| match *condition {
            Condition::Inventory { group, index } => {
                self.request.groups[group].resources[index].0 == self.classes[class]
            }
            _ => false,
        };
        let inventories: Vec<Condition> = self.all.iter().copied().filter(is_class).collect();
        let requests_alone = |group: usize| {
            let is_of_group = |condition: &&Condition| condition.group() == Some(group);
            self.request.groups[group].resources.len() == 1 && inventories.iter().any(|it| is_of_group(&it))
        };
        let is_of_class =
            |condition: &Condition| inventories.contains(condition) || condition.group().is_some_and(requests_alone);
        self.all.iter().copied().filter(is_of_class).collect()
    }
}
