//! Minimum-cost flow of a given value, by shortest augmenting paths with potentials (Dijkstra).
//!
//! The cost of an arc is convex: the next unit never costs less than the one before. So an arc is one edge of the
//! residual network, whose cost changes with its flow. Costs may be negative; the network has no cycle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cost::Cost;
use super::place::Interrupted;

/// An arc of a [`Network`] before it is built.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    pub from: u32,
    pub to: u32,
}

/// What the units of arcs cost.
pub trait UnitCosts {
    /// The cost of the unit with this number, from 0. `None` beyond the capacity of the arc.
    fn unit(&self, arc: u32, number: u32) -> Option<Cost>;
}

/// A network with a flow. Nodes are numbered so that each arc leads to a greater one; the source is 0, the sink the
/// last.
pub struct Network<'a, C> {
    costs: &'a C,
    arcs: Vec<Arc>,
    /// Arcs in the order of `arcs` are those of one node after the other; where each node's begin.
    starts: Vec<u32>,
    flow: Vec<u32>,
    /// The cost of the next unit of each arc.
    next: Vec<Option<Cost>>,
    /// Of each node the arcs with flow that lead to it.
    used: Vec<Vec<u32>>,
    potentials: Vec<Option<Cost>>,
    distances: Vec<Option<Cost>>,
    by: Vec<Step>,
    touched: Vec<u32>,
    /// The number of arcs looked at so far.
    pub steps: u64,
}

/// How a node is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Forward(u32),
    Back(u32),
}

impl<'a, C: UnitCosts> Network<'a, C> {
    /// The arcs must be sorted by the node from which they lead.
    pub fn new(nodes: usize, arcs: Vec<Arc>, costs: &'a C) -> Network<'a, C> {
        let mut starts = vec![0_u32; nodes + 1];
        for arc in &arcs {
            starts[arc.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut network = Network {
            costs,
            starts,
            flow: vec![0; arcs.len()],
            next: (0..arcs.len() as u32).map(|arc| costs.unit(arc, 0)).collect(),
            used: vec![Vec::new(); nodes],
            potentials: vec![None; nodes],
            distances: vec![None; nodes],
            by: vec![Step::Forward(0); nodes],
            touched: Vec::new(),
            steps: arcs.len() as u64,
            arcs,
        };
        network.set_potentials();
        network
    }

    /// Sends up to `wanted` units at the least cost; returns how many, and their cost.
    pub fn send(&mut self, wanted: u32, interrupted: Interrupted) -> (u32, Cost) {
        let (mut cost, mut counted) = (Cost::ZERO, 0);
        for sent in 0..wanted {
            if interrupted(self.steps - std::mem::replace(&mut counted, self.steps)) {
                return (sent, cost);
            }
            match self.augment() {
                Some(of_path) => cost += of_path,
                None => return (sent, cost),
            }
        }
        (wanted, cost)
    }

    pub fn flow(&self, arc: usize) -> u32 {
        self.flow[arc]
    }

    /// By how much a path over a node could be dearer before it is used; `None` if none leads there. Of a node whose
    /// arc to the sink is full.
    pub fn price(&self, node: usize) -> Option<Cost> {
        let sink = self.potentials.len() - 1;
        Some(self.potentials[sink]? - self.potentials[node]?)
    }

    /// The least cost of each node from the source without any flow.
    fn set_potentials(&mut self) {
        self.potentials[0] = Some(Cost::ZERO);
        for arc in 0..self.arcs.len() {
            let Arc { from, to } = self.arcs[arc];
            let (Some(so_far), Some(unit)) = (self.potentials[from as usize], self.next[arc]) else {
                continue;
            };
            let here = &mut self.potentials[to as usize];
            *here = Some(here.map_or(so_far + unit, |other| other.min(so_far + unit)));
        }
    }

    /// Sends one unit along a cheapest path, if there is one.
    fn augment(&mut self) -> Option<Cost> {
        let sink = self.distances.len() - 1;
        let reached = self.search(sink);
        let length = reached.then(|| self.distances[sink]).flatten();
        for at in std::mem::take(&mut self.touched) {
            let distance = self.distances[at as usize].take();
            // Nodes that the search did not get to are at least as far as the sink.
            if let (Some(length), Some(distance), Some(potential)) =
                (length, distance, &mut self.potentials[at as usize])
                && distance < length
            {
                *potential = *potential + distance - length;
            }
        }
        length?;
        let mut cost = Cost::ZERO;
        let mut node = sink;
        while node != 0 {
            let (unit, before) = self.move_unit(node);
            cost += unit;
            node = before;
        }
        Some(cost)
    }

    /// Dijkstra with the costs that potentials reduce. All potentials are kept relative to the sink's, so that nodes
    /// that were not reached need no update.
    fn search(&mut self, sink: usize) -> bool {
        let mut queue = BinaryHeap::new();
        self.distances[0] = Some(Cost::ZERO);
        self.touched.push(0);
        queue.push(Reverse((Cost::ZERO, 0_u32)));
        while let Some(Reverse((distance, node))) = queue.pop() {
            if node as usize == sink {
                return true;
            }
            if self.distances[node as usize] != Some(distance) {
                continue;
            }
            let Some(potential) = self.potentials[node as usize] else {
                continue;
            };
            let base = distance + potential;
            let (from, to) = (self.starts[node as usize], self.starts[node as usize + 1]);
            self.steps += u64::from(to - from) + 1;
            for arc in from..to {
                if let Some(unit) = self.next[arc as usize] {
                    self.reach(&mut queue, self.arcs[arc as usize].to, base + unit, Step::Forward(arc));
                }
            }
            for at in 0..self.used[node as usize].len() {
                let arc = self.used[node as usize][at];
                let last = self.last(arc);
                self.reach(&mut queue, self.arcs[arc as usize].from, base - last, Step::Back(arc));
            }
        }
        false
    }

    fn reach(&mut self, queue: &mut BinaryHeap<Reverse<(Cost, u32)>>, node: u32, base: Cost, step: Step) {
        let Some(potential) = self.potentials[node as usize] else {
            return;
        };
        let distance = base - potential;
        let known = &mut self.distances[node as usize];
        if known.is_none_or(|known| distance < known) {
            if known.is_none() {
                self.touched.push(node);
            }
            *known = Some(distance);
            self.by[node as usize] = step;
            queue.push(Reverse((distance, node)));
        }
    }

    /// The cost of the last unit of an arc with flow.
    fn last(&self, arc: u32) -> Cost {
        let number = self.flow[arc as usize] - 1;
        self.costs.unit(arc, number).unwrap_or_default()
    }

    /// Moves a unit over the step by which a node was reached; returns its cost and the node before.
    fn move_unit(&mut self, node: usize) -> (Cost, usize) {
        match self.by[node] {
            Step::Forward(arc) => {
                let at = arc as usize;
                let unit = self.next[at].unwrap_or_default();
                if self.flow[at] == 0 {
                    self.used[node].push(arc);
                }
                self.flow[at] += 1;
                self.next[at] = self.costs.unit(arc, self.flow[at]);
                (unit, self.arcs[at].from as usize)
            }
            Step::Back(arc) => {
                let at = arc as usize;
                let unit = self.last(arc);
                self.flow[at] -= 1;
                self.next[at] = Some(unit);
                let to = self.arcs[at].to as usize;
                if self.flow[at] == 0 {
                    self.used[to].retain(|other| *other != arc);
                }
                (-unit, to)
            }
        }
    }
}
