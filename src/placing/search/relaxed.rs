//! The relaxed placement: the cheapest choice of cells within the bounds of at most two dimensions, as a minimum-cost
//! flow.
//!
//! The replicas flow from the root of the first tree down to its leaves, over a cell each, and up the second tree to
//! its root. Each domain is an arc with its bounds. Each cell is an arc whose units are its slots, cheapest first. The
//! flow leaves out all other dimensions, and the assignment of roles. So the cost is a lower bound.

use std::collections::HashMap;

use super::bounds::{Bounds, Split, bounds};
use super::flow::{Arc, Network, UnitCosts};
use super::growth::Growth;
use super::roles::RoleLimits;
use crate::placing::budget::Budget;
use crate::placing::cells::{CellSlot, Cells};
use crate::placing::compared::Compared;
use crate::placing::compared::even::Range;
use crate::placing::cost::Cost;

/// A part of the search.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub splits: Vec<Split>,
    /// Bounds of the replicas in some cells.
    pub cells: HashMap<u32, Range>,
    /// Bounds of roles on items, which the flow over cells ignores.
    pub roles: RoleLimits,
    /// The cell of [`Growth`] that is left a place for one replica more.
    pub room_in: Option<u32>,
}

/// The problem that all parts of a search share.
pub struct Relaxation<'a> {
    pub compared: &'a Compared,
    pub cells: &'a Cells,
    /// The number of new replicas.
    pub new: u32,
    /// Free places directly in each domain, by compared dimension.
    pub direct: Vec<Vec<u32>>,
    /// The compared dimensions of the flow: down the first, and up the second.
    pub flow: [Option<usize>; 2],
    /// By end of the flow, whether cells are in each domain or below. No flow goes to unused domains.
    is_used: [Vec<bool>; 2],
    /// Cells in the order of their leaf in the first dimension.
    by_leaf: Vec<u32>,
    /// The cost of the hosts before a replica is placed, without the prices that each placement pays.
    cost_before: Cost,
    pub budget: &'a Budget<'a>,
}

/// The cheapest choice within a part.
#[derive(Clone)]
pub struct Choice {
    pub cost: Cost,
    /// Cells with the number of replicas in each cell.
    pub taken: Vec<(u32, u32)>,
    /// By end of the flow, the range of the replicas in the children of each domain.
    pub below: [Option<Vec<Range>>; 2],
}

/// Why a part has no choice.
pub enum Nothing {
    /// The least bounds of domains contradict each other or cannot be reached.
    Bounds,
    /// The most new replicas that can be placed.
    Most(u32),
}

impl<'a> Relaxation<'a> {
    pub fn new(
        compared: &'a Compared,
        cells: &'a Cells,
        (new, cost_before): (u32, Cost),
        budget: &'a Budget<'a>,
    ) -> Relaxation<'a> {
        let (all, flow) = (&compared.dimensions, compared.flow);
        let leaf = |cell: u32| flow[0].map_or(0, |first| cells.leaf(cell as usize, first));
        let mut by_leaf: Vec<(u32, u32)> = (0..cells.len() as u32).map(|cell| (leaf(cell), cell)).collect();
        budget.sort(&mut by_leaf);
        budget.count_list((cells.len() * all.len()) as u64);
        Relaxation {
            compared,
            cells,
            new,
            direct: cells.direct(compared, new),
            is_used: flow.map(|at| at.map_or_else(Vec::new, |at| used(compared, cells, at))),
            flow,
            by_leaf: by_leaf.into_iter().map(|(_, cell)| cell).collect(),
            cost_before: cost_before - cells.paid,
            budget,
        }
    }

    /// The cheapest choice of a part.
    pub fn solve(&self, part: &Part, growth: Option<&Growth>) -> Result<Choice, Nothing> {
        let mut ends = [None, None];
        for (end, compared) in ends.iter_mut().zip(self.flow) {
            let Some(at) = compared else { continue };
            let splits: Vec<Split> = part
                .splits
                .iter()
                .filter(|split| split.compared == at)
                .copied()
                .collect();
            let dimension = &self.compared.dimensions[at];
            self.budget.count_list(dimension.tree.len() as u64);
            let mut bounds = bounds(dimension, &self.direct[at], self.new, &splits).ok_or(Nothing::Bounds)?;
            if let (Some(cell), Some(growth)) = (part.room_in, growth) {
                let limited = growth.limit(&mut bounds, (at, cell), (&self.direct[at], self.new), &splits);
                limited.ok_or(Nothing::Bounds)?;
            }
            *end = Some(bounds);
        }
        if self.budget.has_ended() {
            return Err(Nothing::Bounds);
        }
        let arcs = CellArcs::new(self, part, &ends);
        let mut network = Network::new(arcs.nodes, arcs.arcs.clone(), &arcs, self.budget);
        let sent = network.send(self.new, None);
        if sent.units < self.new {
            return Err(Nothing::Most(sent.units));
        }
        let cost = sent.cost + arcs.cost_before() + self.cost_before;
        if !cost.keeps_hard_bounds() {
            return Err(Nothing::Bounds);
        }
        let taken = arcs.units.iter().enumerate().filter_map(|(arc, unit)| match unit {
            Unit::Cell(cell) if network.flow(arc) > 0 => Some((*cell, network.flow(arc))),
            _ => None,
        });
        let taken = taken.collect();
        Ok(Choice {
            cost,
            taken,
            below: ends.map(|end| end.map(|bounds| bounds.below)),
        })
    }

    /// The replicas in each domain of a compared dimension and below, new and placed.
    pub fn counts(&self, choice: &Choice, compared: usize) -> Vec<u32> {
        let dimension = &self.compared.dimensions[compared];
        let mut counts = vec![0; dimension.tree.len()];
        for &(cell, number) in &choice.taken {
            counts[self.cells.leaf(cell as usize, compared) as usize] += number;
        }
        dimension.tree.sum_up(&mut counts);
        for (count, placed) in counts.iter_mut().zip(&dimension.placed) {
            *count += placed;
        }
        counts
    }

    /// Whether the replicas below a domain are an arc of their own, beside places directly in the domain.
    pub fn has_hub(&self, compared: usize, domain: u32) -> bool {
        let dimension = &self.compared.dimensions[compared];
        self.direct[compared][domain as usize] > 0 && !dimension.tree.children(domain).is_empty()
    }
}

/// Whether cells are in each domain of a compared dimension or below.
fn used(compared: &Compared, cells: &Cells, at: usize) -> Vec<bool> {
    let tree = &compared.dimensions[at].tree;
    let mut used = vec![false; tree.len()];
    used[0] = true;
    for cell in 0..cells.len() {
        let mut domain = cells.leaf(cell, at);
        while !std::mem::replace(&mut used[domain as usize], true) {
            domain = tree.parent(domain);
        }
    }
    used
}

/// The meaning of an arc. The first number is the end of the flow.
#[derive(Clone, Copy)]
enum Unit {
    Domain(usize, u32),
    Below(usize, u32),
    /// The replicas on hosts directly in a domain with children.
    Direct(usize, u32),
    Cell(u32),
}

/// The nodes of a domain: its own, and of the replicas in its children and beside its children. All are the same node
/// if the domain has no places beside children.
#[derive(Clone, Copy, Default)]
struct Nodes {
    own: u32,
    below: u32,
    direct: u32,
}

/// The arcs of one part.
struct CellArcs<'a> {
    relaxation: &'a Relaxation<'a>,
    part: &'a Part,
    ends: &'a [Option<Bounds>; 2],
    nodes: usize,
    arcs: Vec<Arc>,
    units: Vec<Unit>,
}

impl<'a> CellArcs<'a> {
    fn new(relaxation: &'a Relaxation<'a>, part: &'a Part, ends: &'a [Option<Bounds>; 2]) -> CellArcs<'a> {
        let mut all = CellArcs {
            relaxation,
            part,
            ends,
            nodes: 0,
            arcs: Vec::new(),
            units: Vec::new(),
        };
        let nodes = [all.number_nodes(0), all.number_nodes(1)];
        let cells = relaxation.by_leaf.iter().map(|&cell| {
            let leaf = |end: usize| relaxation.flow[end].map_or(0, |at| relaxation.cells.leaf(cell as usize, at));
            let node = |end: usize| nodes[end][leaf(end) as usize].direct;
            (
                Arc {
                    from: node(0),
                    to: node(1),
                },
                Unit::Cell(cell),
            )
        });
        let domains = (0..2).flat_map(|end| all.domains(end, &nodes[end]));
        let mut arcs: Vec<(Arc, Unit)> = cells.chain(domains).collect();
        arcs.sort_by_key(|(arc, _)| arc.from);
        (all.arcs, all.units) = arcs.into_iter().unzip();
        all
    }

    fn end(&self, end: usize) -> Option<usize> {
        self.relaxation.flow[end]
    }

    /// The nodes of each used domain. Each arc leads to a greater node.
    fn number_nodes(&mut self, end: usize) -> Vec<Nodes> {
        let Some(at) = self.relaxation.flow[end] else {
            self.nodes += 1;
            let only = self.nodes as u32 - 1;
            return vec![Nodes {
                own: only,
                below: only,
                direct: only,
            }];
        };
        let tree = &self.relaxation.compared.dimensions[at].tree;
        let mut numbers = vec![Nodes::default(); tree.len()];
        let mut set = |domain: u32| {
            let first = self.nodes as u32;
            let has_hub = self.relaxation.has_hub(at, domain);
            self.nodes += if has_hub { 3 } else { 1 };
            let [second, third] = if has_hub { [first + 1, first + 2] } else { [first; 2] };
            numbers[domain as usize] = if end == 0 {
                Nodes {
                    own: first,
                    below: second,
                    direct: third,
                }
            } else {
                Nodes {
                    direct: first,
                    below: second,
                    own: third,
                }
            };
        };
        let is_used = &self.relaxation.is_used[end];
        let used = (0..tree.len() as u32).filter(|&domain| is_used[domain as usize]);
        if end == 0 {
            used.for_each(&mut set);
        } else {
            used.rev().for_each(&mut set);
        }
        numbers
    }

    /// The arcs of the domains, down the first tree or up the second.
    fn domains(&self, end: usize, nodes: &[Nodes]) -> Vec<(Arc, Unit)> {
        let Some(at) = self.end(end) else { return Vec::new() };
        let tree = &self.relaxation.compared.dimensions[at].tree;
        let directed = |outer: u32, inner: u32| match end {
            0 => Arc { from: outer, to: inner },
            _ => Arc { from: inner, to: outer },
        };
        let mut all = Vec::new();
        let is_used = &self.relaxation.is_used[end];
        for domain in (0..tree.len() as u32).filter(|&domain| is_used[domain as usize]) {
            let Nodes { own, below, direct } = nodes[domain as usize];
            if domain > 0 {
                let outer = nodes[tree.parent(domain) as usize].below;
                all.push((directed(outer, own), Unit::Domain(end, domain)));
            }
            if own != below {
                all.push((directed(own, below), Unit::Below(end, domain)));
                all.push((directed(own, direct), Unit::Direct(end, domain)));
            }
        }
        all
    }

    /// The cost before a replica is placed, with the bounds that are not reached.
    fn cost_before(&self) -> Cost {
        let ends = self.ends.iter().zip(self.relaxation.flow);
        let ends = ends.filter_map(|(bounds, at)| {
            let (bounds, at) = (bounds.as_ref()?, at?);
            let dimension = &self.relaxation.compared.dimensions[at];
            Some(bounds.cost_before(dimension, &self.relaxation.direct[at]))
        });
        let cells = self.part.cells.values().map(|range| Cost::HARD * range.least);
        let below = self.units.iter().filter_map(|unit| match *unit {
            Unit::Below(end, domain) => {
                let (range, placed) = self.below(end, domain)?;
                Some(Cost::HARD * range.least.saturating_sub(placed))
            }
            _ => None,
        });
        ends.chain(cells).chain(below).fold(Cost::ZERO, |sum, cost| sum + cost)
    }

    /// The range of the replicas in the children of a domain, and the number of placed replicas among them.
    fn below(&self, end: usize, domain: u32) -> Option<(Range, u32)> {
        let dimension = &self.relaxation.compared.dimensions[self.end(end)?];
        let range = self.ends[end].as_ref()?.below[domain as usize];
        Some((range, dimension.below[domain as usize]))
    }

    fn cell_unit(&self, cell: u32, number: u32) -> Option<Cost> {
        let CellSlot { cost, .. } = *self.relaxation.cells.slots(cell as usize).get(number as usize)?;
        if self.part.cells.is_empty() {
            return Some(cost);
        }
        match self.part.cells.get(&cell) {
            Some(range) if number >= range.most => None,
            Some(range) if number < range.least => Some(cost - Cost::HARD),
            _ => Some(cost),
        }
    }
}

impl UnitCosts for CellArcs<'_> {
    fn unit(&self, arc: u32, number: u32) -> Option<Cost> {
        match self.units[arc as usize] {
            Unit::Cell(cell) => self.cell_unit(cell, number),
            Unit::Domain(end, domain) => {
                let dimension = &self.relaxation.compared.dimensions[self.end(end)?];
                let bounds = &self.ends[end].as_ref()?.domains[domain as usize];
                let count = dimension.placed[domain as usize] + number;
                (bounds.more(count) > 0).then(|| bounds.unit(count, &dimension.demands))
            }
            Unit::Below(end, domain) => {
                let (range, placed) = self.below(end, domain)?;
                let count = placed + number;
                let gain = if count < range.least { Cost::HARD } else { Cost::ZERO };
                (count < range.most).then_some(-gain)
            }
            Unit::Direct(end, domain) => {
                let dimension = &self.relaxation.compared.dimensions[self.end(end)?];
                let weight = dimension.weight_beside(domain);
                let count = dimension.directly(domain) + number;
                Some(Cost::of_square(weight, count + 1) - Cost::of_square(weight, count))
            }
        }
    }
}
