//! Minimum-cost flow of a given value, by shortest augmenting paths with potentials (Dijkstra).
//!
//! The cost of an arc is convex: the next unit never costs less than the unit before. So an arc is one edge of the
//! residual network, whose cost changes with its flow. Costs may be negative; the network has no cycle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::placing::budget::Budget;
use crate::placing::cost::Cost;

/// An arc of a [`Network`] before it is built.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    pub from: u32,
    pub to: u32,
}

/// The costs of the units of arcs.
pub trait UnitCosts {
    /// The cost of the unit with this number, from 0. `None` beyond the capacity of the arc.
    fn unit(&self, arc: u32, number: u32) -> Option<Cost>;
}

/// A network with a flow. Nodes are numbered so that each arc leads to a greater node. The source is 0, the sink the
/// last node.
pub struct Network<'a, C> {
    costs: &'a C,
    arcs: &'a [Arc],
    /// `arcs` is sorted by node. The index of the first arc of each node.
    starts: Vec<u32>,
    flow: Vec<u32>,
    /// The cost of the next unit of each arc.
    next: Vec<Option<Cost>>,
    /// By node: the arcs with flow that lead to the node.
    used: Vec<Vec<u32>>,
    potentials: Vec<Option<Cost>>,
    distances: Vec<Option<Cost>>,
    by: Vec<Step>,
    touched: Vec<u32>,
    budget: &'a Budget<'a>,
}

/// The result of sending units.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The number of units.
    pub units: u32,
    pub cost: Cost,
    /// Whether no other flow of this value costs less.
    pub is_cheapest: bool,
}

/// Nodes by their distance, the nearest first.
type Queue = BinaryHeap<(Reverse<Cost>, u32)>;

/// How a node is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Forward(u32),
    Back(u32),
}

impl<'a, C: UnitCosts> Network<'a, C> {
    /// The arcs must be sorted by the node from which they lead.
    pub fn new(nodes: usize, arcs: &'a [Arc], costs: &'a C, budget: &'a Budget<'a>) -> Network<'a, C> {
        let mut starts = vec![0_u32; nodes + 1];
        for arc in arcs {
            starts[arc.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut network = Network {
            costs,
            starts,
            flow: vec![0; arcs.len()],
            next: vec![None; arcs.len()],
            used: vec![Vec::new(); nodes],
            potentials: vec![None; nodes],
            distances: vec![None; nodes],
            by: vec![Step::Forward(0); nodes],
            touched: Vec::new(),
            arcs,
            budget,
        };
        network.set_first_units();
        network.set_potentials();
        network
    }

    /// Reads the cost of the first unit of each arc. If the answer is not wanted any more, the remaining arcs have no
    /// room.
    fn set_first_units(&mut self) {
        for ends in self.starts.windows(2) {
            if self.budget.count_list(u64::from(ends[1] - ends[0])) {
                break;
            }
            for arc in ends[0]..ends[1] {
                self.next[arc as usize] = self.costs.unit(arc, 0);
            }
        }
    }

    /// Sends up to `wanted` units at the least cost. If `share` is given, only until one part in `share` of the budget
    /// is spent: later units take the first path that is found, and the number of units is still the greatest.
    pub fn send(&mut self, wanted: u32, share: Option<u64>) -> Sent {
        let mut sent = Sent {
            units: 0,
            cost: Cost::ZERO,
            is_cheapest: true,
        };
        while sent.units < wanted {
            let is_spent = share.is_some_and(|share| self.budget.has_spent(share, 0));
            if is_spent && self.budget.has_ended() {
                break;
            }
            sent.is_cheapest &= !is_spent;
            let path = if is_spent { self.send_anywhere() } else { self.augment() };
            let Some(cost) = path else { break };
            sent.cost += cost;
            sent.units += 1;
        }
        sent
    }

    pub fn flow(&self, arc: usize) -> u32 {
        self.flow[arc]
    }

    /// How much dearer a path over a node could be and still be used; `None` if no path leads there. For a node whose
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
            // Nodes that the search did not reach are at least as far as the sink.
            if let (Some(length), Some(distance), Some(potential)) =
                (length, distance, &mut self.potentials[at as usize])
                && distance < length
            {
                *potential = *potential + distance - length;
            }
        }
        length?;
        Some(self.move_path(sink))
    }

    /// Moves a unit along the steps by which the nodes before the sink were reached; returns the cost.
    fn move_path(&mut self, sink: usize) -> Cost {
        let mut cost = Cost::ZERO;
        let mut node = sink;
        while node != 0 {
            let (unit, before) = self.move_unit(node);
            cost += unit;
            node = before;
        }
        cost
    }

    /// Sends one unit along any path, if there is a path: a depth-first search that prefers nodes next to the sink, and
    /// cheap steps.
    fn send_anywhere(&mut self) -> Option<Cost> {
        let sink = self.distances.len() - 1;
        let mut stack = vec![(0_u32, Step::Forward(0))];
        let mut reached = false;
        while let Some((node, step)) = stack.pop() {
            let at = node as usize;
            if self.distances[at].is_some() {
                continue;
            }
            (self.distances[at], self.by[at]) = (Some(Cost::ZERO), step);
            self.touched.push(node);
            reached = at == sink;
            let mut steps = self.steps_from(node);
            if reached || self.budget.count(steps.len() as u64 + 1) {
                break;
            }
            steps.sort_unstable_by_key(|(cost, node, _)| (self.is_last(*node), Reverse(*cost)));
            stack.extend(steps.into_iter().map(|(_, node, step)| (node, step)));
        }
        for at in std::mem::take(&mut self.touched) {
            self.distances[at as usize] = None;
        }
        reached.then(|| self.move_path(sink))
    }

    /// Whether the only arc from a node leads to the sink, and has room.
    fn is_last(&self, node: u32) -> bool {
        let (from, to) = (self.starts[node as usize], self.starts[node as usize + 1]);
        let leads_to_sink = |arc: u32| self.arcs[arc as usize].to as usize + 1 == self.distances.len();
        from + 1 == to && leads_to_sink(from) && self.next[from as usize].is_some()
    }

    /// The steps from a node, with their costs reduced by the potentials.
    fn steps_from(&self, node: u32) -> Vec<(Cost, u32, Step)> {
        let base = self.potentials[node as usize].unwrap_or_default();
        let reduced = |cost: Cost, to: u32| Some(base + cost - self.potentials[to as usize]?);
        let forward = (self.starts[node as usize]..self.starts[node as usize + 1]).filter_map(|arc| {
            let to = self.arcs[arc as usize].to;
            Some((reduced(self.next[arc as usize]?, to)?, to, Step::Forward(arc)))
        });
        let back = self.used[node as usize].iter().filter_map(|&arc| {
            let to = self.arcs[arc as usize].from;
            Some((reduced(-self.last(arc), to)?, to, Step::Back(arc)))
        });
        forward.chain(back).collect()
    }

    /// Dijkstra with the costs that potentials reduce. All potentials are kept relative to the sink's potential, so
    /// that nodes that were not reached need no update.
    ///
    /// Of nodes at the same distance the last node is visited first. The last node is nearest to the sink, and most
    /// paths need no further node. Returns false if the answer is not wanted any more.
    fn search(&mut self, sink: usize) -> bool {
        let mut queue = Queue::new();
        self.distances[0] = Some(Cost::ZERO);
        self.touched.push(0);
        queue.push((Reverse(Cost::ZERO), 0_u32));
        while let Some((Reverse(distance), node)) = queue.pop() {
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
            let used = self.used[node as usize].len();
            if self.budget.count(u64::from(to - from) + used as u64 + 1) {
                return false;
            }
            for arc in from..to {
                if let Some(unit) = self.next[arc as usize] {
                    self.reach(&mut queue, self.arcs[arc as usize].to, base + unit, Step::Forward(arc));
                }
            }
            for at in 0..used {
                let arc = self.used[node as usize][at];
                let last = self.last(arc);
                self.reach(&mut queue, self.arcs[arc as usize].from, base - last, Step::Back(arc));
            }
        }
        false
    }

    fn reach(&mut self, queue: &mut Queue, node: u32, base: Cost, step: Step) {
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
            queue.push((Reverse(distance), node));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};

    const SIDE: u32 = 20;

    /// Each of 20 workers takes one of 20 jobs: a unit costs by worker and job.
    struct Jobs;

    impl UnitCosts for Jobs {
        fn unit(&self, arc: u32, number: u32) -> Option<Cost> {
            (number == 0).then(|| Cost::of_replica(0, i64::from(arc * 7_919 % 1_009), 0))
        }
    }

    fn all_arcs() -> Vec<Arc> {
        let (workers, jobs, sink) = (1..=SIDE, SIDE + 1..=2 * SIDE, 2 * SIDE + 1);
        let first = workers.clone().map(|to| Arc { from: 0, to });
        let middle = workers.flat_map(|from| jobs.clone().map(move |to| Arc { from, to }));
        let last = jobs.clone().map(|from| Arc { from, to: sink });
        first.chain(middle).chain(last).collect()
    }

    /// What is sent, and the steps that it took.
    fn sent(interrupt: &Interrupt) -> (Sent, u64) {
        let (arcs, budget) = (all_arcs(), Budget::unbounded(interrupt));
        let mut network = Network::new(2 * SIDE as usize + 2, &arcs, &Jobs, &budget);
        (network.send(SIDE, None), interrupt.spent())
    }

    #[test]
    fn hostile_02_the_arcs_of_a_flow_are_counted() {
        let interrupt = Interrupt::default();
        let (arcs, budget) = (all_arcs(), Budget::unbounded(&interrupt));
        Network::new(2 * SIDE as usize + 2, &arcs, &Jobs, &budget);
        assert_eq!(interrupt.spent(), arcs.len() as u64 / OPERATIONS_A_STEP);
        let (sent, steps) = sent(&Interrupt::default());
        assert_eq!(sent.units, SIDE);
        let each_once = arcs.len() as u64 + u64::from(SIDE) * u64::from(SIDE);
        assert!(
            steps * OPERATIONS_A_STEP > each_once,
            "{steps} steps: the list, and for each path the arcs of a worker"
        );
    }

    #[test]
    fn hostile_02_an_interrupt_ends_a_flow_between_its_paths() {
        let (_, whole) = sent(&Interrupt::default());
        let mut partial = 0;
        for steps in 1..whole {
            let interrupt = Interrupt::after(steps);
            let (sent, spent) = sent(&interrupt);
            assert!(sent.units < SIDE, "after {steps} of {whole} steps it is not complete");
            partial += u32::from(sent.units > 0);
            let node = u64::from(2 * SIDE) / OPERATIONS_A_STEP + 1;
            assert!(spent - steps <= node, "it took {} steps more", spent - steps);
        }
        assert!(partial > 100, "most interrupts came while paths were looked for");
    }
}
