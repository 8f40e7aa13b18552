//! The cases of `explosions.rs`: clouds and requests, with the number of candidates that each must give.

use std::collections::BTreeSet;
use std::sync::Arc;

use placet::benchmarked::{
    AggregateId, Catalog, ClassId, Group, GroupPolicy, ProviderRow, Request, TraitId, TreeOrder,
};

use crate::search_inputs::{BuildRow, group, request, row};

/// The default of `[placet] max_candidates`, which bounds a request without a limit.
pub const MAX_CANDIDATES: usize = 100_000;
/// The number of traits `T0`, `T1` and so on.
const TRAIT_COUNT: i32 = 64;
/// The trait of sharing providers.
const SHARING_TRAIT: TraitId = TraitId(TRAIT_COUNT);
const VCPU: ClassId = ClassId(0);
const DISK: ClassId = ClassId(1);

/// A search, and what is expected of it.
pub struct Case {
    pub name: String,
    pub rows: Vec<ProviderRow>,
    pub request: Request,
    pub tree_order: TreeOrder,
    /// The number of candidates, up to the limit.
    pub expected: usize,
    pub bound_seconds: u64,
}

/// Every case, in the order of the report.
pub fn all() -> impl Iterator<Item = Case> {
    same_subtrees()
        .into_iter()
        .chain(sharing_pools())
        .chain(unlike_children())
        .chain(many_trees())
}

/// The classes, traits and aggregates of all cases.
pub fn catalog() -> Catalog {
    let traits = (0..TRAIT_COUNT).map(|n| (TraitId(n), format!("T{n}").into()));
    let sharing = (SHARING_TRAIT, Arc::from("MISC_SHARES_VIA_AGGREGATE"));
    Catalog::new(
        vec![(VCPU, Arc::from("VCPU")), (DISK, Arc::from("DISK_GB"))],
        traits.chain([sharing]).collect(),
        vec![(AggregateId(1), Arc::from("a1"))],
    )
}

fn numbered(n: usize, class: &str, amount: i64) -> Group {
    group(&format!("_{n}"), &[(class, amount)])
}

/// 300 groups of 300 different amounts, with ten `same_subtree` rules that each leave out other groups.
fn same_subtrees() -> Vec<Case> {
    let child = |id| row(id).with(VCPU, 1_000_000).below(1);
    let rows: Vec<ProviderRow> = std::iter::once(row(1)).chain((2..34).map(child)).collect();
    let groups: Vec<Group> = (0..300).map(|n| numbered(n, "VCPU", 1 + n as i64)).collect();
    let names = |rule: usize| groups.iter().enumerate().filter(move |(at, _)| at % 10 != rule);
    let rules: Vec<Vec<String>> = (0..10)
        .map(|rule| names(rule).map(|(_, group)| group.suffix.clone()).collect())
        .collect();
    let case = |limit: Option<usize>, below: &str, rows: Vec<ProviderRow>, expected: usize| Case {
        name: format!("300 groups, ten rules of same_subtree, {below}, limit {limit:?}"),
        rows,
        request: Request {
            same_subtrees: rules.clone(),
            ..request(groups.clone(), GroupPolicy::None, limit)
        },
        tree_order: TreeOrder::DepthFirst,
        expected,
        bound_seconds: 30,
    };
    // If only children have room, each child alone can serve all groups. If the root has room too, any of them can.
    let mut wide = rows.clone();
    wide[0] = row(1).with(VCPU, 1_000_000);
    let mut narrow = rows.clone();
    for row in &mut narrow[1..] {
        *row = row.clone().with(VCPU, 30_000);
    }
    vec![
        case(Some(1000), "room for all in each of 32", rows.clone(), 32),
        case(None, "room for all in each of 32", rows, 32),
        case(Some(1000), "a root above", wide.clone(), 1000),
        case(None, "a root above", wide, MAX_CANDIDATES),
        case(Some(1000), "room for some in each of 32", narrow, 0),
    ]
}

/// Hosts and pools, all in one aggregate. Hosts have `local` units of disk, pools `units`.
fn shared(hosts: i32, pools: i32, units: i32, local: i32) -> Vec<ProviderRow> {
    let aggregates: BTreeSet<_> = [AggregateId(1)].into();
    let host = |id| {
        let host = row(id).with(VCPU, 64);
        ProviderRow {
            aggregates: aggregates.clone(),
            ..if local > 0 { host.with(DISK, local) } else { host }
        }
    };
    let pool = |id| ProviderRow {
        aggregates: aggregates.clone(),
        traits: [SHARING_TRAIT].into(),
        ..row(id).with(DISK, units)
    };
    (1..=hosts)
        .map(host)
        .chain((hosts + 1..=hosts + pools).map(pool))
        .collect()
}

/// Sharing providers, each of which every host may use.
fn sharing_pools() -> Vec<Case> {
    let mut cases = Vec::new();
    for policy in [GroupPolicy::None, GroupPolicy::Isolate] {
        let mut add = |name: &str, rows: Vec<ProviderRow>, groups: Vec<Group>, expected, limit: Option<usize>| {
            for tree_order in [TreeOrder::DepthFirst, TreeOrder::BreadthFirst] {
                cases.push(Case {
                    name: format!("{name}, {policy:?}, {tree_order:?}, limit {limit:?}"),
                    rows: rows.clone(),
                    request: request(groups.clone(), policy, limit),
                    tree_order,
                    expected,
                    bound_seconds: 10,
                });
            }
        };
        let disks = |count: usize, amount: i64| (0..count).map(|n| numbered(n, "DISK_GB", amount)).collect::<Vec<_>>();
        let with_host = |groups: Vec<Group>| groups.into_iter().chain([numbered(99, "VCPU", 1)]).collect::<Vec<_>>();
        let (some, name) = (Some(1000), "20 pools, 1,000 hosts");
        add(
            &format!("{name}, 16 groups"),
            shared(1000, 20, 100, 0),
            disks(16, 1),
            1000,
            some,
        );
        add(
            &format!("{name}, 16 groups"),
            shared(1000, 20, 100, 0),
            disks(16, 1),
            MAX_CANDIDATES,
            None,
        );
        add(
            &format!("{name}, 16 groups and one of a host"),
            shared(1000, 20, 100, 0),
            with_host(disks(16, 1)),
            1000,
            some,
        );
        add(
            &format!("{name}, 16 groups and one of a host"),
            shared(1000, 20, 100, 0),
            with_host(disks(16, 1)),
            MAX_CANDIDATES,
            None,
        );
        add(
            &format!("{name} with disks, 16 groups"),
            shared(1000, 20, 100, 100),
            disks(16, 1),
            MAX_CANDIDATES,
            None,
        );
        // Each pool has one unit, so 21 groups cannot be satisfied with either policy.
        add(
            &format!("{name}, 21 groups"),
            shared(1000, 20, 1, 0),
            disks(21, 1),
            0,
            some,
        );
        add(
            &format!("{name}, 21 groups and one of a host"),
            shared(1000, 20, 1, 0),
            with_host(disks(21, 1)),
            0,
            some,
        );
        // Each pool has a trait of its own, and each group requires another of them: one candidate, the same for each
        // host.
        let mut marked = shared(1000, 20, 100, 100);
        let mut wanted = disks(16, 1);
        for (at, pool) in marked[1000..].iter_mut().enumerate() {
            pool.traits.insert(TraitId(at as i32));
        }
        for (at, group) in wanted.iter_mut().enumerate() {
            group.traits.required = vec![[format!("T{at}")].into()];
        }
        add(
            &format!("{name}, a trait for each group"),
            marked.clone(),
            wanted.clone(),
            1,
            None,
        );
        wanted.push(numbered(98, "DISK_GB", 101));
        add(
            &format!("{name}, a trait for each group but one too large"),
            marked,
            wanted,
            0,
            None,
        );
        let name = "1,000 pools, 1,000 hosts";
        add(
            &format!("{name}, 16 groups"),
            shared(1000, 1000, 1, 0),
            disks(16, 1),
            1000,
            some,
        );
        add(
            &format!("{name}, 16 groups"),
            shared(1000, 1000, 1, 0),
            disks(16, 1),
            MAX_CANDIDATES,
            None,
        );
        add(
            &format!("{name}, 17 groups, one too large"),
            shared(1000, 1000, 2, 0),
            [disks(16, 1), vec![numbered(98, "DISK_GB", 3)]].concat(),
            0,
            some,
        );
        add(
            &format!("{name}, 1,001 groups"),
            shared(1000, 1000, 1, 0),
            disks(1001, 1),
            0,
            some,
        );
        // There are a million ways to choose two of a thousand pools, and each host repeats them.
        add(
            &format!("{name}, 2 groups"),
            shared(1000, 1000, 1, 1),
            disks(2, 1),
            MAX_CANDIDATES,
            None,
        );
    }
    cases
}

/// 32 children and 32 groups. No two children are alike, nor are two groups.
fn unlike_children() -> Vec<Case> {
    let child = |id: i32| ProviderRow {
        traits: [TraitId(id - 2)].into(),
        ..row(id).with(VCPU, 1).below(1)
    };
    let rows: Vec<ProviderRow> = std::iter::once(row(1)).chain((2..34).map(child)).collect();
    let forbidding = |n: usize| {
        let mut group = numbered(n, "VCPU", 1);
        group.traits.forbidden.insert(format!("T{n}"));
        group
    };
    let requiring = |n: usize, traits: usize| {
        let mut group = numbered(n, "VCPU", 1);
        group.traits.required = vec![(0..traits).map(|next| format!("T{}", (n + next * next) % 32)).collect()];
        group
    };
    let mut cases = Vec::new();
    for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
        for (name, groups, expected) in [
            (
                "all different",
                (0..32).map(|n| numbered(n, "VCPU", 1)).collect::<Vec<_>>(),
                MAX_CANDIDATES,
            ),
            (
                "each forbids a trait",
                (0..32).map(forbidding).collect(),
                MAX_CANDIDATES,
            ),
            (
                "each requires one of two traits",
                (0..32).map(|n| requiring(n, 2)).collect(),
                2,
            ),
            (
                "each requires one of eight traits",
                (0..32).map(|n| requiring(n, 8)).collect(),
                MAX_CANDIDATES,
            ),
        ] {
            for limit in [Some(1000), None] {
                cases.push(Case {
                    name: format!("32 groups over 32 children, {name}, {policy:?}, limit {limit:?}"),
                    rows: rows.clone(),
                    request: request(groups.clone(), policy, limit),
                    tree_order: TreeOrder::DepthFirst,
                    expected: expected.min(limit.unwrap_or(MAX_CANDIDATES)),
                    bound_seconds: 10,
                });
            }
        }
    }
    cases
}

/// Breadth first: every tree is begun before the second candidate of the first one, so the state of all is in memory.
fn many_trees() -> Vec<Case> {
    let host = |host: i32| {
        let root = 1 + host * 5;
        let child = move |id| row(id).with(VCPU, 8).below(root);
        std::iter::once(row(root)).chain((root + 1..root + 5).map(child))
    };
    let rows: Vec<ProviderRow> = (0..20_000).flat_map(host).collect();
    let case = |groups: usize, per_host: usize| Case {
        name: format!("20,000 hosts, {groups} groups of different amounts, BreadthFirst, limit None"),
        rows: rows.clone(),
        request: request(
            (0..groups).map(|n| numbered(n, "VCPU", 1 + n as i64)).collect(),
            GroupPolicy::None,
            None,
        ),
        tree_order: TreeOrder::BreadthFirst,
        expected: MAX_CANDIDATES.min(20_000 * per_host),
        bound_seconds: 20,
    };
    vec![case(1, 4), case(4, 256)]
}
