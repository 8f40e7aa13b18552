//! What the search cannot answer yet: it is refused, because an answer would be wrong.
//!
//! Granular groups always are. Trees and sharing providers are refused where they would add a candidate made of several
//! providers, and only there: every candidate of a single provider is found without this. What is not worked out
//! exactly (which combination has the required traits together; beside sharing providers, which takes one provider of a
//! tree only) is refused where it might be.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Plan;
use super::request::Request;
use super::scan::{can_give, has_forbidden, has_traits, is_forbidden, is_inside};
use super::snapshot::{Slot, Snapshot, lanes_of};
use crate::error::{Error, Result};

/// `plan` is that of the group without a suffix; none where it matches nobody.
///
/// # Errors
/// [`Error::NotImplemented`] where the right answer needs more than one provider a candidate.
pub(super) fn check(snapshot: &Snapshot, request: &Request, plan: Option<&Plan>) -> Result<()> {
    if request.groups.iter().any(|group| !group.suffix.is_empty()) || !request.same_subtrees.is_empty() {
        return refuse("granular request groups");
    }
    let Some(plan) = plan else { return Ok(()) };
    // Without nesting, candidates that take from several providers of one tree are not wanted.
    if request.nested && snapshot.has_trees() && combines_in_a_tree(snapshot, plan) {
        return refuse("allocation candidates that combine several providers of one tree");
    }
    if plan.tree.is_none() && combines_by_sharing(snapshot, plan) {
        return refuse("allocation candidates that combine a provider with a sharing provider");
    }
    Ok(())
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::NotImplemented {
        detail: format!("placet does not serve {what} yet."),
    })
}

fn combines_in_a_tree(snapshot: &Snapshot, plan: &Plan) -> bool {
    let combines = |&root: &Slot| {
        let able = serving(snapshot, plan, root).collect::<Vec<_>>();
        able.len() > 1 && is_anchor(snapshot, plan, root) && combines(snapshot, plan, &able)
    };
    match plan.tree {
        Some(root) => combines(&root),
        None => all_roots(snapshot)
            .filter(|&root| !snapshot.children(root).is_empty())
            .any(|root| combines(&root)),
    }
}

/// A sharing provider serves the tree of every provider that has an aggregate in common with it.
fn combines_by_sharing(snapshot: &Snapshot, plan: &Plan) -> bool {
    let usable = |&slot: &Slot| is_inside(snapshot, &plan.members, slot) && may_serve(snapshot, plan, slot);
    let sharing: Vec<Slot> = snapshot.sharing().filter(usable).collect();
    if sharing.is_empty() {
        return false;
    }
    let combines = |(root, mut sharing): (Slot, BTreeSet<Slot>)| {
        let foreign = |&slot: &Slot| snapshot.root(slot) != root;
        if !is_anchor(snapshot, plan, root) || !sharing.iter().any(foreign) {
            return false;
        }
        // Alone it is a candidate of its own tree, unless that tree's root is not what the request wants of a root.
        let serves_alone = |&slot: &Slot| (0..plan.amounts.len()).all(|at| can_give(snapshot, plan, slot, at));
        let not_at_home = |slot: &Slot| !is_anchor(snapshot, plan, snapshot.root(*slot));
        let alone = sharing.iter().filter(|slot| not_at_home(slot)).any(serves_alone);
        sharing.extend(serving(snapshot, plan, root));
        alone || combines(snapshot, plan, &sharing.into_iter().collect::<Vec<_>>())
    };
    anchors(snapshot, &sharing).into_iter().any(combines)
}

/// The roots whose trees have a provider in an aggregate of a sharing one, with those sharing ones.
fn anchors(snapshot: &Snapshot, sharing: &[Slot]) -> BTreeMap<Slot, BTreeSet<Slot>> {
    let mut by_aggregate: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
    for &slot in sharing {
        snapshot
            .aggregates(slot)
            .for_each(|aggregate| by_aggregate.entry(aggregate).or_default().push(slot));
    }
    let mut anchors: BTreeMap<Slot, BTreeSet<Slot>> = BTreeMap::new();
    for (block, data) in snapshot.blocks().iter().enumerate() {
        for (aggregate, lanes) in data.fixed.aggregates.iter() {
            let Some(sharing) = by_aggregate.get(&aggregate) else {
                continue;
            };
            for lane in lanes_of(lanes) {
                anchors
                    .entry(snapshot.root(Slot::new(block, lane)))
                    .or_default()
                    .extend(sharing);
            }
        }
    }
    anchors
}

fn all_roots(snapshot: &Snapshot) -> impl Iterator<Item = Slot> {
    let blocks = snapshot.blocks().iter().enumerate();
    blocks.flat_map(|(block, data)| lanes_of(data.present & data.roots).map(move |lane| Slot::new(block, lane)))
}

/// May `root` stand at the top of a candidate?
fn is_anchor(snapshot: &Snapshot, plan: &Plan, root: Slot) -> bool {
    has_traits(snapshot, &plan.root, root) && !is_forbidden(snapshot, &plan.members, root)
}

/// The providers of a tree that could serve a part of the plan.
fn serving(snapshot: &Snapshot, plan: &Plan, root: Slot) -> impl Iterator<Item = Slot> {
    let spanned = is_inside(snapshot, &plan.members, root);
    let is_member = move |&slot: &Slot| spanned || is_inside(snapshot, &plan.members, slot);
    snapshot
        .tree(root)
        .into_iter()
        .filter(is_member)
        .filter(|&slot| may_serve(snapshot, plan, slot))
}

/// Could it give some of what is asked, without anything that is forbidden?
fn may_serve(snapshot: &Snapshot, plan: &Plan, slot: Slot) -> bool {
    !is_forbidden(snapshot, &plan.members, slot)
        && !has_forbidden(snapshot, &plan.traits, slot)
        && (0..plan.amounts.len()).any(|at| can_give(snapshot, plan, slot, at))
}

/// Could several of `able` serve the plan together? Each of them can serve a part: so if all parts can be served, there
/// are several parts, and there are several who can, then some serve it together.
fn combines(snapshot: &Snapshot, plan: &Plan, able: &[Slot]) -> bool {
    let given = |at| able.iter().any(|&slot| can_give(snapshot, plan, slot, at));
    let has = |any_of: &Vec<_>| {
        able.iter()
            .any(|&slot| any_of.iter().any(|&it| snapshot.has_trait(slot, it)))
    };
    plan.amounts.len() > 1
        && able.len() > 1
        && (0..plan.amounts.len()).all(given)
        && plan.traits.required.iter().all(has)
}
