//! Why hosts have no candidate: the conditions of a request, with the hosts left out by each condition.
//!
//! Naively, each provider is asked for the first condition that the provider does not meet. A tree may have a provider
//! for each condition, and none for all conditions. So conditions are added one by one, and each time the search says
//! which hosts have a candidate. A condition leaves out the hosts with a candidate for the conditions before. Each host
//! is left out by exactly one condition, and the explanation agrees with the search.
//!
//! Most conditions leave out no host. Bisection needs a search for each condition that leaves out hosts, and a few
//! searches more. Conditions are removed from the request (`condition`), and rules about amounts from the search
//! ([`super::snapshot::AmountRule`]).

mod class_room;
mod condition;
mod host_set;
mod lacks;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::by_host::search_of_trees;
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{AmountRule, AmountRules, AmountRulesByClass, Slot, Snapshot};
use crate::error::Result;
use crate::interrupt::Interrupt;
pub use class_room::ClassRoom;
pub use condition::{Condition, Conditions};
pub use host_set::HostSet;
pub use lacks::{Lack, lacks_in_host};

/// The conditions of a request, with the hosts left out by each condition.
#[derive(Debug)]
pub struct ExplainedRequest<'a> {
    pub conditions: Conditions<'a>,
    /// The hosts with a candidate for the first n conditions, by n. Equal neighbours share a set.
    left: Vec<Arc<HostSet>>,
    /// False if a search gave up trees.
    pub is_exact: bool,
}

/// A condition, with the number of hosts left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    pub condition: Condition,
    /// The number of hosts left out by the condition.
    pub left_out: usize,
    /// The number of hosts with a candidate for the conditions so far.
    pub left: usize,
}

/// Explains a request on all hosts.
///
/// # Errors
/// As of [`super::candidates()`], but not for unknown names: nothing meets a condition with an unknown name.
/// [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn explain<'a>(
    snapshot: &Snapshot,
    request: &'a Request,
    settings: &SearchSettings,
) -> Result<ExplainedRequest<'a>> {
    Explainer::new(snapshot, request, settings, None).explain()
}

/// The first condition that leaves out a host if room does not count. `None` if the host has a candidate without
/// regard to room.
///
/// # Errors
/// As of [`explain`].
pub fn first_failed_but_room(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<Condition>> {
    let mut explainer = Explainer::new(snapshot, request, settings, Some(host));
    let is_room =
        |condition: &Condition| matches!(condition, Condition::Amount { rule, .. } if *rule != AmountRule::Units);
    let rooms = explainer.conditions.all.iter().copied().filter(is_room);
    explainer.removed.extend(rooms);
    explainer.first_failed()
}

impl<'a> ExplainedRequest<'a> {
    /// The conditions in their order.
    pub fn thinnings(&self) -> impl Iterator<Item = Thinning> {
        let steps = self.conditions.all.iter().zip(self.left.windows(2));
        steps.map(|(&condition, sets)| Thinning {
            condition,
            left_out: sets[0].len() - sets[1].len(),
            left: sets[1].len(),
        })
    }

    /// All hosts.
    pub fn all(&self) -> &HostSet {
        &self.left[0]
    }

    /// The hosts with a candidate if amounts do not count.
    pub fn before_amounts(&self) -> &HostSet {
        &self.left[self.conditions.before_amounts()]
    }

    /// The room of the class of [`Conditions::classes`] on the hosts with a candidate if amounts do not count. `None`
    /// without an inventory of the class.
    pub fn room(&self, snapshot: &Snapshot, class: usize, interrupt: &Interrupt) -> Option<ClassRoom> {
        interrupt.spend(snapshot.blocks.len() as u64);
        let class = snapshot.catalog().class_id(self.conditions.classes[class])?;
        ClassRoom::of(snapshot, self.before_amounts(), class)
    }

    /// The hosts left out by the condition at `index`.
    pub fn left_out(&self, index: usize) -> impl Iterator<Item = Slot> {
        self.left[index].without(&self.left[index + 1])
    }
}

/// Runs the searches of an explanation.
struct Explainer<'a, 's> {
    snapshot: &'s Snapshot,
    settings: SearchSettings,
    conditions: Conditions<'a>,
    only: Option<Slot>,
    /// Conditions that never hold.
    removed: BTreeSet<Condition>,
    is_exact: bool,
}

impl<'a, 's> Explainer<'a, 's> {
    fn new(snapshot: &'s Snapshot, request: &'a Request, settings: &SearchSettings, only: Option<Slot>) -> Self {
        Self {
            snapshot,
            settings: settings.clone(),
            conditions: Conditions::of(request),
            only,
            removed: BTreeSet::new(),
            is_exact: true,
        }
    }

    fn explain(mut self) -> Result<ExplainedRequest<'a>> {
        let all = self.conditions.all.len();
        let first = Arc::new(self.all_hosts());
        let mut left = vec![Arc::clone(&first); all + 1];
        left[all] = Arc::new(self.left(all, &first)?);
        self.divide(&mut left, 0, all)?;
        Ok(ExplainedRequest {
            conditions: self.conditions,
            left,
            is_exact: self.is_exact,
        })
    }

    /// Finds the sets between two known sets.
    fn divide(&mut self, left: &mut [Arc<HostSet>], low: usize, high: usize) -> Result<()> {
        if high - low < 2 || left[low] == left[high] {
            let known = Arc::clone(&left[low]);
            left[low + 1..high].fill(known);
            return Ok(());
        }
        let middle = self.conditions.split(low, high);
        let within = Arc::clone(&left[low]);
        let mut found = self.left(middle, &within)?;
        // A search may have given up trees.
        found.add_all(&left[high]);
        left[middle] = Arc::new(found);
        self.divide(left, low, middle)?;
        self.divide(left, middle, high)
    }

    /// The first condition with which the only host has no candidate.
    fn first_failed(&mut self) -> Result<Option<Condition>> {
        let all = self.all_hosts();
        let (mut passes, mut fails) = (0, self.conditions.all.len());
        if !self.left(fails, &all)?.is_empty() {
            return Ok(None);
        }
        while fails - passes > 1 {
            let middle = passes.midpoint(fails);
            if self.left(middle, &all)?.is_empty() {
                fails = middle;
            } else {
                passes = middle;
            }
        }
        Ok(Some(self.conditions.all[passes]))
    }

    fn all_hosts(&self) -> HostSet {
        match self.only {
            None => HostSet::all(self.snapshot),
            Some(host) => {
                let mut only = HostSet::none(self.snapshot);
                only.add(host);
                only
            }
        }
    }

    /// The hosts among `within` with a candidate for the first `count` conditions.
    fn left(&mut self, count: usize, within: &HostSet) -> Result<HostSet> {
        let mut left = HostSet::none(self.snapshot);
        let held = || {
            self.conditions.all[..count]
                .iter()
                .filter(|it| !self.removed.contains(it))
        };
        let catalog = self.snapshot.catalog();
        let is_impossible = |condition: &Condition| {
            matches!(condition, Condition::Requirement { .. })
                || self.conditions.unknown_name(catalog, *condition).is_some()
        };
        if held().any(is_impossible) {
            return Ok(left);
        }
        let held: BTreeSet<Condition> = held().copied().collect();
        let request = self.conditions.relaxed(|condition| held.contains(&condition));
        if request.groups.is_empty() {
            return Ok(within.clone());
        }
        let rules = self.amount_rules(&held);
        let mut search = search_of_trees(self.snapshot, &request, rules, self.only, &self.settings)?;
        let is_exact = search.each_tree(|host| {
            if within.contains(host) {
                left.add(host);
            }
        })?;
        self.is_exact &= is_exact;
        Ok(left)
    }

    /// The rules about amounts among `held`.
    fn amount_rules(&self, held: &BTreeSet<Condition>) -> AmountRulesByClass {
        let catalog = self.snapshot.catalog();
        let classes = self.conditions.classes.iter().enumerate();
        let classes = classes.filter_map(|(class, name)| {
            let rules = AmountRules::of(|rule| held.contains(&Condition::Amount { rule, class }));
            Some((catalog.class_id(name)?, rules))
        });
        AmountRulesByClass {
            classes: classes.collect(),
            ..AmountRulesByClass::default()
        }
    }
}
