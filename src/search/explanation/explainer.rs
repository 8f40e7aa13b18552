//! The searches of an explanation: which hosts have a candidate for some of the conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::condition::{Condition, Conditions};
use super::host_set::HostSet;
use crate::error::Result;
use crate::search::by_host::search_of_trees;
use crate::search::candidates::check_interrupt;
use crate::search::request::Request;
use crate::search::settings::SearchSettings;
use crate::search::snapshot::{AmountRules, AmountRulesByClass, Slot, Snapshot};

/// Runs the searches of an explanation.
pub(super) struct Explainer<'a, 's> {
    snapshot: &'s Snapshot,
    settings: SearchSettings,
    pub conditions: Conditions<'a>,
    only: Option<Slot>,
    /// The conditions left out of all searches.
    pub removed: BTreeSet<Condition>,
    /// False if a search gave up trees, or if the budget ended the comparison of conditions.
    pub is_exact: bool,
    /// The number of searches so far.
    searches: usize,
    /// Conditions that were not compared one by one: the index of the last condition, and the index of the first.
    pub merged: BTreeMap<usize, usize>,
}

impl<'a, 's> Explainer<'a, 's> {
    pub fn new(snapshot: &'s Snapshot, request: &'a Request, settings: &SearchSettings, only: Option<Slot>) -> Self {
        Self {
            snapshot,
            settings: settings.clone(),
            conditions: Conditions::of(request),
            only,
            removed: BTreeSet::new(),
            is_exact: true,
            searches: 0,
            merged: BTreeMap::new(),
        }
    }

    /// The hosts with a candidate for the first n conditions, by n. Equal neighbours share a set.
    pub fn sets(&mut self) -> Result<Vec<Arc<HostSet>>> {
        let all = self.conditions.all.len();
        let first = Arc::new(self.all_hosts());
        let mut left = vec![Arc::clone(&first); all + 1];
        left[all] = Arc::new(self.left(all, &first)?);
        self.divide(&mut left, 0, all)?;
        Ok(left)
    }

    /// Finds the sets between two known sets.
    fn divide(&mut self, left: &mut [Arc<HostSet>], low: usize, high: usize) -> Result<()> {
        if high - low < 2 || left[low] == left[high] {
            let known = Arc::clone(&left[low]);
            left[low + 1..high].fill(known);
            return Ok(());
        }
        if self.is_spent() {
            let known = Arc::clone(&left[low]);
            left[low + 1..high].fill(known);
            self.merged.insert(high - 1, low);
            self.is_exact = false;
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

    /// Whether the budget is used up.
    pub fn is_spent(&self) -> bool {
        self.searches >= self.settings.limits.explanation_searches
    }

    /// The first condition with which the only host has no candidate.
    pub fn first_failed(&mut self) -> Result<Option<Condition>> {
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

    /// The hosts with a candidate for all conditions but the removed conditions.
    pub fn with_candidate(&mut self) -> Result<HostSet> {
        let all = self.all_hosts();
        self.left(self.conditions.all.len(), &all)
    }

    fn all_hosts(&self) -> HostSet {
        match self.only {
            None => HostSet::all(self.snapshot),
            Some(host) => HostSet::of(self.snapshot, [host]),
        }
    }

    /// Whether a host has a candidate for all conditions but the removed conditions.
    pub fn has_candidate(&mut self) -> Result<bool> {
        match self.relaxed(self.conditions.all.len()) {
            RelaxedSearch::Impossible => Ok(false),
            RelaxedSearch::Unconditional => Ok(true),
            RelaxedSearch::Search(search) => {
                let (request, rules) = *search;
                let mut search = search_of_trees(self.snapshot, &request, rules, self.only, &self.settings)?;
                let first = search.next();
                check_interrupt(&self.settings.interrupt)?;
                let host = first
                    .as_ref()
                    .and_then(|first| self.snapshot.host_of(&first.placements));
                match host {
                    Some(host) if self.snapshot.is_host(host) => Ok(true),
                    // Sharing providers serve alone, for hosts in reach or for no host.
                    Some(_) => Ok(!self.with_candidate()?.is_empty()),
                    None => Ok(first.is_some()),
                }
            }
        }
    }

    /// The hosts among `within` with a candidate for the conditions up to this condition, without the removed
    /// conditions.
    pub fn left_up_to(&mut self, last: Condition, within: &HostSet) -> Result<HostSet> {
        let count = self.conditions.all.partition_point(|condition| *condition <= last);
        self.left(count, within)
    }

    /// The hosts among `within` with a candidate for the first `count` conditions.
    fn left(&mut self, count: usize, within: &HostSet) -> Result<HostSet> {
        let mut left = HostSet::none(self.snapshot);
        let (request, rules) = match self.relaxed(count) {
            RelaxedSearch::Impossible => return Ok(left),
            RelaxedSearch::Unconditional => return Ok(within.clone()),
            RelaxedSearch::Search(search) => *search,
        };
        self.searches += 1;
        let mut search = search_of_trees(self.snapshot, &request, rules, self.only, &self.settings)?;
        let is_exact = search.each_tree(|host| {
            if within.contains(host) {
                left.add(host);
            }
        })?;
        self.is_exact &= is_exact;
        Ok(left)
    }

    /// The search for hosts that meet the first `count` conditions without the removed conditions.
    fn relaxed(&self, count: usize) -> RelaxedSearch {
        let conditions = self.conditions.all[..count].iter();
        let held: BTreeSet<Condition> = conditions.filter(|it| !self.removed.contains(it)).copied().collect();
        let catalog = self.snapshot.catalog();
        let is_impossible = |condition: &Condition| {
            matches!(condition, Condition::Requirement { .. })
                || self.conditions.unknown_name(catalog, *condition).is_some()
        };
        if held.iter().any(is_impossible) {
            return RelaxedSearch::Impossible;
        }
        let request = self.conditions.relaxed(|condition| held.contains(&condition));
        if request.groups.is_empty() {
            return RelaxedSearch::Unconditional;
        }
        RelaxedSearch::Search(Box::new((request, self.amount_rules(&held))))
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

/// The search for hosts that meet some conditions.
enum RelaxedSearch {
    /// Nothing meets a condition.
    Impossible,
    /// No group has a condition: all hosts meet the conditions.
    Unconditional,
    Search(Box<(Request, AmountRulesByClass)>),
}
