//! Cells: the numbers of cells, the indexes of a cluster, and the savings by pruning.

use std::cell::Cell;
use std::sync::Arc;

use super::figures::nine_machines;
use super::worlds::{BOTH, World, atomic, spread, workload};
use crate::interrupt::Interrupt;
use crate::placing::cells::index::CellIndex;
use crate::placing::{Axis, Cluster, Dimension, DomainTree, Eligible, Hosts, Mode, Offer, place};

#[test]
fn combinations_are_numbered_in_the_order_in_which_they_come() {
    let combinations: Vec<[u32; 2]> = (0..500).map(|at| [at * at % 37, at % 11]).collect();
    let index = CellIndex::of(500, 2, |item, at| combinations[item as usize][at]);
    let mut known: Vec<[u32; 2]> = Vec::new();
    for (both, &cell) in combinations.iter().zip(&index.cell_of) {
        if !known.contains(both) {
            known.push(*both);
        }
        assert_eq!(known[cell as usize], *both);
        assert_eq!([index.leaf(cell, 0), index.leaf(cell, 1)], *both);
    }
    assert_eq!(index.cells as usize, known.len());
}

/// A cluster keeps the cells of its hosts. A workload with different dimensions has different cells.
#[test]
fn workloads_that_compare_other_dimensions_are_placed_alike_on_used_and_new_clusters() {
    let rules = [&BOTH[..1], &BOTH[1..], &BOTH].map(|axes| [spread(Mode::MaxDifference, axes)]);
    let place = |world: &World, rules| world.place(&workload(&[3], rules)).expect("there is room");
    let used = nine_machines();
    for _ in 0..2 {
        for rules in &rules {
            assert_eq!(place(&used, rules), place(&nine_machines(), rules));
        }
    }
}

/// Cells do not depend on which hosts are eligible.
#[test]
fn a_cluster_serves_workloads_with_other_eligible_hosts() {
    let rules = [spread(Mode::MaxDifference, &BOTH)];
    let mut world = nine_machines();
    let few = ["vm1", "vm5", "vm9"];
    for (name, eligible) in world.names.iter().zip(&mut world.eligible) {
        eligible[0] = few.contains(&name.as_str());
    }
    let placed = world.place(&workload(&[3], &rules)).expect("there is room");
    assert_eq!(placed.into_iter().collect::<Vec<_>>(), few);
    world.eligible.fill(vec![true]);
    let all = world.place(&workload(&[9], &rules)).expect("there is room");
    assert_eq!(all.len(), 9);
}

/// Hosts with a counter of offers.
struct Counted(Cell<u32>);

impl Hosts for Counted {
    fn offer(&self, _host: u32, _role: usize, _already: u32) -> Option<Offer> {
        self.0.set(self.0.get() + 1);
        Some(Offer::default())
    }

    fn fits(&self, _host: u32, _counts: &[u32]) -> bool {
        true
    }
}

#[test]
fn hosts_of_cells_that_are_not_needed_are_asked_once() {
    const HOSTS: u32 = 3000;
    let mut tree = DomainTree::default();
    let leaves = (0..HOSTS).map(|host| tree.intern(&format!("fd:/dc{}/r{}", host % 3, host / 3)));
    let leaves = leaves.collect();
    let cluster = Cluster::new(HOSTS, vec![Dimension { tree, leaves }]);
    let eligible = Eligible::of(
        &cluster,
        vec![vec![true; HOSTS as usize].into()],
        Vec::new(),
        &Interrupt::default(),
    );
    let (hosts, rules) = (Counted(Cell::new(0)), [spread(Mode::MaxDifference, &[Axis::Domain(0)])]);
    let placed = place((&cluster, &eligible), &hosts, &workload(&[3], &rules), &atomic());
    assert_eq!(placed.replicas.len(), 3);
    assert!((HOSTS..HOSTS + 30).contains(&hosts.0.get()), "{}", hosts.0.get());
}

#[test]
fn hostile_s2_domains_cost_their_distinct_segments_and_not_their_paths() {
    let path = |host: u32, depth: u32| -> String { (0..depth).map(|at| format!("/{host}-{at}")).collect() };
    let bytes = |depth: u32| {
        let mut tree = DomainTree::default();
        for host in 0..100 {
            let domain = tree.intern(&path(host, depth));
            assert_eq!(tree.path(domain), path(host, depth));
            assert_eq!(tree.find(&path(host, depth)), Some(domain));
            assert_eq!(tree.path(tree.parent(domain)), path(host, depth - 1));
        }
        assert_eq!(tree.count(), 1 + 100 * depth as usize);
        tree.bytes()
    };
    // With a text for each domain ten times the depth cost nearly a hundred times as much.
    assert!(bytes(200) < 12 * bytes(20), "{} and {}", bytes(200), bytes(20));
}

/// With equal hosts counted for each use, a cache of 100,000 hosts kept six values instead of 100, and a page of
/// violations took seven times as long.
#[test]
fn equal_lists_of_eligible_hosts_are_counted_once() {
    let cluster = Cluster::new(3000, Vec::new());
    let hosts: Arc<[bool]> = vec![true; 3000].into();
    let bytes = |roles| {
        Eligible::of(
            &cluster,
            vec![Arc::clone(&hosts); roles],
            Vec::new(),
            &Interrupt::default(),
        )
        .bytes()
    };
    assert_eq!(bytes(1), 3000);
    assert_eq!(bytes(3), 6000, "the union of the roles is a list of its own");
}

#[test]
fn the_counts_of_hosts_by_cell_are_counted_when_they_are_kept() {
    let mut tree = DomainTree::default();
    let leaves = (0..60).map(|host| tree.intern(&format!("/{}", host % 20))).collect();
    let cluster = Cluster::new(60, vec![Dimension { tree, leaves }]);
    let eligible = Eligible::of(&cluster, vec![vec![true; 60].into()], Vec::new(), &Interrupt::default());
    let before = (eligible.bytes(), cluster.bytes());
    let index = cluster.cell_index(vec![0]);
    assert_eq!(eligible.hosts_by_cell(&index, &[1], None).len(), 20);
    assert_eq!(eligible.bytes() - before.0, 20 * 4);
    assert_eq!(
        cluster.bytes() - before.1,
        (60 + 20) * 4,
        "the cell of each host, and the domain of each cell"
    );
}
