//! A request taken apart: what has to be placed, each part on one provider.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::candidates::Settings;
use super::super::interrupt::Interrupt;
use super::super::plan::{MemberIds, Plan, TraitIds};
use super::super::request::{Group, GroupPolicy, Request};
use super::super::snapshot::{ClassId, Slot, Snapshot, TraitId, by_block};

/// What has to be placed, and what holds for all of it together.
#[derive(Debug)]
pub(in crate::search) struct Ask {
    /// Asked of the root of the tree that serves.
    pub root: TraitIds,
    pub whole: Option<Whole>,
    pub kinds: Vec<Kind>,
    pub parts: Vec<Part>,
    /// By group.
    pub suffixes: Vec<Arc<str>>,
    /// How many parts want each class of [`Kind::contested`] together.
    pub demand: Vec<i64>,
    pub classes: Vec<ClassId>,
    /// How many rules of `same_subtree` there are.
    pub subtrees: usize,
    /// Does every granular group get a provider of its own?
    pub isolate: bool,
    /// May several providers of one tree serve?
    pub nested: bool,
    pub strict: bool,
    pub interrupt: Interrupt,
}

/// What the group without a suffix asks of its providers together.
#[derive(Debug)]
pub(in crate::search) struct Whole {
    pub required: Vec<Vec<TraitId>>,
    pub members: MemberIds,
    pub tree: Option<Slot>,
}

/// One class of the group without a suffix, or a granular group; groups that ask the same are of one kind.
#[derive(Debug, PartialEq)]
pub(in crate::search) struct Kind {
    /// What a provider needs whatever tree it serves.
    pub plan: Plan,
    pub granular: bool,
    /// The rules of `same_subtree` that it is under.
    pub subtrees: Vec<usize>,
    /// Of `plan.amounts` those of which several parts may come together on one provider: an index into
    /// [`Ask::classes`], and the amount.
    pub contested: Vec<(usize, i64)>,
    /// The greatest of these amounts.
    pub most: Option<i64>,
    /// The lanes that `plan.tree` leaves, by block.
    pub lanes: Option<BTreeMap<usize, u64>>,
}

/// One thing to place.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Part {
    pub group: usize,
    pub kind: usize,
}

impl Ask {
    /// `plans` are those of the request's groups.
    pub fn of(snapshot: &Snapshot, request: &Request, root: TraitIds, plans: Vec<Plan>, settings: &Settings) -> Self {
        let mut ask = Self {
            root,
            whole: None,
            kinds: Vec::new(),
            parts: Vec::new(),
            suffixes: request.groups.iter().map(|group| Arc::from(&*group.suffix)).collect(),
            demand: Vec::new(),
            classes: Vec::new(),
            subtrees: 0,
            isolate: request.group_policy == Some(GroupPolicy::Isolate),
            nested: request.nested,
            strict: settings.strict_step,
            interrupt: settings.interrupt.clone(),
        };
        let subtrees = rules(request);
        ask.subtrees = subtrees.len();
        for (index, (group, plan)) in request.groups.iter().zip(plans).enumerate() {
            if group.suffix.is_empty() {
                ask.add_whole(index, plan);
            } else {
                ask.add_granular(snapshot, index, group, plan, &subtrees);
            }
        }
        ask.find_contested();
        ask
    }

    fn add_whole(&mut self, group: usize, plan: Plan) {
        for &amount in &plan.amounts {
            let plan = Plan {
                amounts: vec![amount],
                traits: TraitIds {
                    required: Vec::new(),
                    forbidden: plan.traits.forbidden.clone(),
                },
                members: MemberIds {
                    any_of: Vec::new(),
                    forbidden: plan.members.forbidden.clone(),
                },
                strict: plan.strict,
                ..Plan::default()
            };
            let kind = Kind {
                plan,
                granular: false,
                subtrees: Vec::new(),
                contested: Vec::new(),
                most: None,
                lanes: None,
            };
            self.add(group, kind);
        }
        self.whole = Some(Whole {
            required: plan.traits.required,
            members: plan.members,
            tree: plan.tree,
        });
    }

    fn add_granular(
        &mut self,
        snapshot: &Snapshot,
        index: usize,
        group: &Group,
        plan: Plan,
        subtrees: &[BTreeSet<&str>],
    ) {
        let lanes = plan
            .tree
            .map(|root| by_block(snapshot.tree(root)).into_iter().collect());
        let plan = Plan {
            root: TraitIds::default(),
            ..plan
        };
        let subtrees = subtrees
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.contains(&*group.suffix));
        let kind = Kind {
            plan,
            granular: true,
            subtrees: subtrees.map(|(index, _)| index).collect(),
            contested: Vec::new(),
            most: None,
            lanes,
        };
        self.add(index, kind);
    }

    fn add(&mut self, group: usize, kind: Kind) {
        let known = self.kinds.iter().position(|other| *other == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        self.parts.push(Part { group, kind });
    }

    /// At least so many providers of a tree have to suit a kind.
    pub fn least(&self, kind: usize) -> u32 {
        if !(self.isolate && self.kinds[kind].granular) {
            return 1;
        }
        self.parts.iter().map(|part| u32::from(part.kind == kind)).sum()
    }

    /// Can parts take away from each other what each could have alone?
    pub fn may_run_short(&self) -> bool {
        self.isolate || !self.classes.is_empty()
    }

    /// A class is contested if two parts that want it may share a provider. Of all others a provider that suits a part
    /// alone suits it in company.
    fn find_contested(&mut self) {
        let mut wanted: BTreeMap<ClassId, (usize, usize, i64)> = BTreeMap::new();
        for part in &self.parts {
            let kind = &self.kinds[part.kind];
            for &(class, amount) in &kind.plan.amounts {
                let (granular, whole, demand) = wanted.entry(class).or_default();
                *(if kind.granular { granular } else { whole }) += 1;
                *demand = demand.saturating_add(amount);
            }
        }
        let meet = |granular: usize, whole: usize| granular > 0 && whole > 0 || granular > 1 && !self.isolate;
        let contested = wanted
            .into_iter()
            .filter(|(_, (granular, whole, _))| meet(*granular, *whole));
        (self.classes, self.demand) = contested.map(|(class, (_, _, demand))| (class, demand)).unzip();
        for kind in &mut self.kinds {
            let index = |&(class, amount): &(ClassId, i64)| Some((self.classes.binary_search(&class).ok()?, amount));
            kind.contested = kind.plan.amounts.iter().filter_map(index).collect();
            kind.most = kind.contested.iter().map(|&(_, amount)| amount).max();
        }
    }
}

/// The rules of `same_subtree` that say something, each once: every one costs time for each part placed.
fn rules(request: &Request) -> Vec<BTreeSet<&str>> {
    let all = request.same_subtrees.iter();
    let all: BTreeSet<BTreeSet<&str>> = all.map(|rule| rule.iter().map(String::as_str).collect()).collect();
    all.into_iter().filter(|rule| rule.len() > 1).collect()
}
