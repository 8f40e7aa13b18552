//! How fast candidates become an answer: `cargo bench --bench answers [HOSTS [ROUNDS]]`.
//!
//! A cloud of flat hosts and one of nested ones, each host with 50 traits, asked for three classes: the search alone, and
//! the search with its answer written in pieces as it is sent. Prints medians, and bytes a second of the answer.

mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use placet::search::{Catalog, ClassId, GroupPolicy, ProviderRow, Request, Snapshot, TraitId, candidates};
use placet::version::Version;
use placet::wire::allocation_candidates::Answer;
use world::{Writing, group, request, row, settings};

const CLASSES: [(&str, i32, i64); 3] = [("VCPU", 64, 4), ("MEMORY_MB", 262_144, 8_192), ("DISK_GB", 4_000, 40)];
const TRAITS: i32 = 50;
/// As the service sends them.
const PIECE: usize = 64 * 1024;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (hosts, rounds) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(21));
    println!("| hosts | limit | search | search and answer | length | answer |");
    println!("|---|---|---|---|---|---|");
    for (name, snapshot) in [("flat", flat(hosts)), ("nested", nested(hosts))] {
        for limit in [Some(1000), None] {
            measure(&format!("{hosts} {name}"), &snapshot, limit, rounds);
        }
    }
}

fn measure(name: &str, snapshot: &Arc<Snapshot>, limit: Option<usize>, rounds: i32) {
    let request = asking(limit);
    let search = median(rounds, || {
        let found = candidates(&**snapshot, &request, &settings(), ()).map(|all| all.select().count());
        found.unwrap_or_default()
    });
    let mut length = 0;
    let whole = median(rounds, || {
        length = written(snapshot, &request);
        length
    });
    let speed = length as f64 / whole.as_secs_f64() / 1e6;
    let limit = limit.map_or("none".to_owned(), |limit| limit.to_string());
    println!(
        "| {name} | {limit} | {:.3} ms | {:.3} ms | {length} | {speed:.0} MB/s |",
        search.as_secs_f64() * 1e3,
        whole.as_secs_f64() * 1e3
    );
}

fn written(snapshot: &Arc<Snapshot>, request: &Request) -> usize {
    let Ok(found) = candidates(Arc::clone(snapshot), request, &settings(), ()) else {
        return 0;
    };
    let mut answer = Answer::new(Version::MAX, Arc::clone(snapshot), request, found.select());
    let (mut piece, mut length) = (Vec::with_capacity(PIECE), 0);
    while answer.write(&mut piece, PIECE) == Ok(true) {
        length += piece.len();
        piece.clear();
    }
    length + piece.len()
}

fn median(rounds: i32, mut run: impl FnMut() -> usize) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn asking(limit: Option<usize>) -> Request {
    let resources = CLASSES.map(|(class, _, amount)| (class, amount));
    request(vec![group("", &resources)], GroupPolicy::None, limit)
}

fn provider(id: i32, classes: &[usize], traits: impl Iterator<Item = i32>) -> ProviderRow {
    let mut row = row(id);
    row.traits = traits.map(TraitId).collect();
    row.uuid = format!("{id:08x}-0000-4000-8000-{id:012x}").into();
    for &class in classes {
        row = row.with(ClassId(class as i32), CLASSES[class].1);
    }
    row
}

/// Ten kinds of hosts, which have most of their traits in common.
fn traits_of(host: i32) -> impl Iterator<Item = i32> {
    (0..TRAITS).map(move |it| it + host % 10)
}

fn flat(hosts: i32) -> Arc<Snapshot> {
    let rows = (1..=hosts).map(|id| provider(id, &[0, 1, 2], traits_of(id)));
    Arc::new(Snapshot::build(catalog(), rows.collect()))
}

/// A disk at the root, processors and memory at two NUMA nodes.
fn nested(hosts: i32) -> Arc<Snapshot> {
    let mut rows = Vec::new();
    for n in 0..hosts {
        let root = 3 * n + 1;
        rows.push(provider(root, &[2], traits_of(n)));
        rows.extend((1..=2).map(|node| provider(root + node, &[0, 1], std::iter::once(node)).below(root)));
    }
    Arc::new(Snapshot::build(catalog(), rows))
}

fn catalog() -> Catalog {
    let classes = CLASSES.iter().enumerate();
    let classes = classes.map(|(id, (name, ..))| (ClassId(id as i32), (*name).into()));
    let traits = (0..TRAITS + 10).map(|id| (TraitId(id), format!("HW_CPU_X86_FEATURE_{id}").into()));
    Catalog::new(classes.collect(), traits.collect(), Vec::new())
}
