//! Searches that risk a combinatorial explosion, each with a time bound: `cargo bench --bench explosions [NAME]`.
//!
//! Runs the cases whose name contains NAME. Prints for each the number of candidates, its CPU time, and the growth of
//! the process (both on Linux; on other systems wall time, and no growth). A case that exceeds its bound fails the
//! bench. It is interrupted after four times the bound. Bounds are generous: they distinguish a search whose time is
//! proportional to its result from one that explodes.

mod search_inputs;

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use placet::benchmarked::{
    AggregateId, Catalog, ClassId, Group, GroupPolicy, Interrupt, ProviderRow, Request, SearchSettings, Snapshot,
    TraitId, TreeOrder, candidates,
};
use search_inputs::{BuildRow, group, request, row, settings};

/// The default of `[placet] max_candidates`, which bounds a request without a limit.
const MAX_CANDIDATES: usize = 100_000;
/// The number of traits `T0`, `T1` and so on.
const TRAIT_COUNT: i32 = 64;
/// The trait of sharing providers.
const SHARING_TRAIT: TraitId = TraitId(TRAIT_COUNT);
const VCPU: ClassId = ClassId(0);
const DISK: ClassId = ClassId(1);

struct Case {
    name: String,
    rows: Vec<ProviderRow>,
    request: Request,
    tree_order: TreeOrder,
    /// The number of candidates, up to the limit.
    expected: usize,
    bound_seconds: u64,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (name, only) = (arguments.next().unwrap_or_default(), arguments.next());
    let all = same_subtrees()
        .into_iter()
        .chain(sharing_pools())
        .chain(unlike_children())
        .chain(many_trees());
    if only.is_some() {
        let good = all.into_iter().filter(|case| case.name == name).all(Case::measure);
        return if good { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    println!("| case | candidates | seconds | bound | growth |\n|---|---|---|---|---|");
    let (mut count, mut bad) = (0, 0);
    for case in all.filter(|case| case.name.contains(&name)) {
        // Each case has a process of its own, because memory that one leaves would hide the growth of the next.
        let process = std::env::current_exe().and_then(|me| Command::new(me).args([&case.name, "only"]).status());
        count += 1;
        bad += i32::from(!process.is_ok_and(|status| status.success()));
    }
    println!("{} passed, {bad} failed, 0 skipped", count - bad);
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Case {
    fn measure(self) -> bool {
        let snapshot = Snapshot::build(catalog(), self.rows);
        let interrupt = Interrupt::default();
        let settings = SearchSettings {
            ceiling: MAX_CANDIDATES,
            tree_order: self.tree_order,
            interrupt: interrupt.clone(),
            ..settings()
        };
        let interrupt_after = Duration::from_secs(4 * self.bound_seconds);
        // The process ends without waiting for this thread.
        std::thread::spawn(move || {
            std::thread::sleep(interrupt_after);
            interrupt.set();
        });
        // Resets the peak. If that fails, the peak includes the making of the rows.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let memory_before = peak_kib();
        let (start, cpu_before) = (Instant::now(), cpu_time());
        let mut found = 0;
        let mut note = "";
        if let Ok(all) = candidates(&snapshot, &self.request, &settings, ()) {
            for candidate in all.select() {
                match candidate {
                    Ok(_) => found += 1,
                    Err(_) => note = " (given up)",
                }
            }
        }
        let time = cpu_time()
            .zip(cpu_before)
            .map_or_else(|| start.elapsed(), |(now, before)| now - before);
        let growth_kib = peak_kib() - memory_before;
        let (name, bound) = (self.name, self.bound_seconds);
        let good = found == self.expected && time < Duration::from_secs(bound);
        let mark = if good { "" } else { " **wrong**" };
        let seconds = time.as_secs_f64();
        println!("| {name} | {found}{note}{mark} | {seconds:.3} | {bound} | {growth_kib} KiB |");
        good
    }
}

/// The CPU time of this thread so far.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// The peak of the process's resident memory, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    word.unwrap_or(0)
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
        // Each pool has a trait of its own, and each group requires another of them: one candidate, the same for each host.
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

fn catalog() -> Catalog {
    let traits = (0..TRAIT_COUNT).map(|n| (TraitId(n), format!("T{n}").into()));
    let sharing = (SHARING_TRAIT, Arc::from("MISC_SHARES_VIA_AGGREGATE"));
    Catalog::new(
        vec![(VCPU, Arc::from("VCPU")), (DISK, Arc::from("DISK_GB"))],
        traits.chain([sharing]).collect(),
        vec![(AggregateId(1), Arc::from("a1"))],
    )
}
