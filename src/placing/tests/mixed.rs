//! Domains with hosts of their own beside child domains.

use super::properties::atomic_equals_the_oracle;
use super::random_cases::Case;
use super::worlds::{World, atomic, spread};
use crate::placing::{Axis, Level, Mode, Rule, Spread};

/// The hard rule leaves no place for a second replica on the host of the zone. So the racks share the replica that the
/// zone should have, and both sets of racks break the soft rule by the same amount. The set within normal limits is
/// better.
#[test]
fn found_p2_a_host_at_its_limit_has_no_place_beside_racks() {
    let mut world = World::of(&[
        ("full", &["z"]),
        ("a1", &["z/a"]),
        ("a2", &["z/a"]),
        ("b1", &["z/b"]),
        ("y", &["y"]),
        ("x", &["x"]),
    ]);
    for host in ["y", "x"] {
        let at = world.host(host) as usize;
        world.offers[at][0].0 = 0;
    }
    let dear = world.host("b1") as usize;
    world.offers[dear][0].1 = 1;
    let placed = world.replicas_on(&["full"]);
    let soft = Rule::Spread(Spread {
        level: Level::Soft,
        mode: Mode::MaxDifference,
        axes: vec![Axis::Domain(0)],
        strict: false,
    });
    let case = Case {
        rules: vec![spread(Mode::OneEach, &[Axis::Host]), soft],
        wanted: vec![3],
        quorum: true,
        placed,
        further: Vec::new(),
        world,
    };
    let new = case.world.placed(&case.workload(), &atomic());
    assert_eq!(new.replicas, case.world.replicas_on(&["a1", "a2"]));
    atomic_equals_the_oracle(&case).unwrap();
}
