//! Candidates of several providers together, in worlds listed in the tests.

use super::*;
use crate::search::candidates::candidates;
use crate::search::request::GroupPolicy;

const MEMORY: ClassId = ClassId(1);

pub(super) fn snapshot(rows: impl IntoIterator<Item = ProviderRow>) -> Snapshot {
    Snapshot::build(catalog(), rows.into_iter().collect())
}

/// The candidates as sorted texts: providers with classes and amounts.
pub(super) fn given(snapshot: &Snapshot, request: &Request) -> Vec<String> {
    let name = |class: ClassId| ["VCPU", "MEMORY_MB", "DISK_GB"][class.0 as usize];
    let all = candidates(snapshot, request, &settings()).unwrap();
    let all = all.map(|candidate| {
        let mut given: Vec<String> = candidate
            .placements
            .iter()
            .map(|placement| {
                format!(
                    "{}:{}={}",
                    snapshot.id(placement.slot).0,
                    name(placement.class),
                    placement.amount
                )
            })
            .collect();
        given.sort_unstable();
        given.join(" ")
    });
    let mut all: Vec<String> = all.collect();
    all.sort_unstable();
    all
}

/// The candidates as sorted texts: groups with their providers.
pub(super) fn mapped(snapshot: &Snapshot, request: &Request) -> Vec<String> {
    let ids = |slots: &[Slot]| {
        let mut ids: Vec<String> = slots.iter().map(|&slot| snapshot.id(slot).0.to_string()).collect();
        ids.sort_unstable();
        ids.join("+")
    };
    let all = candidates(snapshot, request, &settings()).unwrap();
    let all = all.map(|candidate| {
        let groups = candidate
            .mappings
            .iter()
            .map(|(suffix, slots)| format!("{suffix}:{}", ids(slots)));
        groups.collect::<Vec<_>>().join(" ")
    });
    let mut all: Vec<String> = all.collect();
    all.sort_unstable();
    all
}

pub(super) fn none() -> [String; 0] {
    []
}

pub(super) fn granular(suffix: &str, resources: &[(&str, i64)]) -> Group {
    Group {
        suffix: suffix.to_owned(),
        ..group(resources)
    }
}

pub(super) fn asking(groups: &[Group], policy: GroupPolicy) -> Request {
    Request {
        groups: groups.to_vec(),
        group_policy: Some(policy),
        ..request(Group::default())
    }
}

#[test]
fn providers_of_one_tree_serve_together_unless_the_microversion_does_not_know_trees() {
    let world = snapshot([
        bare(1).with(DISK, 9),
        bare(2).with(VCPU, 4).below(1, 1),
        bare(3).with(VCPU, 4).below(2, 1),
        bare(4).with(DISK, 9),
    ]);
    let ask = request(group(&[("VCPU", 1), ("DISK_GB", 2)]));
    assert_eq!(given(&world, &ask), ["1:DISK_GB=2 2:VCPU=1", "1:DISK_GB=2 3:VCPU=1"]);
    assert_eq!(mapped(&world, &ask), [":1+2", ":1+3"]);
    let flat = Request { nested: false, ..ask };
    assert_eq!(given(&world, &flat), none());
    let found = candidates(&world, &request(group(&[("VCPU", 1)])), &settings())
        .unwrap()
        .found()
        .unwrap();
    assert_eq!((found.candidates.len(), found.summaries.len()), (2, 3));
}

#[test]
fn groups_share_a_provider_unless_they_are_isolated() {
    let world = snapshot([
        bare(1),
        bare(2).with(VCPU, 3).below(1, 1),
        bare(3).with(VCPU, 4).below(1, 1),
    ]);
    let groups = [granular("_A", &[("VCPU", 2)]), granular("_B", &[("VCPU", 2)])];
    let both = ["_A:2 _B:3", "_A:3 _B:2"];
    assert_eq!(mapped(&world, &asking(&groups, GroupPolicy::Isolate)), both);
    assert_eq!(
        mapped(&world, &asking(&groups, GroupPolicy::None)),
        [both[0], both[1], "_A:3 _B:3"]
    );
    assert_eq!(given(&world, &asking(&groups, GroupPolicy::None))[2], "3:VCPU=4");
}

#[test]
fn a_granular_group_has_its_own_filters_and_is_served_by_one_provider() {
    let world = snapshot([
        bare(1).in_aggregates([1]).with(DISK, 9),
        bare(2).with(VCPU, 4).with(MEMORY, 9).traits([2]).below(1, 1),
        bare(3).with(VCPU, 4).traits([2]).in_aggregates([2]).below(1, 1),
        bare(4).with(VCPU, 4).with(MEMORY, 9).traits([3]).below(3, 1),
    ]);
    let ask = |change: fn(&mut Group)| {
        let mut groups = [granular("_A", &[("VCPU", 1)])];
        change(&mut groups[0]);
        mapped(&world, &asking(&groups, GroupPolicy::None))
    };
    assert_eq!(
        ask(|group| group.resources.push(("MEMORY_MB".into(), 1))),
        ["_A:2", "_A:4"]
    );
    assert_eq!(ask(|group| group.resources.push(("DISK_GB".into(), 1))), none());
    assert_eq!(ask(|group| group.traits = required(&["T2"])), ["_A:2", "_A:3"]);
    // Aggregates of a root do not count for its tree here.
    assert_eq!(ask(|group| group.member_of = member_of(&["a1", "a2"])), ["_A:3"]);
    assert_eq!(
        ask(|group| group.member_of.forbidden = set(&["a1", "a2"])),
        ["_A:2", "_A:4"]
    );
    assert_eq!(ask(|group| group.in_tree = Some(uuid(4))), ["_A:2", "_A:3", "_A:4"]);
    assert_eq!(ask(|group| group.in_tree = Some(uuid(9))), none());
}

#[test]
fn a_rule_of_same_subtree_keeps_groups_below_one_provider() {
    // Two nodes with two devices each. Of the second node's devices one is the child of the other.
    let world = snapshot([
        bare(1),
        bare(2).traits([2]).below(1, 1),
        bare(3).with(VCPU, 1).below(2, 1),
        bare(4).with(VCPU, 1).below(2, 1),
        bare(5).traits([2]).below(1, 1),
        bare(6).with(VCPU, 1).below(5, 1),
        bare(7).with(VCPU, 1).below(6, 1),
    ]);
    let mut node = granular("_N", &[]);
    node.traits = required(&["T2"]);
    let groups = [node, granular("_A", &[("VCPU", 1)]), granular("_B", &[("VCPU", 1)])];
    let ask = |rules: &[&[&str]]| {
        let rule = |rule: &&[&str]| rule.iter().map(|&suffix| suffix.to_owned()).collect();
        let request = Request {
            same_subtrees: rules.iter().map(rule).collect(),
            ..asking(&groups, GroupPolicy::Isolate)
        };
        mapped(&world, &request)
    };
    assert_eq!(
        ask(&[&["_N", "_A", "_B"]]),
        ["_N:2 _A:3 _B:4", "_N:2 _A:4 _B:3", "_N:5 _A:6 _B:7", "_N:5 _A:7 _B:6"]
    );
    // Without the node, one device has to be the ancestor of the other.
    assert_eq!(
        ask(&[&["_A", "_B"], &["_N", "_A"]]),
        ["_N:5 _A:6 _B:7", "_N:5 _A:7 _B:6"]
    );
    assert_eq!(ask(&[]).len(), 2 * 4 * 3);
}

/// As in OpenStack Placement: `in_tree` does not restrict a group without resources. If such a group names neither a
/// trait nor an aggregate, it matches no provider.
#[test]
fn a_group_without_resources_matches_by_traits_and_aggregates_only() {
    let world = snapshot([bare(1).with(VCPU, 4).traits([2]), bare(2).with(VCPU, 4)]);
    let ask = |change: fn(&mut Group)| {
        let mut groups = [granular("_A", &[("VCPU", 1)]), granular("_B", &[])];
        change(&mut groups[1]);
        let request = Request {
            same_subtrees: vec![vec!["_A".into(), "_B".into()]],
            ..asking(&groups, GroupPolicy::None)
        };
        mapped(&world, &request)
    };
    assert_eq!(ask(|group| group.traits = required(&["T2"])), ["_A:1 _B:1"]);
    assert_eq!(
        ask(|group| (group.traits, group.in_tree) = (required(&["T2"]), Some(uuid(2)))),
        ["_A:1 _B:1"]
    );
    assert_eq!(
        ask(|group| (group.traits, group.in_tree) = (required(&["T2"]), Some(uuid(9)))),
        none()
    );
    assert_eq!(ask(|group| group.traits.forbidden = set(&["T3"])), none());
}

#[test]
fn a_candidate_is_granted_as_a_whole() {
    let mut host = bare(1);
    host.inventories.insert(
        VCPU,
        Inventory {
            min_unit: 5,
            step_size: 10,
            max_unit: 30,
            ..stock(100)
        },
    );
    let world = snapshot([host]);
    let sums = |amounts: &[i64]| {
        let groups = amounts.iter().zip(["_A", "_B", "_C"]);
        let groups: Vec<Group> = groups
            .map(|(&amount, suffix)| granular(suffix, &[("VCPU", amount)]))
            .collect();
        given(&world, &asking(&groups, GroupPolicy::None))
    };
    assert_eq!(sums(&[5, 5]), ["1:VCPU=10"]);
    // Between two steps until the last part is placed.
    assert_eq!(sums(&[5, 10]), none());
    assert_eq!(sums(&[5, 10, 5]), ["1:VCPU=20"]);
    // Beyond max_unit.
    assert_eq!(sums(&[20, 20]), none());
}

/// A defect of OpenStack Placement 16.0.0, which adds up the amounts across candidates.
#[test]
fn amounts_of_granular_and_other_groups_are_added_up_within_one_candidate() {
    let world = snapshot([
        bare(1),
        bare(2).with(VCPU, 8).below(1, 1),
        bare(3).with(VCPU, 8).below(1, 1),
    ]);
    let groups = [group(&[("VCPU", 1)]), granular("_A", &[("VCPU", 2)])];
    let expected = ["2:VCPU=1 3:VCPU=2", "2:VCPU=2 3:VCPU=1", "2:VCPU=3", "3:VCPU=3"];
    for group_policy in [None, Some(GroupPolicy::Isolate), Some(GroupPolicy::None)] {
        let ask = Request {
            group_policy,
            ..asking(&groups, GroupPolicy::None)
        };
        assert_eq!(given(&world, &ask), expected);
    }
}

/// A defect of OpenStack Placement 16.0.0 on PostgreSQL, which answers 500.
#[test]
fn a_trait_may_be_forbidden_in_trees() {
    let world = snapshot([
        bare(1).with(DISK, 9),
        bare(2).with(VCPU, 4).traits([2]).below(1, 1),
        bare(3).with(VCPU, 4).below(1, 1),
    ]);
    let mut ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    ask.groups[0].traits.forbidden = set(&["T2"]);
    assert_eq!(given(&world, &ask), ["1:DISK_GB=1 3:VCPU=1"]);
}

/// Found by the property test.
#[test]
fn an_unknown_name_is_refused_unless_an_earlier_group_has_no_candidate_by_itself() {
    let world = snapshot([bare(1), bare(2).with(MEMORY, 2)]);
    let mut unknown = granular("_A", &[("VCPU", 1)]);
    unknown.traits = required(&["UNKNOWN"]);
    let ask = |first| Request {
        // A rule about several groups does not apply to the first group alone.
        same_subtrees: vec![vec!["_A".into(), "_B".into()]],
        ..asking(&[first, unknown.clone(), granular("_B", &[])], GroupPolicy::None)
    };
    let is_refused = |request: &Request| candidates(&world, request, &settings()).map(Iterator::count).is_err();
    assert!(is_refused(&ask(group(&[("MEMORY_MB", 1)]))));
    assert!(!is_refused(&ask(group(&[("DISK_GB", 1)]))));
}

#[test]
fn breadth_first_gives_one_candidate_of_each_tree_per_round() {
    let device = |id, root| bare(id).with(VCPU, 1).below(root, root);
    let world = snapshot([bare(1), device(2, 1), device(3, 1), bare(4), device(5, 4), device(6, 4)]);
    let groups = [granular("_A", &[("VCPU", 1)]), granular("_B", &[("VCPU", 1)])];
    let ask = asking(&groups, GroupPolicy::Isolate);
    let roots_of = |ask: &Request, tree_order| -> Vec<ProviderId> {
        let settings = SearchSettings {
            tree_order,
            ..settings()
        };
        let all = candidates(&world, ask, &settings).unwrap().found().unwrap();
        let slots = all.candidates.iter().map(|candidate| candidate.placements[0].slot);
        slots.map(|slot| world.id(world.root(slot))).collect()
    };
    let trees = |tree_order| roots_of(&ask, tree_order);
    let [a, b, c, d] = trees(TreeOrder::DepthFirst)[..] else {
        panic!()
    };
    assert!(a == b && c == d && a != c);
    let [a, b, c, d] = trees(TreeOrder::BreadthFirst)[..] else {
        panic!()
    };
    assert!(a == c && b == d && a != b);
    // If only the request sets a limit, the answer is a sample of all trees, whatever the order.
    let limited = Request {
        limit: Some(2),
        ..ask.clone()
    };
    let [a, b] = roots_of(&limited, TreeOrder::DepthFirst)[..] else {
        panic!()
    };
    assert_ne!(a, b);
}

#[test]
fn an_answer_that_the_ceiling_cuts_is_marked_as_cut() {
    let world = snapshot((1..=5).map(|id| bare(id).with(VCPU, 1)));
    let found = |ceiling, max, limit| {
        let settings = SearchSettings {
            ceiling,
            max,
            ..settings()
        };
        let request = Request {
            limit,
            ..request(group(&[("VCPU", 1)]))
        };
        let found = candidates(&world, &request, &settings).unwrap().found().unwrap();
        (found.candidates.len(), found.cut)
    };
    assert_eq!(found(4, None, None), (4, true));
    assert_eq!(found(5, None, None), (5, false));
    assert_eq!(found(4, None, Some(4)), (4, false));
    assert_eq!(found(4, Some(5), None), (5, false));
}

/// VCPU is offered without a trait or with T3, memory with T2 or T3, disk without. A dead end with the first VCPU is no
/// dead end with the second, which covers T3.
#[test]
fn a_nogood_contains_the_traits_that_are_covered() {
    let world = vec![
        bare(1),
        bare(2).with(VCPU, 1).below(1, 1),
        bare(3).with(VCPU, 1).traits([3]).below(1, 1),
        bare(4).with(ClassId(1), 1).traits([2]).below(1, 1),
        bare(5).with(ClassId(1), 1).traits([3]).below(1, 1),
        bare(6).with(DISK, 1).below(1, 1),
    ];
    let snapshot = Snapshot::build(catalog(), world);
    let mut wanted = group(&[("VCPU", 1), ("MEMORY_MB", 1), ("DISK_GB", 1)]);
    wanted.traits = required(&["T2", "T3"]);
    // In several orders of the providers.
    for seed in 0..8 {
        let settings = SearchSettings { seed, ..settings() };
        let all = candidates(&snapshot, &request(wanted.clone()), &settings).unwrap();
        assert_eq!(all.found().unwrap().candidates.len(), 1, "{seed}");
    }
}

/// Found by a reader: following the children did not end.
#[test]
fn a_cycle_of_parents_that_a_foreign_writer_left_ends() {
    let below = |id: i32, parent: i32| ProviderRow {
        parent: Some(ProviderId(parent)),
        root: ProviderId(1),
        ..bare(id)
    };
    let snapshot = snapshot([below(1, 3), below(2, 1), below(3, 2), below(4, 2), below(5, 5)]);
    let tree = |top: i32| {
        let slots = snapshot.tree(snapshot.by_id(ProviderId(top)).unwrap());
        slots.into_iter().map(|slot| snapshot.id(slot).0).collect::<Vec<_>>()
    };
    assert_eq!((tree(1), tree(2)), (vec![1, 2, 3, 4], vec![2, 3, 1, 4]));
    assert_eq!((tree(4), tree(5)), (vec![4], vec![5]));
}
