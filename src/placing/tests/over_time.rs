//! Workloads over time: growth by a replica, a zone after its return, and fewer replicas.

use std::collections::BTreeSet;

use super::worlds::{BOTH, World, atomic, spread, workload};
use crate::placing::{
    Affinity, AffinityKind, Axis, Effort, Level, Members, Mode, PlacedReplica, Releasable, Rule, Spread, Workload, swap,
};

const SEEDS: u64 = 4;

/// `sizes[zone]` hosts in each zone of a dimension, all eligible.
fn zones(sizes: &[usize]) -> World {
    let hosts = sizes.iter().enumerate();
    let paths: Vec<String> = hosts
        .flat_map(|(zone, size)| (0..*size).map(move |_| format!("z{zone}")))
        .collect();
    let names: Vec<String> = (0..paths.len()).map(|at| format!("h{at}")).collect();
    World::of_paths(&names, &paths)
}

/// A host in each of `rows` x `columns` combinations of the dimensions `fault` and `upgrade`.
pub fn grid(rows: usize, columns: usize) -> World {
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| [format!("f{row}"), format!("u{column}")]));
    let names: Vec<String> = (0..rows * columns).map(|at| format!("h{at}")).collect();
    let paths: Vec<[String; 2]> = cells.collect();
    let paths: Vec<[&str; 2]> = paths.iter().map(|path| path.each_ref().map(String::as_str)).collect();
    let hosts = names.iter().map(String::as_str).zip(paths.iter().map(|path| &path[..]));
    World::of(&hosts.collect::<Vec<_>>())
}

/// The first `counts[zone]` hosts of each zone.
fn first_of_zones(sizes: &[usize], counts: &[u32]) -> Vec<PlacedReplica> {
    let (mut placed, mut first) = (Vec::new(), 0);
    for (size, count) in sizes.iter().zip(counts) {
        placed.extend((first..first + count).map(|host| PlacedReplica { role: 0, host }));
        first += *size as u32;
    }
    placed
}

/// The replicas in each zone after the workload grew to `n`. `None` after a refusal.
fn grown(world: &World, sizes: &[usize], placed: &[PlacedReplica], n: u32) -> Option<Vec<u32>> {
    let rules = [spread(Mode::MaxDifference, &[Axis::Domain(0)])];
    let wanted = [n];
    let workload = Workload {
        placed,
        ..workload(&wanted, &rules)
    };
    let answer = world.placed(&workload, &atomic());
    assert!(answer.is_exact);
    let all = || placed.iter().chain(&answer.replicas);
    let counts = sizes.iter().scan(0, |first, size| {
        let hosts = *first..*first + *size as u32;
        *first = hosts.end;
        Some(all().filter(|replica| hosts.contains(&replica.host)).count() as u32)
    });
    answer.refusal.is_none().then(|| counts.collect())
}

#[test]
fn found_p1_a_new_replica_lessens_a_difference() {
    for (standing, n, ends) in [
        (vec![3, 3, 0], 7, vec![3, 3, 1]),
        (vec![4, 4, 0], 10, vec![4, 4, 2]),
        (vec![5, 5, 0], 13, vec![5, 5, 3]),
        (vec![5, 5, 2], 13, vec![5, 5, 3]),
        (vec![3, 3, 3, 0], 10, vec![3, 3, 3, 1]),
        (vec![4, 4, 4, 0], 13, vec![4, 4, 4, 1]),
        (vec![4, 4, 4, 0], 14, vec![4, 4, 4, 2]),
        (vec![4, 3, 3, 0], 11, vec![4, 3, 3, 1]),
    ] {
        let sizes = vec![10; standing.len()];
        let placed = first_of_zones(&sizes, &standing);
        assert_eq!(
            grown(&zones(&sizes), &sizes, &placed, n),
            Some(ends),
            "{standing:?} to {n}"
        );
    }
}

#[test]
fn found_p1_a_domain_above_the_others_receives_none() {
    // The third zone has room for a single replica.
    let sizes = [10, 10, 1];
    let placed = first_of_zones(&sizes, &[3, 3, 0]);
    let world = zones(&sizes);
    assert_eq!(grown(&world, &sizes, &placed, 7), Some(vec![3, 3, 1]));
    assert_eq!(grown(&world, &sizes, &placed, 8), None);
}

fn can_place(world: &World, rules: &[Rule], placed: &[PlacedReplica], n: u32, seed: u64) -> Option<Vec<PlacedReplica>> {
    let wanted = [n];
    let workload = Workload {
        placed,
        ..workload(&wanted, rules)
    };
    let answer = world.placed(&workload, &Effort { seed, ..atomic() });
    assert!(answer.is_exact);
    answer
        .refusal
        .is_none()
        .then(|| [placed, answer.replicas.as_slice()].concat())
}

/// On a full grid, a workload grows step by step to every size with a placement at once.
#[test]
fn found_p2_every_size_of_a_grid_is_reached_one_by_one() {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    for (rows, columns) in (2..=5).flat_map(|rows| (rows..=5).map(move |columns| (rows, columns))) {
        let world = grid(rows, columns);
        for seed in 0..SEEDS {
            let mut placed = Vec::new();
            for n in 1..=(rows * columns) as u32 {
                let at_once = can_place(&world, &rules, &[], n, seed);
                match can_place(&world, &rules, &placed, n, seed) {
                    Some(more) => placed = more,
                    None => assert!(at_once.is_none(), "{rows} x {columns}, seed {seed}: {n} is not reached"),
                }
            }
        }
    }
}

/// If another program placed the replicas, a move helps: after the move the next replica has a place.
#[test]
fn found_p2_a_refusal_says_which_move_would_help() {
    let world = grid(3, 3);
    let rules = [spread(Mode::MaxDifference, &BOTH)];
    let stuck = stuck_five(&world, &rules);
    let wanted = [6];
    let workload = Workload {
        placed: &stuck,
        ..workload(&wanted, &rules)
    };
    let hosts = (&world.cluster, &world.eligible_for(&workload));
    let found = swap(hosts, &world, &workload, &atomic()).expect("a move helps");
    let moved: Vec<PlacedReplica> = stuck
        .iter()
        .map(|replica| match replica.host == found.from {
            true => PlacedReplica {
                host: found.to,
                ..*replica
            },
            false => *replica,
        })
        .collect();
    assert!(
        can_place(&world, &rules, &moved, 6, 7).is_some(),
        "{found:?} does not help {stuck:?}"
    );
}

/// Five replicas on a grid of 3 x 3 with an even spread, but without a place for a sixth replica.
fn stuck_five(world: &World, rules: &[Rule]) -> Vec<PlacedReplica> {
    let sets = world.sets(rules, 5).into_iter().map(|names| {
        let hosts = names.iter().map(|name| world.host(name));
        hosts.map(|host| PlacedReplica { role: 0, host }).collect::<Vec<_>>()
    });
    let mut stuck = sets.filter(|five| can_place(world, rules, five, 6, 7).is_none());
    stuck.next().expect("some sets of five admit no sixth")
}

#[test]
fn found_p3_what_stays_is_the_most_even_set() {
    let sizes = [4, 4, 4];
    let world = zones(&sizes);
    let rules = [spread(Mode::QuorumSafe, &[Axis::Domain(0)])];
    let mut placed = first_of_zones(&sizes, &[4, 3, 3]);
    for (n, ends) in [(4, [2, 1, 1]), (3, [1, 1, 1])] {
        let replicas = placed.iter().map(|replica| Releasable {
            role: 0,
            hosts: vec![replica.host],
            lost: false,
        });
        let gone = world
            .released(&workload(&[n], &rules), &replicas.collect::<Vec<_>>())
            .gone;
        let gone: BTreeSet<usize> = gone.into_iter().collect();
        placed = (0..placed.len())
            .filter(|at| !gone.contains(at))
            .map(|at| placed[at])
            .collect();
        let mut counts = [0, 0, 0];
        placed.iter().for_each(|replica| counts[replica.host as usize / 4] += 1);
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        assert_eq!(counts, ends);
    }
}

#[test]
fn found_p3_a_new_placement_is_the_most_even_set() {
    let sizes = [4, 4, 4];
    let rules = [spread(Mode::QuorumSafe, &[Axis::Domain(0)])];
    for seed in 0..10 {
        let placed = can_place(&zones(&sizes), &rules, &[], 4, seed).unwrap();
        let mut counts = [0, 0, 0];
        placed.iter().for_each(|replica| counts[replica.host as usize / 4] += 1);
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2]);
    }
}

/// Of two hosts with room for a further replica beside them, the host with the better rank is taken.
#[test]
fn found_p2_of_hosts_with_room_for_one_more_the_best_by_rank_is_taken() {
    let mut world = World::of(&[("h0", &["0/0", "0"]), ("h1", &["1", "2"]), ("h4", &["0/0", "2"])]);
    world.offers[0][0].2 = 4;
    let rules = [spread(Mode::MaxDifference, &BOTH)];
    for seed in 0..10 {
        let placed = world.placed(&workload(&[1], &rules), &Effort { seed, ..atomic() });
        assert_eq!(placed.replicas, world.replicas_on(&["h1"]), "seed {seed}");
    }
}

/// On a grid of 2 x 2 the next replica needs the cell opposite of the staying replica. Only the cell opposite of host 3
/// has a host for role 0.
#[test]
fn found_p3_room_to_grow_is_on_hosts_of_a_wanted_role() {
    let mut world = World::of(&[
        ("a", &["f0", "u1"]),
        ("b", &["f1", "u0"]),
        ("c", &["f1", "u1"]),
        ("d", &["f0", "u0"]),
    ]);
    world.eligible = vec![
        vec![false, true],
        vec![true, false],
        vec![true, false],
        vec![true, false],
    ];
    world.offers = vec![vec![(1, 0, 0); 2]; 4];
    world.build();
    let rules = [spread(Mode::MaxDifference, &BOTH)];
    let replicas = ["b", "c"].map(|name| on_host(&world, name));
    let released = world.released(&workload(&[1, 0], &rules), &replicas);
    assert_eq!(
        released.gone,
        [0],
        "host c stays, because host d has a place for the next replica"
    );
}

/// A replica of the first role on a host.
fn on_host(world: &World, name: &str) -> Releasable {
    Releasable {
        role: 0,
        hosts: vec![world.host(name)],
        lost: false,
    }
}

#[test]
fn found_p3_what_stays_keeps_a_rule_over_hosts_that_may_be_broken() {
    let world = World::of(&[("a", &["f0"]), ("b", &["f0"])]);
    let replicas = ["a", "a", "b"].map(|name| on_host(&world, name));
    for level in [Level::Soft, Level::Prefer] {
        let Rule::Spread(over_hosts) = spread(Mode::MaxDifference, &[Axis::Host]) else {
            unreachable!("the function makes a spread");
        };
        let rules = [Rule::Spread(Spread { level, ..over_hosts })];
        let released = world.released(&workload(&[2], &rules), &replicas);
        assert_eq!(released.gone, [1], "under {level:?} a replica on each host stays");
    }
}

#[test]
fn found_p3_room_to_grow_is_not_on_a_host_that_anti_affinity_excludes() {
    let world = World::of(&[
        ("a", &["f0", "u1"]),
        ("b", &["f1", "u0"]),
        ("c", &["f1", "u1"]),
        ("d", &["f0", "u0"]),
    ]);
    let apart = Affinity {
        level: Level::Hard,
        kind: AffinityKind::AntiAffinity,
        members: Members::Hosts(vec![world.host("a")]),
    };
    let rules = [spread(Mode::MaxDifference, &BOTH), Rule::Affinity(apart)];
    let replicas = ["b", "c"].map(|name| on_host(&world, name));
    let released = world.released(&workload(&[1], &rules), &replicas);
    assert_eq!(
        released.gone,
        [0],
        "host c stays, because host d has a place for the next replica"
    );
}

/// Host b is directly in zone z0, beside the rack of host c. No replica stands on host b.
#[test]
fn found_p3_room_to_grow_is_on_a_host_beside_racks() {
    let world = World::of(&[("a", &["z1", "u3"]), ("b", &["z0", "u0"]), ("c", &["z0/r0", "u3"])]);
    let rules = [spread(Mode::MaxDifference, &BOTH)];
    let replicas = ["c", "a"].map(|name| on_host(&world, name));
    let released = world.released(&workload(&[1], &rules), &replicas);
    assert_eq!(
        released.gone,
        [0],
        "host a stays, because host b has a place for the next replica"
    );
}

/// Four replicas under `adaptive` are quorum-safe: at most two in a zone. Five are spread evenly, but only the fifth
/// has to keep the even share: rack r1 has no room, so the fifth has a place in zone z1 alone.
#[test]
fn found_p2_an_even_share_that_begins_with_the_next_replica_does_not_bind_the_replicas_before() {
    let mut world = World::of(&[
        ("a", &["z0/r0", "u0"]),
        ("b", &["z0/r1", "u0"]),
        ("c", &["z1", "u1"]),
        ("gone", &["z2", "u2"]),
    ])
    .only(&["a", "b", "c"]);
    world.offers = [2, 0, 2, 0].map(|room| vec![(room, 0, 0)]).to_vec();
    world.build();
    let over_hosts = Spread {
        level: Level::Prefer,
        mode: Mode::MaxDifference,
        axes: vec![Axis::Host],
        strict: false,
    };
    let rules = [spread(Mode::Adaptive, &BOTH), Rule::Spread(over_hosts)];
    let placed = world.replicas_on(&["gone"]);
    for seed in 0..SEEDS {
        let workload = Workload {
            placed: &placed,
            ..workload(&[4], &rules)
        };
        let answer = world.placed(&workload, &Effort { seed, ..atomic() });
        assert_eq!(answer.replicas, world.replicas_on(&["a", "a", "c"]), "with seed {seed}");
    }
}
