//! The graph of a relaxed placement: nodes for domains, and arcs for domains and cells. All parts of a search share the
//! graph; the bounds and the costs of the arcs differ.

use super::flow::Arc;
use crate::placing::budget::Budget;
use crate::placing::cells::Cells;
use crate::placing::compared::Compared;

/// The meaning of an arc. The first number is the end of the flow.
#[derive(Clone, Copy)]
pub enum Unit {
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

/// The nodes and arcs of a flow from the root of the first tree down to its leaves, over a cell each, and up the second
/// tree to its root.
pub struct Graph {
    /// The number of nodes. Each arc leads to a greater node.
    pub nodes: usize,
    /// Sorted by the node from which an arc leads.
    pub arcs: Vec<Arc>,
    /// By arc.
    pub units: Vec<Unit>,
}

impl Graph {
    /// `flow`: the compared dimensions at the ends of the flow. `direct`: free places directly in each domain, by
    /// compared dimension.
    pub fn of(
        compared: &Compared,
        cells: &Cells,
        (flow, direct): ([Option<usize>; 2], &[Vec<u32>]),
        budget: &Budget,
    ) -> Graph {
        let mut making = GraphMaking {
            compared,
            flow,
            direct,
            is_used: flow.map(|at| at.map_or_else(Vec::new, |at| used(compared, cells, at))),
            nodes: 0,
        };
        let nodes = [making.number_nodes(0), making.number_nodes(1)];
        let of_cells = (0..cells.len() as u32).map(|cell| {
            let leaf = |end: usize| flow[end].map_or(0, |at| cells.leaf(cell as usize, at));
            let node = |end: usize| nodes[end][leaf(end) as usize].direct;
            let arc = Arc {
                from: node(0),
                to: node(1),
            };
            (arc, Unit::Cell(cell))
        });
        let of_domains = (0..2).flat_map(|end| making.arcs_of_domains(end, &nodes[end]));
        let all: Vec<(Arc, Unit)> = of_cells.chain(of_domains).collect();
        let mut order: Vec<(u32, u32)> = all.iter().map(|(arc, _)| arc.from).zip(0..).collect();
        budget.sort(&mut order);
        let sorted = order.iter().map(|(_, at)| all[*at as usize]);
        let (arcs, units) = sorted.unzip();
        Graph {
            nodes: making.nodes,
            arcs,
            units,
        }
    }
}

/// A graph while its nodes and arcs are made.
struct GraphMaking<'a> {
    compared: &'a Compared,
    flow: [Option<usize>; 2],
    direct: &'a [Vec<u32>],
    /// By end of the flow, whether cells are in each domain or below. No flow goes to unused domains.
    is_used: [Vec<bool>; 2],
    /// The number of nodes so far.
    nodes: usize,
}

impl GraphMaking<'_> {
    /// The nodes of each used domain.
    fn number_nodes(&mut self, end: usize) -> Vec<Nodes> {
        let Some(at) = self.flow[end] else {
            self.nodes += 1;
            let only = self.nodes as u32 - 1;
            return vec![Nodes {
                own: only,
                below: only,
                direct: only,
            }];
        };
        let tree = &self.compared.dimensions[at].tree;
        let mut numbers = vec![Nodes::default(); tree.len()];
        let mut set = |domain: u32| {
            let first = self.nodes as u32;
            let has_hub = has_hub(self.compared, self.direct, at, domain);
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
        let used = (0..tree.len() as u32).filter(|&domain| self.is_used[end][domain as usize]);
        if end == 0 {
            used.for_each(&mut set);
        } else {
            used.rev().for_each(&mut set);
        }
        numbers
    }

    /// The arcs of the domains, down the first tree or up the second.
    fn arcs_of_domains(&self, end: usize, nodes: &[Nodes]) -> Vec<(Arc, Unit)> {
        let Some(at) = self.flow[end] else { return Vec::new() };
        let tree = &self.compared.dimensions[at].tree;
        let directed = |outer: u32, inner: u32| match end {
            0 => Arc { from: outer, to: inner },
            _ => Arc { from: inner, to: outer },
        };
        let mut all = Vec::new();
        for domain in (0..tree.len() as u32).filter(|&domain| self.is_used[end][domain as usize]) {
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

/// Whether the replicas below a domain are an arc of their own, beside places directly in the domain. `at`: the
/// compared dimension.
pub fn has_hub(compared: &Compared, direct: &[Vec<u32>], at: usize, domain: u32) -> bool {
    direct[at][domain as usize] > 0 && !compared.dimensions[at].tree.children(domain).is_empty()
}
