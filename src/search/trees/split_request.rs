//! Splits a request into parts, each of which one provider serves.
//!
//! The search of a tree is a constraint satisfaction problem. The parts are the variables, and the suitable providers
//! are the values. Room, required traits, isolation and `same_subtree` are constraints that relate several parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::request::{Group, GroupPolicy, Request};
use super::super::settings::SearchSettings;
use super::super::snapshot::{AmountRulesByClass, ClassId, Slot, Snapshot, TraitId, by_block};
use crate::search::described_filter::HostFilter;
use crate::search::provider_filter::{MemberIds, ProviderFilter, TraitIds};

/// The parts of a request, and the constraints on all parts together.
#[derive(Debug)]
pub(in crate::search) struct SplitRequest {
    /// Required and forbidden traits of the root of the serving tree.
    pub root: TraitIds,
    /// Conditions on the description of the root.
    pub host: Option<Arc<HostFilter>>,
    pub unsuffixed: Option<UnsuffixedGroup>,
    pub kinds: Vec<PartKind>,
    pub parts: Vec<RequestPart>,
    /// By group.
    pub suffixes: Vec<Arc<str>>,
    /// The contested classes: see [`PartKind::contested`].
    pub classes: Vec<ClassId>,
    /// By contested class, the sum over all parts.
    pub demand: Vec<i64>,
    /// The number of rules of `same_subtree`.
    pub subtrees: usize,
    /// Whether every granular group needs a provider of its own.
    pub isolate: bool,
    /// Whether several providers of one tree may serve.
    pub nested: bool,
    pub settings: SearchSettings,
    pub amount_rules: AmountRulesByClass,
    /// [`Request::steps_a_block`].
    pub steps_a_block: u64,
}

/// The conditions of the group without a suffix on all providers of the group together.
#[derive(Debug)]
pub(in crate::search) struct UnsuffixedGroup {
    pub required: Vec<Vec<TraitId>>,
    pub members: MemberIds,
    pub tree: Option<Slot>,
}

/// The demand of a part: one class of the group without a suffix, or a granular group. Equal parts have the same kind.
#[derive(Debug, Default, PartialEq)]
pub(in crate::search) struct PartKind {
    /// The conditions on a provider, whatever tree the provider serves.
    pub filter: ProviderFilter,
    pub granular: bool,
    /// The rules of `same_subtree` that name the part's group.
    pub subtrees: Vec<usize>,
    /// The amounts of classes for which several parts may compete on one provider. Each is an index into
    /// [`SplitRequest::classes`] and an amount.
    pub contested: Vec<(usize, i64)>,
    /// The largest of these amounts.
    pub largest: Option<i64>,
    /// By block, the lanes of the tree `filter.tree`, if the filter has a tree.
    pub lanes: Option<BTreeMap<usize, u64>>,
}

/// A part of a request. One provider serves the part.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct RequestPart {
    pub group: usize,
    pub kind: usize,
}

impl SplitRequest {
    /// `filters` are the filters of the request's groups, at least one. All have the same conditions on the root.
    pub fn new(
        snapshot: &Snapshot,
        request: &Request,
        filters: Vec<ProviderFilter>,
        settings: &SearchSettings,
    ) -> Self {
        let mut split = Self {
            root: filters[0].root.clone(),
            host: filters[0].host.clone(),
            unsuffixed: None,
            kinds: Vec::new(),
            parts: Vec::new(),
            suffixes: request.groups.iter().map(|group| Arc::from(&*group.suffix)).collect(),
            classes: Vec::new(),
            demand: Vec::new(),
            subtrees: 0,
            isolate: request.group_policy == Some(GroupPolicy::Isolate),
            nested: request.nested,
            settings: settings.clone(),
            amount_rules: filters[0].amount_rules.clone(),
            steps_a_block: request.steps_a_block(),
        };
        let subtrees = rules(request);
        split.subtrees = subtrees.len();
        for (index, (group, filter)) in request.groups.iter().zip(filters).enumerate() {
            if group.suffix.is_empty() {
                split.add_unsuffixed(index, filter);
            } else {
                split.add_granular(snapshot, index, group, filter, &subtrees);
            }
        }
        split.find_contested();
        split
    }

    fn add_unsuffixed(&mut self, group: usize, filter: ProviderFilter) {
        for &amount in &filter.amounts {
            let mut filter = ProviderFilter {
                amounts: vec![amount],
                root: TraitIds::default(),
                host: None,
                tree: None,
                spans_tree: false,
                ..filter.clone()
            };
            filter.traits.required.clear();
            filter.members.any_of.clear();
            self.add(
                group,
                PartKind {
                    filter,
                    ..PartKind::default()
                },
            );
        }
        self.unsuffixed = Some(UnsuffixedGroup {
            required: filter.traits.required,
            members: filter.members,
            tree: filter.tree,
        });
    }

    fn add_granular(
        &mut self,
        snapshot: &Snapshot,
        index: usize,
        group: &Group,
        filter: ProviderFilter,
        subtrees: &[BTreeSet<&str>],
    ) {
        let tree = filter.tree.map(|root| by_block(snapshot.tree(root)));
        let filter = ProviderFilter {
            root: TraitIds::default(),
            host: None,
            ..filter
        };
        let subtrees = subtrees
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.contains(&*group.suffix));
        let kind = PartKind {
            filter,
            granular: true,
            subtrees: subtrees.map(|(index, _)| index).collect(),
            lanes: tree.map(|blocks| blocks.into_iter().collect()),
            ..PartKind::default()
        };
        self.add(index, kind);
    }

    /// Adds a part, with a new kind if no equal kind exists.
    fn add(&mut self, group: usize, kind: PartKind) {
        let known = self.kinds.iter().position(|other| *other == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        self.parts.push(RequestPart { group, kind });
    }

    /// Whether no condition relates several parts: a provider that suits a part alone suits the part beside all others.
    pub fn is_unrelated(&self) -> bool {
        let one_provider = self.nested || self.parts.len() == 1;
        let has_traits = self.unsuffixed.as_ref().is_some_and(|group| !group.required.is_empty());
        one_provider && !has_traits && self.classes.is_empty() && !self.isolate && self.subtrees == 0
    }

    /// The minimum number of suitable providers for a kind in a tree.
    pub fn min_providers(&self, kind: usize) -> u32 {
        if !(self.isolate && self.kinds[kind].granular) {
            return 1;
        }
        self.parts.iter().map(|part| u32::from(part.kind == kind)).sum()
    }

    /// A class is contested if two parts with an amount of the class may share a provider. For all other classes, a
    /// provider that suits a part alone also suits the part after more parts were placed.
    fn find_contested(&mut self) {
        let mut by_class: BTreeMap<ClassId, (usize, usize, i64)> = BTreeMap::new();
        for part in &self.parts {
            let kind = &self.kinds[part.kind];
            for &(class, amount) in &kind.filter.amounts {
                let (granular, unsuffixed, demand) = by_class.entry(class).or_default();
                *(if kind.granular { granular } else { unsuffixed }) += 1;
                *demand = demand.saturating_add(amount);
            }
        }
        let may_share_provider =
            |granular: usize, unsuffixed: usize| granular > 0 && unsuffixed > 0 || granular > 1 && !self.isolate;
        let contested = by_class
            .into_iter()
            .filter(|(_, (granular, unsuffixed, _))| may_share_provider(*granular, *unsuffixed));
        (self.classes, self.demand) = contested.map(|(class, (_, _, demand))| (class, demand)).unzip();
        for kind in &mut self.kinds {
            let index = |&(class, amount): &(ClassId, i64)| Some((self.classes.binary_search(&class).ok()?, amount));
            kind.contested = kind.filter.amounts.iter().filter_map(index).collect();
            kind.largest = kind.contested.iter().map(|&(_, amount)| amount).max();
        }
    }
}

/// The rules of `same_subtree` with several groups, without repetitions: each rule costs time for each placed part.
fn rules(request: &Request) -> Vec<BTreeSet<&str>> {
    let all = request.same_subtrees.iter();
    let all: BTreeSet<BTreeSet<&str>> = all.map(|rule| rule.iter().map(String::as_str).collect()).collect();
    all.into_iter().filter(|rule| rule.len() > 1).collect()
}
