//! Large workloads of several roles. Each role has hosts of its own.

use super::worlds::{World, atomic, spread, workload};
use crate::placing::release::Released;
use crate::placing::{Axis, Mode, PlacedReplica, Releasable, Rule};

const HOSTS: u32 = 500;

/// 500 hosts, each with the domain of its number. The first half serves role 0 alone, the second half role 1.
fn halves(domain: impl Fn(u32) -> String) -> World {
    let hosts: Vec<(String, String)> = (0..HOSTS).map(|host| (format!("h{host}"), domain(host))).collect();
    let paths: Vec<[&str; 1]> = hosts.iter().map(|(_, domain)| [domain.as_str()]).collect();
    let hosts = hosts.iter().zip(&paths);
    let hosts: Vec<(&str, &[&str])> = hosts.map(|((name, _), paths)| (name.as_str(), &paths[..])).collect();
    let mut world = World::of(&hosts);
    world.eligible = (0..HOSTS)
        .map(|host| vec![host < HOSTS / 2, host >= HOSTS / 2])
        .collect();
    world.offers = vec![vec![(1, 0, 0); 2]; HOSTS as usize];
    world
}

fn rules() -> [Rule; 1] {
    [spread(Mode::Adaptive, &[Axis::Domain(0)])]
}

/// A replica on each host.
fn replicas() -> Vec<Releasable> {
    let replica = |host: u32| Releasable {
        role: usize::from(host >= HOSTS / 2),
        hosts: vec![host],
        lost: false,
    };
    (0..HOSTS).map(replica).collect()
}

/// The kept replicas when role 0 falls to 50 and role 1 to 150.
fn kept(world: &World) -> (Vec<usize>, bool) {
    let Released { gone, is_exact } = world.released(&workload(&[50, 150], &rules()), &replicas());
    ((0..HOSTS as usize).filter(|at| !gone.contains(at)).collect(), is_exact)
}

fn count(kept: &[usize]) -> [usize; 2] {
    let first = kept.iter().filter(|at| **at < HOSTS as usize / 2).count();
    [first, kept.len() - first]
}

#[test]
fn of_two_roles_that_fall_at_once_the_lowest_ids_of_each_stay() {
    let (kept, is_exact) = kept(&halves(|host| format!("fd:/r{host}")));
    assert!(is_exact);
    assert_eq!(kept, (0..50).chain(250..400).collect::<Vec<_>>());
}

#[test]
fn of_two_roles_that_fall_at_once_in_racks_the_rest_is_even() {
    let (kept, is_exact) = kept(&halves(|host| format!("fd:/r{}", host % 20)));
    assert_eq!((count(&kept), is_exact), ([50, 150], true));
    let in_rack = |rack: usize| kept.iter().filter(|at| **at % 20 == rack).count();
    assert_eq!((0..20).map(in_rack).collect::<Vec<_>>(), [10; 20]);
}

#[test]
fn of_two_roles_that_cannot_stay_evenly_enough_of_each_stay_and_it_is_no_proof() {
    let (kept, is_exact) = kept(&halves(|host| format!("fd:/r{}", host / 25)));
    assert_eq!((count(&kept), is_exact), ([50, 150], false));
}

#[test]
fn roles_with_hosts_of_their_own_are_placed_together() {
    for racks in [HOSTS, 20] {
        let world = halves(|host| format!("fd:/r{}/h{host}", host % racks));
        let placed = world.placed(&workload(&[50, 150], &rules()), &atomic());
        let of = |role: usize| placed.replicas.iter().filter(|it| it.role == role).count();
        assert_eq!([of(0), of(1)], [50, 150], "{racks} racks: {:?}", placed.refusal);
        assert!(placed.is_exact, "{racks} racks");
        let is_own = |it: &PlacedReplica| world.eligible[it.host as usize][it.role];
        assert!(placed.replicas.iter().all(is_own));
    }
}
