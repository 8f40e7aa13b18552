//! Evaluates counts of replicas against the rules of a dimension. The verdict is exact, while the bounds of a search
//! are approximate.

use crate::placing::compared::ComparedDimension;
use crate::placing::compared::even::{Range, share, share_with};
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
    /// The cost of broken soft rules, and the first domain.
    pub cost: Cost,
    pub costly: Option<Site>,
}

/// The verdict on the replicas in each domain, new and placed. `direct`: the free places directly in each domain.
pub fn evaluate(compared: usize, dimension: &ComparedDimension, counts: &[u32], direct: &[u32]) -> Verdict {
    let mut evaluation = Evaluation {
        compared,
        dimension,
        counts,
        direct,
        is_compared: vec![dimension.demands.is_even; dimension.tree.len()],
        even: vec![Range::of(counts[0], counts[0]); dimension.tree.len()],
        verdict: Verdict::default(),
    };
    for parent in (0..dimension.tree.len() as u32).filter(|&domain| dimension.tree.is_live(domain)) {
        if !dimension.tree.children(parent).is_empty() {
            evaluation.judge_children(parent);
        }
    }
    evaluation.verdict
}

struct Evaluation<'a> {
    compared: usize,
    dimension: &'a ComparedDimension,
    counts: &'a [u32],
    direct: &'a [u32],
    /// Whether a hard rule compares the children of a domain.
    is_compared: Vec<bool>,
    /// The even share of a domain, if the rule may be broken.
    even: Vec<Range>,
    verdict: Verdict,
}

impl Evaluation<'_> {
    fn judge_children(&mut self, parent: u32) {
        let (tree, demands) = (&self.dimension.tree, &self.dimension.demands);
        let children = tree.children(parent);
        let below = children.iter().map(|&child| self.counts[child as usize]).sum();
        let is_limited_level = children == tree.limited_level();
        let hard = (self.is_compared[parent as usize] && tree.compares(parent)).then(|| {
            let mut occupied = self.dimension.occupied(parent);
            share_with(below, children.len() as u32, &mut occupied)
        });
        let even = self.even_share(parent, below);
        for &child in children {
            let (count, placed) = (self.counts[child as usize], self.dimension.placed[child as usize]);
            let is_above = hard.is_some_and(|hard| placed > hard.most);
            self.even[child as usize] = even;
            self.is_compared[child as usize] = hard.is_some() && !is_above;
            let range = self.dimension.hard_range(child, hard, is_limited_level);
            let site = |is_over: bool| Site {
                compared: self.compared,
                parent,
                below,
                domain: child,
                is_over,
            };
            if !range.holds(count) && self.verdict.broken.is_none() {
                self.verdict.broken = Some(site(count > range.most));
            }
            let cost = demands.cost_at(count, even, is_limited_level);
            if cost != Cost::ZERO {
                self.verdict.cost += cost;
                self.verdict.costly = self.verdict.costly.or(Some(site(count > even.least)));
            }
        }
    }

    /// The even share of each child of a domain. The share follows from the share of the domain. In a domain with
    /// places of its own, the share follows from the replicas below.
    fn even_share(&self, parent: u32, below: u32) -> Range {
        let children = self.dimension.tree.children(parent).len() as u32;
        if self.direct[parent as usize] > 0 {
            return share(below, children);
        }
        let (of_parent, beside) = (self.even[parent as usize], self.dimension.beside(parent));
        let share_of = |all: u32| share(all.saturating_sub(beside), children);
        Range::of(share_of(of_parent.least).least, share_of(of_parent.most).most)
    }
}
