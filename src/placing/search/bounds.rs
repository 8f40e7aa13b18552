//! Bounds of a minimum-cost flow: how many replicas each domain of one dimension may have.
//!
//! Let a domain have `c` or `c + 1` replicas, and let its children have even shares. Then each child has `g` or `g + 1`
//! replicas, with the same `g` for both totals. So the bounds of the whole tree follow from the total. There are two
//! exceptions: mixed domains, which have hosts of their own beside children, and children above their share. Below an
//! exception the range of replicas is wide, and the search splits the range.

use std::collections::HashMap;

use crate::placing::compared::even::{Range, SiblingCounts};
use crate::placing::compared::{ComparedDimension, CountBounds};
use crate::placing::cost::Cost;

/// A part of the search: limits the replicas in the children of a domain to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The index of the compared dimension.
    pub compared: usize,
    pub domain: u32,
    pub range: Range,
}

/// The bounds of all domains of a dimension.
pub struct Bounds {
    /// By domain. Entries of dead domains mean nothing.
    pub domains: Vec<CountBounds>,
    /// The replicas in the children of each domain, new and placed.
    pub below: Vec<Range>,
}

impl Bounds {
    /// The cost of the domains before a replica is placed.
    pub fn cost_before(&self, dimension: &ComparedDimension, direct: &[u32]) -> Cost {
        let tree = &dimension.tree;
        let live = (0..tree.len() as u32).filter(|&domain| tree.is_live(domain));
        let costs = live.map(|domain| {
            let at = domain as usize;
            let own = match domain {
                0 => Cost::ZERO,
                _ => self.domains[at].cost_at(dimension.placed[at], &dimension.demands),
            };
            let is_mixed = direct[at] > 0 && !tree.children(domain).is_empty();
            let beside = if is_mixed { dimension.directly(domain) } else { 0 };
            own + Cost::of_square(dimension.weight_beside(domain), beside)
        });
        costs.fold(Cost::ZERO, |sum, cost| sum + cost)
    }
}

/// The bounds of a dimension with `new` more replicas within splits. `direct` are the free places directly in each
/// domain. `None` if no bounds fit together.
pub fn bounds(dimension: &ComparedDimension, direct: &[u32], new: u32, splits: &[Split]) -> Option<Bounds> {
    let tree = &dimension.tree;
    let mut walk = Walk::of(dimension, direct, new);
    let split_of: HashMap<u32, Range> = splits.iter().map(|split| (split.domain, split.range)).collect();
    for domain in (0..tree.len() as u32).filter(|&domain| tree.is_live(domain)) {
        if !tree.children(domain).is_empty() {
            walk.limit_below(domain, split_of.get(&domain).copied())?;
            walk.limit_children(domain);
        }
    }
    Some(Bounds {
        domains: walk.domains,
        below: walk.below,
    })
}

/// A walk over the domains, each after its parent.
pub struct Walk<'a> {
    dimension: &'a ComparedDimension,
    direct: &'a [u32],
    new: u32,
    pub domains: Vec<CountBounds>,
    /// As [`Bounds::below`].
    pub below: Vec<Range>,
    /// The replicas of a domain, if a hard rule compares its children.
    follows: Vec<Option<Range>>,
}

impl<'a> Walk<'a> {
    pub fn of(dimension: &'a ComparedDimension, direct: &'a [u32], new: u32) -> Walk<'a> {
        let domains = dimension.tree.len();
        let mut walk = Walk {
            dimension,
            direct,
            new,
            domains: vec![CountBounds::default(); domains],
            below: vec![Range::default(); domains],
            follows: vec![None; domains],
        };
        let total = dimension.placed[0] + new;
        let all = Range::of(total, total);
        walk.follows[0] = Some(all);
        (walk.domains[0].hard, walk.domains[0].even) = (all, all);
        walk
    }

    /// Sets the range of the replicas in the children of a domain. `None` if the range is empty.
    fn limit_below(&mut self, domain: u32, split: Option<Range>) -> Option<()> {
        let at = domain as usize;
        let beside = self.dimension.beside(domain);
        let inside = self.dimension.below[at];
        let mut below = Range::of(inside, inside + self.new);
        if let Some(all) = self.follows[at] {
            below.least = below.least.max(less(all.least, beside + i64::from(self.direct[at])));
            below.most = below.most.min(less(all.most, beside));
        }
        if let Some(split) = split {
            below = Range::of(below.least.max(split.least), below.most.min(split.most));
            // Without places of its own, the domain has as many replicas as its children, and those beside.
            if self.direct[at] == 0 && domain > 0 {
                let own = &mut self.domains[at].hard;
                *own = Range::of(
                    own.least.max(less(below.least, -beside)),
                    own.most.min(less(below.most, -beside)),
                );
            }
        }
        self.below[at] = below;
        (below.least <= below.most).then_some(())
    }

    /// Sets the bounds of the children of a domain from the range below the domain.
    pub fn limit_children(&mut self, domain: u32) {
        let at = domain as usize;
        let (tree, below) = (&self.dimension.tree, self.below[at]);
        let children = tree.children(domain);
        let count = children.len() as u32;
        let is_compared = self.dimension.demands.is_even && tree.compares(domain);
        let siblings = self.dimension.siblings(domain);
        let hard = (is_compared && self.follows[at].is_some()).then(|| siblings.shares(below));
        let (own, beside) = (self.domains[at].even, self.dimension.beside(domain));
        let even_below = match self.direct[at] {
            0 => Range::of(less(own.least, beside), less(own.most, beside)),
            _ => below,
        };
        let keeps_placed = self.dimension.keeps_placed;
        let even = if keeps_placed {
            siblings
        } else {
            SiblingCounts::new(count, Vec::new())
        }
        .shares(even_below);
        let is_limited_level = children == tree.limited_level();
        for &child in children {
            let placed = self.dimension.placed[child as usize];
            self.follows[child as usize] = hard.filter(|hard| placed <= hard.most);
            self.domains[child as usize] = CountBounds {
                hard: self.dimension.hard_range(child, hard, is_limited_level),
                even: if keeps_placed { even.beside(placed) } else { even },
                is_limited_level,
                weight: self.dimension.weight(child),
            };
        }
    }
}

/// A number less the replicas beside the children of a domain, and not below zero.
fn less(number: u32, beside: i64) -> u32 {
    (i64::from(number) - beside).clamp(0, u32::MAX.into()) as u32
}
