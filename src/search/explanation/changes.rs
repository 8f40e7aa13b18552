//! Single changes of a request with which hosts have a candidate.
//!
//! A change is a condition less, or a different amount of a class. Each change is verified by a search of the changed
//! request, because hosts may fail several conditions.

use std::collections::{BTreeMap, BTreeSet};

use super::ExplainedRequest;
use super::condition::Condition;
use super::explainer::Explainer;
use super::host_set::HostSet;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::candidates::check_interrupt;
use crate::search::request::{Group, Request};
use crate::search::settings::SearchSettings;
use crate::search::snapshot::{AmountRule, ClassId, Slot, Snapshot, Units};

/// A change of a request, with its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestChange {
    pub edit: Edit,
    /// The hosts with a candidate for the changed request.
    pub hosts: HostSet,
}

/// The difference between a changed request and the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The condition does not hold.
    Without(Condition),
    /// One group less, whose class further groups request.
    WithoutGroup { group: usize },
    /// The group requests this amount of the class `resources[index]`, and all groups with the same request do.
    Amount { group: usize, index: usize, amount: i64 },
    /// Normal limits do not count.
    OverNormal,
}

/// Of the inventories of a class, this many different pairs of `min_unit` and `step_size` are tried.
const MAX_UNITS: usize = 8;

/// The changes with which hosts have a candidate, in the order of the conditions, amounts last; and whether all changes
/// were tried on all hosts. The `budget` ends the trials. For a request of the newest microversion without a candidate.
///
/// # Errors
/// [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn single_changes(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    settings: &SearchSettings,
    budget: &Interrupt,
) -> Result<(Vec<RequestChange>, bool)> {
    let mut changer = Changer {
        snapshot,
        explanation,
        settings: settings.interrupted_by(budget),
        changes: Vec::new(),
        is_exact: true,
    };
    match changer.try_all() {
        Err(_) if budget.ran_out() => {
            check_interrupt(&settings.interrupt)?;
            Ok((changer.changes, false))
        }
        tried => tried.map(|()| (changer.changes, changer.is_exact)),
    }
}

/// Tries changes one by one.
struct Changer<'a> {
    snapshot: &'a Snapshot,
    explanation: &'a ExplainedRequest<'a>,
    settings: SearchSettings,
    /// The changes with a candidate so far.
    changes: Vec<RequestChange>,
    is_exact: bool,
}

impl<'a> Changer<'a> {
    fn try_all(&mut self) -> Result<()> {
        for condition in &self.explanation.conditions.all {
            let request = self.request();
            if is_removable(request, condition) {
                let mut explainer = self.explainer(request);
                explainer.removed.insert(*condition);
                self.try_change(Edit::Without(*condition), explainer)?;
            }
        }
        self.try_groups()?;
        let is_normal_room = |condition: &Condition| {
            matches!(
                condition,
                Condition::Amount {
                    rule: AmountRule::NormalRoom,
                    ..
                }
            )
        };
        let mut thinnings = self.explanation.thinnings();
        if thinnings.any(|thinning| thinning.left_out > 0 && is_normal_room(&thinning.condition)) {
            let mut explainer = self.explainer(self.request());
            let conditions = self.explanation.conditions.all.iter().copied();
            explainer.removed.extend(conditions.filter(is_normal_room));
            self.try_change(Edit::OverNormal, explainer)?;
        }
        for condition in &self.explanation.conditions.all {
            if let Condition::Inventory { group, index } = *condition {
                self.try_largest_below(group, index)?;
                self.try_smallest_above(group, index)?;
            }
        }
        Ok(())
    }

    /// The request with a group less. Of groups with the same request, the last is left out.
    fn try_groups(&mut self) -> Result<()> {
        let explanation = self.explanation;
        let conditions = &explanation.conditions;
        let request = conditions.request;
        let lasts = (0..request.groups.len()).filter_map(|group| conditions.alike(group).last());
        for group in lasts.filter(|group| is_repeated(request, *group)) {
            let changed = without_group(request, group);
            let explainer = self.explainer(&changed);
            self.try_change(Edit::WithoutGroup { group }, explainer)?;
        }
        Ok(())
    }

    fn request(&self) -> &'a Request {
        self.explanation.conditions.request
    }

    fn explainer<'r>(&self, request: &'r Request) -> Explainer<'r, 'a> {
        Explainer::new(self.snapshot, request, &self.settings, self.explanation.only)
    }

    /// Adds the change if hosts have a candidate. Returns whether they have.
    fn try_change(&mut self, edit: Edit, mut explainer: Explainer) -> Result<bool> {
        let hosts = explainer.with_candidate()?;
        self.is_exact &= explainer.is_exact;
        let helps = !hosts.is_empty();
        self.changes.extend(helps.then_some(RequestChange { edit, hosts }));
        Ok(helps)
    }

    fn try_amount(&mut self, group: usize, index: usize, amount: i64) -> Result<bool> {
        let changed = self.changed(group, index, amount);
        let explainer = self.explainer(&changed);
        self.try_change(Edit::Amount { group, index, amount }, explainer)
    }

    /// The request with a different amount in a group and in all groups with the same request.
    fn changed(&self, group: usize, index: usize, amount: i64) -> Request {
        let mut changed = self.request().clone();
        for alike in self.explanation.conditions.alike(group) {
            changed.groups[alike].resources[index].1 = amount;
        }
        changed
    }

    /// The largest smaller amount. The amounts allowed by a pair of units are tried by bisection.
    fn try_largest_below(&mut self, group: usize, index: usize) -> Result<()> {
        let (class, requested) = &self.request().groups[group].resources[index];
        let strict = self.settings.strict_step;
        let mut best = None;
        for (units, most_free) in self.units(class)? {
            let Some(most) = units.largest_allowed(most_free.min(requested - 1), strict) else {
                continue;
            };
            let least = units.smallest_allowed(1, strict).unwrap_or(most);
            let serves = |amount| self.serves(group, index, units.largest_allowed(amount, strict).unwrap_or(least));
            if let Some(amount) = largest(least, most, serves)? {
                best = best.max(units.largest_allowed(amount, strict));
            }
        }
        best.map_or(Ok(()), |amount| self.try_amount(group, index, amount).map(drop))
    }

    /// The smallest greater amount that a pair of units allows.
    fn try_smallest_above(&mut self, group: usize, index: usize) -> Result<()> {
        let (class, requested) = &self.request().groups[group].resources[index];
        let strict = self.settings.strict_step;
        let above = |(units, _): (Units, i64)| {
            let next = units.smallest_allowed(*requested, strict);
            next.filter(|_| !units.allow(*requested, strict))
        };
        let amounts: BTreeSet<i64> = self.units(class)?.into_iter().filter_map(above).collect();
        for amount in amounts {
            if self.try_amount(group, index, amount)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether the request has a candidate with this amount.
    fn serves(&self, group: usize, index: usize, amount: i64) -> Result<bool> {
        check_interrupt(&self.settings.interrupt)?;
        let changed = self.changed(group, index, amount);
        self.explainer(&changed).has_candidate()
    }

    /// Pairs of `min_unit` and `step_size`, each with the greatest `max_unit`, and with the greatest free capacity of
    /// an inventory.
    fn units(&mut self, class: &str) -> Result<Vec<(Units, i64)>> {
        self.settings.interrupt.spend(self.snapshot.blocks.len() as u64);
        check_interrupt(&self.settings.interrupt)?;
        let Some(class) = self.snapshot.catalog().class_id(class) else {
            return Ok(Vec::new());
        };
        let mut found: BTreeMap<(i32, i32), (Units, i64)> = BTreeMap::new();
        let mut add = |slot: Slot| {
            let Some((units, free)) = units_and_free(self.snapshot, slot, class) else {
                return;
            };
            let (most, most_free) = found.entry((units.min_unit, units.step_size)).or_insert((units, free));
            most.max_unit = most.max_unit.max(units.max_unit);
            *most_free = free.max(*most_free);
        };
        match self.explanation.only {
            None => self.snapshot.iter().for_each(add),
            Some(host) => {
                let own = self.snapshot.tree(host).into_iter();
                own.chain(self.snapshot.sharing()).for_each(&mut add);
            }
        }
        self.is_exact &= found.len() <= MAX_UNITS;
        Ok(found.into_values().take(MAX_UNITS).collect())
    }
}

/// Whether the condition is a part of the request that a caller may leave out. A group without resources is another
/// request.
fn is_removable(request: &Request, condition: &Condition) -> bool {
    match condition {
        Condition::Inventory { group, .. } => request.groups[*group].resources.len() > 1,
        Condition::Requirement { .. } | Condition::State | Condition::Amount { .. } => false,
        _ => true,
    }
}

/// Whether a granular group requests a class that a further group requests.
fn is_repeated(request: &Request, group: usize) -> bool {
    let Group { suffix, resources, .. } = &request.groups[group];
    let requests = |other: &Group| {
        let is_requested = |(class, _): &(String, i64)| other.resources.iter().any(|(name, _)| name == class);
        resources.iter().any(is_requested)
    };
    let mut others = request.groups.iter().filter(|other| other.suffix != *suffix);
    !suffix.is_empty() && others.any(requests)
}

/// The request without a group, and without the suffix of the group in `same_subtrees`.
fn without_group(request: &Request, group: usize) -> Request {
    let mut changed = request.clone();
    let Group { suffix, .. } = changed.groups.remove(group);
    changed
        .same_subtrees
        .iter_mut()
        .for_each(|rule| rule.retain(|other| *other != suffix));
    changed.same_subtrees.retain(|rule| !rule.is_empty());
    changed
}

fn units_and_free(snapshot: &Snapshot, slot: Slot, class: ClassId) -> Option<(Units, i64)> {
    let units = snapshot.inventory(slot, class)?.units();
    let (limit, used) = snapshot.limit_and_used(slot, class);
    Some((units, limit.saturating_sub(used)))
}

/// The largest number from `least` to `most` for which `serves` is true, if `serves` is true for all smaller numbers.
fn largest(least: i64, most: i64, serves: impl Fn(i64) -> Result<bool>) -> Result<Option<i64>> {
    if most < least || !serves(least)? {
        return Ok(None);
    }
    if serves(most)? {
        return Ok(Some(most));
    }
    let (mut passes, mut fails) = (least, most);
    while fails - passes > 1 {
        let middle = passes.midpoint(fails);
        if serves(middle)? {
            passes = middle;
        } else {
            fails = middle;
        }
    }
    Ok(Some(passes))
}
