//! Evaluates counts of replicas against the rules of a dimension. The verdict is exact, while the bounds of a search
//! are approximate.

use super::bounds::Walk;
use crate::placing::compared::ComparedDimension;
use crate::placing::compared::even::Range;
use crate::placing::cost::Cost;

/// The domain in which a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The index of the compared dimension.
    pub compared: usize,
    /// The domain whose children are compared, and the replicas in all of them.
    pub parent: u32,
    pub below: u32,
    pub domain: u32,
    /// Whether the domain has too many, or too few.
    pub is_over: bool,
}

/// The broken rules of a dimension.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// The first domain in which a hard rule is broken.
    pub broken: Option<Site>,
    /// The cost of broken soft rules and of uneven counts.
    pub cost: Cost,
    /// The first domain in which a soft rule is broken.
    pub costly: Option<Site>,
}

/// The verdict on the replicas in each domain, new and placed. `direct`: the free places directly in each domain.
pub fn evaluate(compared: usize, dimension: &ComparedDimension, counts: &[u32], direct: &[u32]) -> Verdict {
    let tree = &dimension.tree;
    let mut walk = Walk::of(dimension, direct, counts[0] - dimension.placed[0]);
    let mut verdict = Verdict::default();
    let has_children = |domain: &u32| tree.is_live(*domain) && !tree.children(*domain).is_empty();
    for parent in (0..tree.len() as u32).filter(has_children) {
        let children = tree.children(parent);
        let below: u32 = children.iter().map(|&child| counts[child as usize]).sum();
        walk.below[parent as usize] = Range::of(below, below);
        walk.limit_children(parent);
        if direct[parent as usize] > 0 {
            let all = i64::from(counts[parent as usize]) - i64::from(below);
            let new = (all - dimension.beside(parent)) as u32;
            verdict.cost += Cost::of_square(dimension.weight_beside(parent), dimension.directly(parent) + new);
        }
        for &child in children {
            let (count, bounds) = (counts[child as usize], &walk.domains[child as usize]);
            let site = |is_over: bool| Site {
                compared,
                parent,
                below,
                domain: child,
                is_over,
            };
            if !bounds.hard.holds(count) && verdict.broken.is_none() {
                verdict.broken = Some(site(count > bounds.hard.most));
            }
            let cost = dimension.demands.cost_at(count, bounds.even, bounds.is_limited_level);
            verdict.cost += cost + Cost::of_square(bounds.weight, count);
            if cost != Cost::ZERO {
                verdict.costly = verdict.costly.or(Some(site(count > bounds.even.least)));
            }
        }
    }
    verdict
}
