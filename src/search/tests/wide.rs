//! Wide trees, with many equal children: the cost of a search, counted in steps (parts placed), not in time.

use super::*;
use crate::search::block_walk::mix;
use crate::search::candidates::candidates;
use crate::search::request::GroupPolicy;
use crate::search::resolve;
use crate::search::snapshot::Snapshot;
use crate::search::trees::SplitRequest;

const SIZES: [i32; 3] = [8, 16, 32];

/// A root with children, each with an inventory of a single class.
fn tree(children: impl IntoIterator<Item = i32>) -> Vec<ProviderRow> {
    let child = |(id, total)| bare(id).with(VCPU, total).below(1, 1);
    std::iter::once(bare(1)).chain((2..).zip(children).map(child)).collect()
}

fn asking(amounts: impl IntoIterator<Item = i64>, policy: GroupPolicy) -> Request {
    let one = |(index, amount): (usize, i64)| Group {
        suffix: format!("_{index}"),
        ..group(&[("VCPU", amount)])
    };
    Request {
        groups: amounts.into_iter().enumerate().map(one).collect(),
        group_policy: Some(policy),
        ..request(Group::default())
    }
}

/// The number of candidates, at most a thousand, and the number of steps.
fn cost(rows: Vec<ProviderRow>, request: &Request) -> (usize, u64) {
    let snapshot = Snapshot::build(catalog(), rows);
    let mut all = candidates(&snapshot, request, &settings()).unwrap();
    let count = all.by_ref().take(1000).count();
    (count, all.steps())
}

fn repeat(amount: i64, times: i32) -> impl Iterator<Item = i64> + Clone {
    std::iter::repeat_n(amount, times as usize)
}

#[test]
fn as_many_groups_as_children_cost_few_steps_per_candidate() {
    for size in SIZES {
        for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
            let children = vec![1; size as usize];
            let (count, steps) = cost(tree(children), &asking(repeat(1, size), policy));
            assert_eq!(count, 1000);
            assert!(steps < 6_000, "{size} {policy:?}: {steps}");
        }
    }
}

#[test]
fn one_group_too_many_is_refused_without_a_step() {
    for size in SIZES {
        for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
            let children = vec![1; size as usize];
            assert_eq!(cost(tree(children), &asking(repeat(1, size + 1), policy)), (0, 0));
        }
        // There is enough room, but groups are isolated.
        let children = vec![9; size as usize];
        assert_eq!(
            cost(tree(children), &asking(repeat(1, size + 1), GroupPolicy::Isolate)),
            (0, 0)
        );
        // There is enough room in sum, but not for whole groups.
        let children = vec![3; size as usize];
        assert_eq!(
            cost(tree(children), &asking(repeat(2, size + 1), GroupPolicy::None)),
            (0, 0)
        );
    }
}

/// Half of the children have a trait, and one more than half of the groups require the trait.
#[test]
fn too_many_groups_for_some_of_the_children_are_refused_without_a_step() {
    for size in SIZES {
        let mut rows = tree(vec![1; size as usize]);
        rows[1..=size as usize / 2]
            .iter_mut()
            .for_each(|row| row.traits = [TraitId(2)].into());
        for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
            let mut ask = asking(repeat(1, size), policy);
            ask.groups[..=size as usize / 2]
                .iter_mut()
                .for_each(|group| group.traits = required(&["T2"]));
            assert_eq!(cost(rows.clone(), &ask), (0, 0), "{size} {policy:?}");
            ask.groups[0].traits = Traits::default();
            let (count, steps) = cost(rows.clone(), &ask);
            // For each half, four children in any order: there are no more.
            let expected = if size == 8 { 24 * 24 } else { 1000 };
            assert!(count == expected && steps < 8_000, "{size} {policy:?}: {count} {steps}");
        }
    }
}

/// Children of 10 units. A child takes groups of 6 and 4, or of 5 and 5, but not of 6 and 5. There is a group of 5 too
/// many, but neither the sum nor the number of groups shows the excess.
#[test]
fn nogoods_keep_a_packing_of_two_sizes_cheap() {
    for size in SIZES {
        let cost = |fives| {
            let amounts = repeat(6, size / 2).chain(repeat(5, fives));
            cost(tree(vec![10; size as usize]), &asking(amounts, GroupPolicy::None))
        };
        let (count, steps) = cost(size + 1);
        assert!(
            count == 0 && steps > 0 && steps < 40 * size as u64,
            "{size}: {count} {steps}"
        );
        let (count, steps) = cost(size);
        assert!(count == 1000 && steps < 8_000, "{size}: {count} {steps}");
    }
}

/// As above, with groups of 7 and 3 too.
#[test]
fn packing_of_several_sizes_is_refused_after_few_steps() {
    for size in SIZES {
        let cost = |fives| {
            let large = repeat(7, size / 4).chain(repeat(6, size / 4));
            let amounts = large.chain(repeat(5, fives)).chain(repeat(3, size / 4));
            cost(tree(vec![10; size as usize]), &asking(amounts, GroupPolicy::None))
        };
        let (count, steps) = cost(size + 1);
        assert!(
            count == 0 && steps > 0 && steps < 40 * size as u64 * size as u64,
            "{size}: {count} {steps}"
        );
        let (count, steps) = cost(size);
        assert!(count == 1000 && steps < 12_000, "{size}: {count} {steps}");
    }
}

/// Children with different, odd amounts. Groups of 4 and 6 leave a unit of each child unused, so the room is not
/// enough.
#[test]
fn units_that_no_group_can_use_do_not_count_as_room() {
    for size in SIZES {
        let children = || (0..size).map(|n| 11 + 2 * n);
        let room = i64::from(children().sum::<i32>() - size);
        let groups = |room: i64| {
            let sixes = (room / 12) as i32;
            repeat(6, sixes).chain(repeat(4, ((room - 6 * i64::from(sixes)) / 4) as i32))
        };
        assert!(groups(room + 4).sum::<i64>() > room);
        let (count, steps) = cost(tree(children()), &asking(groups(room + 4), GroupPolicy::None));
        assert!(count == 0 && steps < 100, "{size}: {count} {steps}");
    }
}

/// Every child has a different amount of room, without an effect if groups are isolated. A further group cannot be
/// placed at all.
#[test]
fn children_with_unequal_room_are_interchangeable_if_room_does_not_matter() {
    for size in SIZES {
        let mut rows = tree((0..size).map(|n| 10 + n));
        let mut node = bare(99).with(DISK, 1).below(1, 1);
        node.traits = [TraitId(2)].into();
        rows.push(node);
        let mut ask = asking(repeat(1, size - 1), GroupPolicy::Isolate);
        let mut whole = group(&[("VCPU", 1), ("DISK_GB", 1)]);
        // No provider with the group's resources has both traits.
        whole.traits = required(&["T2", "T3"]);
        ask.groups.push(whole);
        let (count, steps) = cost(rows, &ask);
        assert!(count == 0 && steps < 2_000, "{size}: {steps}");
    }
}

/// Sixteen nodes of four devices each. Five devices of the same node are requested.
#[test]
fn a_subtree_that_is_too_small_is_refused_after_few_steps() {
    let mut rows = vec![bare(1)];
    for node in 0..16 {
        let id = 2 + node * 5;
        rows.push(bare(id).traits([2]).below(1, 1));
        rows.extend((1..=4).map(|device| bare(id + device).with(VCPU, 1).below(id, 1)));
    }
    let ask = |devices| {
        let mut ask = asking(repeat(1, devices), GroupPolicy::Isolate);
        ask.groups.push(Group {
            suffix: "_N".into(),
            traits: required(&["T2"]),
            ..Group::default()
        });
        ask.same_subtrees = vec![ask.groups.iter().map(|group| group.suffix.clone()).collect()];
        ask
    };
    let (count, steps) = cost(rows.clone(), &ask(5));
    assert!(count == 0 && steps < 2_000, "{steps}");
    let (count, steps) = cost(rows, &ask(4));
    assert!(count == 16 * 24 && steps < 6_000, "{count} {steps}");
}

/// Different amounts, and a tiny amount. Neither sums nor a common divisor decide, and no two parts are equal. Two
/// amounts fit into each child, and an amount is left.
#[test]
fn a_packing_of_amounts_that_are_all_different_is_refused_after_few_steps() {
    let children = (0..8).map(|n| 1000 + n * 5 - 20);
    let amounts = (0..17).map(|n| 360 + n * 5).chain([1]);
    let (count, steps) = cost(tree(children), &asking(amounts, GroupPolicy::None));
    assert!(count == 0 && steps < 200, "{steps}");
}

/// Random amounts, in sum 80 to 105 % of the room of children with random totals: 40 of 40 are decided.
#[test]
fn packings_of_random_amounts_are_decided_after_few_steps() {
    let (mut found, mut worst) = (0, 0);
    for seed in 0..40 {
        let roll = |at: u64, below: u64| (mix(mix(seed) ^ at) % below) as i64;
        let rooms: Vec<i32> = (0..4 + roll(0, 20))
            .map(|n| 1000 + roll(100 + n as u64, 500) as i32)
            .collect();
        let wanted = rooms.iter().map(|&room| i64::from(room)).sum::<i64>() * (80 + roll(1, 26)) / 100;
        let mut amounts: Vec<i64> = Vec::new();
        while amounts.iter().sum::<i64>() < wanted {
            amounts.push(1 + roll(200 + amounts.len() as u64, 900));
        }
        let snapshot = Snapshot::build(catalog(), tree(rooms));
        let request = Request {
            limit: Some(1),
            ..asking(amounts, GroupPolicy::None)
        };
        let mut all = candidates(&snapshot, &request, &settings()).unwrap();
        found += usize::from(all.next().is_some());
        worst = worst.max(all.steps());
        assert!(all.found().is_ok(), "{seed} was given up");
    }
    assert!((10..38).contains(&found) && worst < 2_000, "{found} {worst}");
}

/// The room of every child is cut into three, in two classes, and each cut is a group. So a packing exists, and leaves
/// no room. The search does not find the packing, and must answer with an error, not with an empty result.
#[test]
fn a_packing_that_is_not_decided_is_given_up_with_an_error() {
    let (rows, request) = cut_up(30);
    let snapshot = Snapshot::build(catalog(), rows);
    let mut all = candidates(&snapshot, &request, &settings()).unwrap();
    assert_eq!(all.next(), None);
    assert!(all.steps() < 250_000, "{}", all.steps());
    assert!(all.found().is_err(), "there is a packing, although it was not found");
}

/// The same with fewer children: the packing is found.
#[test]
fn a_small_packing_without_slack_is_found() {
    let (rows, request) = cut_up(4);
    let (count, steps) = cost(rows, &request);
    assert!(count > 0 && steps < 2_000, "{count} {steps}");
}

/// Children, and groups that fill all children to the last unit.
pub(super) fn cut_up(children: i32) -> (Vec<ProviderRow>, Request) {
    let cut = |child: i32, class: u64, room: i64| {
        let roll = |at: u64| (mix(mix(child as u64 * 2 + class) ^ at) % 150) as i64;
        let (one, two) = (250 + roll(1), 250 + roll(2));
        [one, two, room - one - two]
    };
    let (mut rows, mut request) = (vec![bare(1)], asking([], GroupPolicy::None));
    for child in 0..children {
        let (vcpus, memory) = (1000 + child, 1000 + child * 7 % 11);
        rows.push(bare(child + 2).with(VCPU, vcpus).with(ClassId(1), memory).below(1, 1));
        let both = cut(child, 0, vcpus.into())
            .into_iter()
            .zip(cut(child, 1, memory.into()));
        request
            .groups
            .extend(both.zip(child * 3..).map(|((vcpus, memory), at)| Group {
                suffix: format!("_{at}"),
                ..group(&[("VCPU", vcpus), ("MEMORY_MB", memory)])
            }));
    }
    (rows, request)
}

/// A thousand equal hosts without a packing of the request: only one host is searched.
#[test]
fn equal_trees_without_a_solution_are_searched_once() {
    let host = |host: i32| {
        let root = 1 + host * 9;
        let children = (1..9).map(move |child| bare(root + child).with(VCPU, 10).below(root, root));
        std::iter::once(bare(root)).chain(children)
    };
    let request = asking(repeat(6, 4).chain(repeat(5, 9)), GroupPolicy::None);
    let (count, one) = cost(host(0).collect(), &request);
    assert!(count == 0 && one > 0);
    assert_eq!(cost((0..1000).flat_map(host).collect(), &request), (0, one));
}

/// 300 groups under one rule of `same_subtree`, which is given twice.
#[test]
fn a_repeated_rule_is_one_rule() {
    let snapshot = Snapshot::build(catalog(), tree([300]));
    let mut request = asking(repeat(1, 300), GroupPolicy::None);
    let rule: Vec<String> = request.groups.iter().map(|group| group.suffix.clone()).collect();
    let reversed = rule.iter().rev().cloned().collect();
    request.same_subtrees = vec![rule, reversed];
    let common = resolve::common_filter(&snapshot, &request, &Default::default(), false).unwrap();
    let filters = request
        .groups
        .iter()
        .map(|group| resolve::group_filter(&snapshot, &common, group));
    let filters = filters.map(|filter| filter.unwrap().unwrap()).collect();
    let split = SplitRequest::new(&snapshot, &request, filters, &settings());
    assert_eq!((split.subtrees, split.kinds.len()), (1, 1));
}
