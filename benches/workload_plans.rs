//! Time of planning a workload: `cargo bench --bench workload_plans [ROUNDS [HOSTS…]]`.
//!
//! It is what `PUT /v1/workloads/{uuid}` does between its reads and its write: from a snapshot, all offers of the
//! hosts, their domains, the placement, and the report. Clouds have flat or nested hosts in three sites, with rows and
//! racks of 40 hosts, and in 20 upgrade domains; two hosts of three have room. Beside each plan stands a plain search
//! in the same cloud: the best candidates for one claim by the same query. The bench prints medians and the ratio of
//! both.
//!
//! Then it judges pages of 1,000 placed workloads, all with one query or with 100.

mod placed_workloads;
mod search_inputs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use placet::benchmarked::workloads::{
    ClaimQuery, Incarnation, Level, Mode, Owner, PlanJob, Put, Role, Spec, SpecRule, SpreadRule,
};
use placet::benchmarked::{
    Catalog, ClassId, Description, GroupPolicy, HostConditions, Interrupt, NormalLimit, ProviderId, ProviderRow, Rank,
    Request, Scoring, SearchSettings, Snapshot, best,
};
use search_inputs::{BuildRow, group, request, row, settings};

const CLASSES: [(&str, i32, i64); 2] = [("VCPU", 64, 4), ("MEMORY_MB", 262_144, 8_192)];
const UPGRADE_DOMAINS: i32 = 20;
const HOSTS_A_RACK: i32 = 40;
const RACKS_A_ROW: i32 = 8;
const SITES: i32 = 3;
/// As many candidates as a claim by query keeps.
const CANDIDATES: usize = 16;

/// How the hosts of a cloud are.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// Providers of a host. More than one: cores and memory are at NUMA nodes below it.
    providers: i32,
    normal_limits: bool,
}

const FLAT: Shape = Shape {
    name: "flat",
    providers: 1,
    normal_limits: false,
};
const LIMITED: Shape = Shape {
    name: "flat, normal limits",
    normal_limits: true,
    ..FLAT
};
const NESTED: Shape = Shape {
    name: "nested",
    providers: 3,
    ..FLAT
};

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let rounds = numbers.next().unwrap_or(21);
    let mut sizes: Vec<i32> = numbers.collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000, 100_000];
    }
    let mut pages = Vec::new();
    println!("| hosts | shape | replicas | search | plan | ratio |");
    println!("|---|---|---|---|---|---|");
    for hosts in sizes {
        for shape in [FLAT, LIMITED, NESTED] {
            let snapshot = Arc::new(cloud(hosts, shape));
            measure(hosts, shape, &snapshot, (5, None), rounds);
            measure(hosts, shape, &snapshot, (100, Some(even())), rounds);
            pages.extend([1, 100].map(|queries| judged(hosts, shape, &snapshot, queries, rounds)));
        }
    }
    println!("\n| hosts | shape | queries | a page of violations |");
    println!("|---|---|---|---|");
    pages.iter().for_each(|page| println!("{page}"));
}

/// The time of judging a page whose workloads have this number of queries.
fn judged(hosts: i32, shape: Shape, snapshot: &Snapshot, queries: i64, rounds: i32) -> String {
    let roles: Vec<Role> = (0..queries)
        .map(|more| role(placed_workloads::REPLICAS, asked(more)))
        .collect();
    let first = i32::from(shape.providers > 1);
    let provider = |host: i32| format!("uuid-{}", 1 + host * shape.providers + first);
    let page = placed_workloads::page(hosts, &roles, provider);
    let time = median(rounds, |seed| {
        let settings = SearchSettings { seed, ..settings() };
        placed_workloads::judge(snapshot, &page, &settings)
    });
    format!(
        "| {hosts} | {} | {queries} | {:.3} ms |",
        shape.name,
        time.as_secs_f64() * 1e3
    )
}

/// `count` replicas by the default rule, or by these rules.
fn measure(
    hosts: i32,
    shape: Shape,
    snapshot: &Arc<Snapshot>,
    (count, rules): (u32, Option<Vec<SpecRule>>),
    rounds: i32,
) {
    let request = asked(0);
    let search = median(rounds, |seed| {
        let settings = SearchSettings { seed, ..settings() };
        best(&**snapshot, &request, Scoring::Emptiest, CANDIDATES, &settings).map_or(0, |found| found.best.len())
    });
    let job = |seed: u64| PlanJob {
        snapshot: Arc::clone(snapshot),
        put: Arc::new(put(count, rules.clone())),
        found: Arc::default(),
        held: Arc::default(),
        settings: SearchSettings { seed, ..settings() },
        incarnation: Incarnation::random(),
        read_spec: |_| unreachable!("a plan reads no stored spec"),
        attempts: 0,
    };
    let plan = median(rounds, |seed| {
        let planned = job(seed).plan_around_held(&Interrupt::default());
        let planned = planned.expect("the cloud has room");
        assert!(planned.report.is_exact && planned.set.placed.len() == count as usize);
        planned.set.placed.len()
    });
    println!(
        "| {hosts} | {} | {count} | {:.3} ms | {:.3} ms | {:.1} |",
        shape.name,
        search.as_secs_f64() * 1e3,
        plan.as_secs_f64() * 1e3,
        plan.as_secs_f64() / search.as_secs_f64()
    );
}

fn median(rounds: i32, mut measured: impl FnMut(u64) -> usize) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            std::hint::black_box(measured(round as u64));
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Evenly over all levels of both dimensions.
fn even() -> Vec<SpecRule> {
    vec![SpecRule::Spread(SpreadRule {
        level: Level::Hard,
        mode: Mode::MaxDifference,
        dimensions: ["fault", "upgrade"].map(str::to_owned).to_vec(),
        strict: false,
    })]
}

fn put(count: u32, rules: Option<Vec<SpecRule>>) -> Put {
    Put {
        uuid: "6f000000-0000-4000-8000-000000000001".to_owned(),
        name: "workload".to_owned(),
        owner: Owner {
            project: "project".to_owned(),
            user: "user".to_owned(),
        },
        sees_others: false,
        generation: None,
        spec: Spec {
            roles: vec![role(count, asked(0))],
            rules,
            quorum: true,
            lost_after: None,
            min: None,
            consumer_type: "INSTANCE".to_owned(),
        },
        body: String::new(),
        ids: None,
        adopted: Vec::new(),
        swaps: Vec::new(),
        is_atomic: true,
        replaces_lost: false,
        is_retry: false,
        is_dry_run: false,
    }
}

fn role(count: u32, request: Request) -> Role {
    Role {
        name: "member".to_owned(),
        count,
        query: ClaimQuery {
            request,
            rank: Some(Rank::Emptiest),
        },
        definition: "".into(),
    }
}

/// What a replica needs; `more` than others makes a query of its own.
fn asked(more: i64) -> Request {
    let resources = CLASSES.map(|(class, _, amount)| (class, amount + more));
    Request {
        host: HostConditions {
            only_up: true,
            ..HostConditions::default()
        },
        ..request(vec![group("", &resources)], GroupPolicy::None, None)
    }
}

fn cloud(hosts: i32, shape: Shape) -> Snapshot {
    let rows = (0..hosts).flat_map(|host| providers(host, shape));
    let snapshot = Snapshot::build(catalog(shape), rows.collect());
    snapshot.with_descriptions((0..hosts).map(|host| (ProviderId(1 + host * shape.providers), description(host))))
}

fn providers(host: i32, shape: Shape) -> Vec<ProviderRow> {
    let root = 1 + host * shape.providers;
    if shape.providers == 1 {
        return vec![resources(row(root), host)];
    }
    let nodes = (1..shape.providers).map(|node| resources(row(root + node).below(root), host));
    std::iter::once(row(root)).chain(nodes).collect()
}

/// One host in three is full, the others are used to different degrees.
fn resources(row: ProviderRow, host: i32) -> ProviderRow {
    let hash = u64::from(host.unsigned_abs() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let used = if hash % 3 == 0 { 64 } else { (hash % 50) as i64 };
    let classes = CLASSES.iter().enumerate();
    classes.fold(row, |mut row, (id, (_, total, _))| {
        row.used.insert(ClassId(id as i32), used * i64::from(*total) / 64);
        row.with(ClassId(id as i32), *total)
    })
}

fn description(host: i32) -> Description {
    let rack = host / HOSTS_A_RACK / SITES;
    let fault = format!(
        "fd:/dc{}/row{}/rack{}",
        host / HOSTS_A_RACK % SITES,
        rack / RACKS_A_ROW,
        rack % RACKS_A_ROW
    );
    let domains = [("fault", fault), ("upgrade", format!("UD{}", host % UPGRADE_DOMAINS))];
    Description {
        domains: domains.map(|(dimension, path)| (dimension.into(), path.into())).into(),
        ..Description::default()
    }
}

fn catalog(shape: Shape) -> Catalog {
    let classes = CLASSES.iter().enumerate();
    let classes = classes.map(|(id, (name, ..))| (ClassId(id as i32), (*name).into()));
    let catalog = Catalog::new(classes.collect(), Vec::new(), Vec::new());
    if !shape.normal_limits {
        return catalog;
    }
    let tenth: NormalLimit = "0.1".parse().expect("a share");
    catalog.with_limits(CLASSES.iter().map(|(name, ..)| ((*name).into(), tenth)).collect())
}
