//! The relaxed placement: the cheapest choice of cells within the bounds of at most two dimensions, as a minimum-cost
//! flow.
//!
//! The replicas flow from the root of the first tree down to its leaves, over a cell each, and up the second tree to
//! its root. Each domain is an arc with its bounds. Each cell is an arc whose units are its slots, cheapest first. The
//! flow leaves out all other dimensions, and the assignment of roles. So the cost is a lower bound.

use std::collections::BTreeMap;

use super::bounds::{Bounds, Split, bounds};
use super::flow::{Network, UnitCosts};
use super::graph::{Graph, Unit, has_hub};
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
    pub cells: BTreeMap<u32, Range>,
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
    graph: Graph,
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
        let flow = compared.flow;
        budget.count_list((cells.len() * compared.dimensions.len()) as u64);
        let direct = cells.direct(compared, new);
        Relaxation {
            compared,
            cells,
            new,
            graph: Graph::of(compared, cells, (flow, &direct), budget),
            direct,
            flow,
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
                let now = (&mut bounds, dimension.demands.is_even);
                let limited = growth.limit(now, (at, cell), (&self.direct[at], self.new), &splits);
                limited.ok_or(Nothing::Bounds)?;
            }
            *end = Some(bounds);
        }
        if self.budget.has_ended() {
            return Err(Nothing::Bounds);
        }
        let costs = PartCosts {
            relaxation: self,
            part,
            ends: &ends,
        };
        let graph = &self.graph;
        let mut network = Network::new(graph.nodes, &graph.arcs, &costs, self.budget);
        let sent = network.send(self.new, None);
        if sent.units < self.new {
            return Err(Nothing::Most(sent.units));
        }
        let cost = sent.cost + costs.cost_before() + self.cost_before;
        if !cost.keeps_hard_bounds() {
            return Err(Nothing::Bounds);
        }
        let taken = graph.units.iter().enumerate().filter_map(|(arc, unit)| match unit {
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
        has_hub(self.compared, &self.direct, compared, domain)
    }
}

/// The costs and the capacities of the graph's arcs in one part.
struct PartCosts<'a> {
    relaxation: &'a Relaxation<'a>,
    part: &'a Part,
    ends: &'a [Option<Bounds>; 2],
}

impl<'a> PartCosts<'a> {
    fn end(&self, end: usize) -> Option<usize> {
        self.relaxation.flow[end]
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
        let below = self.relaxation.graph.units.iter().filter_map(|unit| match *unit {
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

impl UnitCosts for PartCosts<'_> {
    fn unit(&self, arc: u32, number: u32) -> Option<Cost> {
        match self.relaxation.graph.units[arc as usize] {
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
