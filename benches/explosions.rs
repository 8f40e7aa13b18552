//! Requests whose cost could explode, each within a bound: `cargo bench --bench explosions [NAME]`.
//!
//! Prints for each case (those whose name has NAME in it) how many candidates came, the seconds of CPU time, and by how
//! much the process grew (both on Linux; elsewhere it is wall time). One that goes beyond its bound fails the bench, and is
//! interrupted where it takes four times as long. Bounds are generous: they tell a search that grows as its answer does
//! from one that explodes.

mod world;

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use placet::search::{
    AggregateId, Catalog, ClassId, Group, GroupPolicy, Interrupt, ProviderRow, Request, Settings, Snapshot, Strategy,
    TraitId, candidates,
};
use world::{Writing, group, request, row, settings};

/// `[placet] max_candidates` as it is by default: it ends what no limit ends.
const CEILING: usize = 100_000;
/// Traits `T0`, `T1` and so on, and after them the one that makes a provider a sharing one.
const TRAITS: i32 = 64;
const SHARING: TraitId = TraitId(TRAITS);
const VCPU: ClassId = ClassId(0);
const DISK: ClassId = ClassId(1);

struct Case {
    name: String,
    rows: Vec<ProviderRow>,
    request: Request,
    strategy: Strategy,
    /// How many candidates there are up to the limit.
    expected: usize,
    seconds: u64,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (name, only) = (arguments.next().unwrap_or_default(), arguments.next());
    let all = subtrees().into_iter().chain(pools()).chain(unlike()).chain(breadth());
    if only.is_some() {
        let good = all.into_iter().filter(|case| case.name == name).all(Case::measure);
        return if good { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    println!("| case | candidates | seconds | bound | grew by |\n|---|---|---|---|---|");
    let (mut count, mut bad) = (0, 0);
    for case in all.filter(|case| case.name.contains(&name)) {
        // Each has a process of its own: what a case grew by would hide what the next one needs.
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
        let settings = Settings {
            ceiling: CEILING,
            strategy: self.strategy,
            interrupt: interrupt.clone(),
            ..settings()
        };
        let bound = Duration::from_secs(4 * self.seconds);
        // It is left to its sleep: the process does not wait for it.
        std::thread::spawn(move || {
            std::thread::sleep(bound);
            interrupt.set();
        });
        // The peak is counted from now on; where that cannot be, it is that of making the rows.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let before = peak();
        let (start, spent_before) = (Instant::now(), spent());
        let mut found = 0;
        let mut told = "";
        if let Ok(all) = candidates(&snapshot, &self.request, &settings, ()) {
            for candidate in all.select() {
                match candidate {
                    Ok(_) => found += 1,
                    Err(_) => told = " (given up)",
                }
            }
        }
        let seconds = spent()
            .zip(spent_before)
            .map_or_else(|| start.elapsed(), |(now, before)| now - before);
        let grew = peak() - before;
        let (name, bound) = (self.name, self.seconds);
        let good = found == self.expected && seconds < Duration::from_secs(bound);
        let mark = if good { "" } else { " **wrong**" };
        let seconds = seconds.as_secs_f64();
        println!("| {name} | {found}{told}{mark} | {seconds:.3} | {bound} | {grew} KiB |");
        good
    }
}

/// The CPU time of this thread.
fn spent() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// The most memory that the process had so far, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    word.unwrap_or(0)
}

fn numbered(n: usize, class: &str, amount: i64) -> Group {
    group(&format!("_{n}"), &[(class, amount)])
}

/// 300 groups that all ask for another amount, under ten rules of `same_subtree` that each leave others out.
fn subtrees() -> Vec<Case> {
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
        strategy: Strategy::DepthFirst,
        expected,
        seconds: 30,
    };
    // All on one child, each child in turn; or the root has room too, and everything below it may serve.
    let mut wide = rows.clone();
    wide[0] = row(1).with(VCPU, 1_000_000);
    let mut narrow = rows.clone();
    narrow[1..]
        .iter_mut()
        .for_each(|it| *it = it.clone().with(VCPU, 30_000));
    vec![
        case(Some(1000), "room for all in each of 32", rows.clone(), 32),
        case(None, "room for all in each of 32", rows, 32),
        case(Some(1000), "a root above", wide.clone(), 1000),
        case(None, "a root above", wide, CEILING),
        case(Some(1000), "room for some in each of 32", narrow, 0),
    ]
}

/// Hosts, and pools in the one aggregate that they all are in.
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
        traits: [SHARING].into(),
        ..row(id).with(DISK, units)
    };
    (1..=hosts)
        .map(host)
        .chain((hosts + 1..=hosts + pools).map(pool))
        .collect()
}

fn pools() -> Vec<Case> {
    let mut cases = Vec::new();
    for policy in [GroupPolicy::None, GroupPolicy::Isolate] {
        let mut add = |name: &str, rows: Vec<ProviderRow>, groups: Vec<Group>, expected, limit: Option<usize>| {
            for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
                cases.push(Case {
                    name: format!("{name}, {policy:?}, {strategy:?}, limit {limit:?}"),
                    rows: rows.clone(),
                    request: request(groups.clone(), policy, limit),
                    strategy,
                    expected,
                    seconds: 10,
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
            CEILING,
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
            CEILING,
            None,
        );
        add(
            &format!("{name} with disks, 16 groups"),
            shared(1000, 20, 100, 100),
            disks(16, 1),
            CEILING,
            None,
        );
        // One unit each: 21 groups have nowhere to go, whatever the policy.
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
        // Each pool has another trait, each group wants another one: one way, which each host has again.
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
            CEILING,
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
        // All ways to use two of a thousand pools: a million, of which each host has all again.
        add(
            &format!("{name}, 2 groups"),
            shared(1000, 1000, 1, 1),
            disks(2, 1),
            CEILING,
            None,
        );
    }
    cases
}

/// 32 children of which no two are alike, and as many groups of which none asks for what another one does.
fn unlike() -> Vec<Case> {
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
    let wanting = |n: usize, traits: usize| {
        let mut group = numbered(n, "VCPU", 1);
        group.traits.required = vec![(0..traits).map(|next| format!("T{}", (n + next * next) % 32)).collect()];
        group
    };
    let mut cases = Vec::new();
    for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
        for (name, groups, most) in [
            (
                "none alike",
                (0..32).map(|n| numbered(n, "VCPU", 1)).collect::<Vec<_>>(),
                CEILING,
            ),
            ("each forbids a trait", (0..32).map(forbidding).collect(), CEILING),
            ("each wants one of two", (0..32).map(|n| wanting(n, 2)).collect(), 2),
            (
                "each wants one of eight",
                (0..32).map(|n| wanting(n, 8)).collect(),
                CEILING,
            ),
        ] {
            for limit in [Some(1000), None] {
                cases.push(Case {
                    name: format!("32 groups over 32 children, {name}, {policy:?}, limit {limit:?}"),
                    rows: rows.clone(),
                    request: request(groups.clone(), policy, limit),
                    strategy: Strategy::DepthFirst,
                    expected: most.min(limit.unwrap_or(CEILING)),
                    seconds: 10,
                });
            }
        }
    }
    cases
}

/// Every tree is begun before the first has its second candidate: what is kept of each is held a hundred thousand times.
fn breadth() -> Vec<Case> {
    let host = |host: i32| {
        let root = 1 + host * 5;
        let child = move |id| row(id).with(VCPU, 8).below(root);
        std::iter::once(row(root)).chain((root + 1..root + 5).map(child))
    };
    let rows: Vec<ProviderRow> = (0..20_000).flat_map(host).collect();
    let case = |groups: usize, each: usize| Case {
        name: format!("20,000 hosts, {groups} groups of another amount each, BreadthFirst, limit None"),
        rows: rows.clone(),
        request: request(
            (0..groups).map(|n| numbered(n, "VCPU", 1 + n as i64)).collect(),
            GroupPolicy::None,
            None,
        ),
        strategy: Strategy::BreadthFirst,
        expected: CEILING.min(20_000 * each),
        seconds: 20,
    };
    vec![case(1, 4), case(4, 256)]
}

fn catalog() -> Catalog {
    let traits = (0..TRAITS).map(|n| (TraitId(n), format!("T{n}").into()));
    let sharing = (SHARING, Arc::from("MISC_SHARES_VIA_AGGREGATE"));
    Catalog::new(
        vec![(VCPU, Arc::from("VCPU")), (DISK, Arc::from("DISK_GB"))],
        traits.chain([sharing]).collect(),
        vec![(AggregateId(1), Arc::from("a1"))],
    )
}
