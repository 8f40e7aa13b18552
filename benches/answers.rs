//! Time to find candidates and to write them as a response body: `cargo bench --bench answers [HOSTS [ROUNDS]]`.
//!
//! There is a cloud of flat hosts and one of nested hosts, each host with 50 traits. The request is for three resource
//! classes. The bench measures the search alone, and the search with its body written in chunks, as the service sends
//! it. It prints medians, and bytes per second of the body.

mod median;
mod search_inputs;

use std::sync::Arc;

use median::median;
use placet::benchmarked::{
    CandidatesAnswer, Catalog, ClassId, GroupPolicy, ProviderRow, Request, Snapshot, TraitId, Version, candidates,
};
use search_inputs::{BuildRow, group, request, row, settings};

/// Name, total of each inventory, and requested amount.
const CLASSES: [(&str, i32, i64); 3] = [("VCPU", 64, 4), ("MEMORY_MB", 262_144, 8_192), ("DISK_GB", 4_000, 40)];
const TRAITS_PER_HOST: i32 = 50;
/// The length of the chunks that the service sends.
const CHUNK_BYTES: usize = 64 * 1024;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (hosts, rounds) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(21));
    println!("| hosts | limit | search | search and body | bytes of the body | rate |");
    println!("|---|---|---|---|---|---|");
    for (name, snapshot) in [("flat", flat(hosts)), ("nested", nested(hosts))] {
        for limit in [Some(1000), None] {
            measure(&format!("{hosts} {name}"), &snapshot, limit, rounds);
        }
    }
}

fn measure(name: &str, snapshot: &Arc<Snapshot>, limit: Option<usize>, rounds: i32) {
    let request = request_of_all_classes(limit);
    let search = median(rounds, || {
        let found = candidates(&**snapshot, &request, &settings()).map(|all| all.select().count());
        found.unwrap_or_default()
    });
    let mut length = 0;
    let search_and_body = median(rounds, || {
        length = body_length(snapshot, &request);
        length
    });
    let rate = length as f64 / search_and_body.as_secs_f64() / 1e6;
    let limit = limit.map_or("none".to_owned(), |limit| limit.to_string());
    println!(
        "| {name} | {limit} | {:.3} ms | {:.3} ms | {length} | {rate:.0} MB/s |",
        search.as_secs_f64() * 1e3,
        search_and_body.as_secs_f64() * 1e3
    );
}

/// Searches, and writes the whole body.
fn body_length(snapshot: &Arc<Snapshot>, request: &Request) -> usize {
    let Ok(found) = candidates(Arc::clone(snapshot), request, &settings()) else {
        return 0;
    };
    let mut body = CandidatesAnswer::new(Version::MAX, Arc::clone(snapshot), request, found.select());
    let (mut chunk, mut length) = (Vec::with_capacity(CHUNK_BYTES), 0);
    while body.write(&mut chunk, CHUNK_BYTES) == Ok(true) {
        length += chunk.len();
        chunk.clear();
    }
    length + chunk.len()
}

fn request_of_all_classes(limit: Option<usize>) -> Request {
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

/// There are ten kinds of hosts, with most of their traits in common.
fn traits_of(host: i32) -> impl Iterator<Item = i32> {
    (0..TRAITS_PER_HOST).map(move |number| number + host % 10)
}

fn flat(hosts: i32) -> Arc<Snapshot> {
    let rows = (1..=hosts).map(|id| provider(id, &[0, 1, 2], traits_of(id)));
    Arc::new(Snapshot::build(catalog(), rows.collect()))
}

/// Each host has its disk at the root, and cores and memory at two NUMA nodes.
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
    let traits = (0..TRAITS_PER_HOST + 10).map(|id| (TraitId(id), format!("HW_CPU_X86_FEATURE_{id}").into()));
    Catalog::new(classes.collect(), traits.collect(), Vec::new())
}
