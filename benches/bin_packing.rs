//! Groups of different sizes that share providers, which is bin packing:
//! `cargo bench --bench bin_packing [CASES [SEED]]`.
//!
//! 8 to 64 groups of random amounts are placed on 4 to 32 children of one root with random capacities. They request 80
//! to 105 % of the sum of the capacities, with limit=1 and limit=1000. Prints for each shape the number of cases that
//! were found, refused and given up, and the times. `src/search/tests/properties.rs` checks the results of small cases.

mod search_inputs;

use std::sync::Arc;
use std::time::Instant;

use placet::benchmarked::{Catalog, ClassId, GroupPolicy, ProviderRow, Request, Snapshot, candidates};
use search_inputs::{BuildRow, group, request, row, settings};

const CLASSES: [&str; 2] = ["VCPU", "MEMORY_MB"];

/// The bounds of amounts and capacities, smallest and largest, and the number of classes.
struct Shape {
    name: &'static str,
    amounts: (i64, i64),
    capacities: (i64, i64),
    classes: usize,
}

const SHAPES: [Shape; 6] = [
    shape("small amounts", (1, 1000), (3000, 5000), 1),
    shape("any amounts", (1, 1000), (1000, 1500), 1),
    shape("two or three per provider", (250, 500), (950, 1050), 1),
    shape("one or two per provider", (300, 700), (900, 1100), 1),
    shape("equal capacities, three each", (250, 450), (1000, 1000), 1),
    shape("two classes", (200, 600), (1000, 1500), 2),
];

const fn shape(name: &'static str, amounts: (i64, i64), capacities: (i64, i64), classes: usize) -> Shape {
    Shape {
        name,
        amounts,
        capacities,
        classes,
    }
}

/// A SplitMix64 generator.
struct Random(u64);

impl Random {
    /// A number in `least..=most`.
    fn range(&mut self, least: i64, most: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + ((z ^ (z >> 31)) % (most - least + 1) as u64) as i64
    }
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (cases, seed) = (numbers.next().unwrap_or(100), numbers.next().unwrap_or(1));
    println!("| shape | limit | found | refused | given up | median | p90 | maximum |");
    println!("|---|---|---|---|---|---|---|---|");
    for shape in &SHAPES {
        for limit in [1, 1000] {
            measure(shape, limit, cases, seed);
        }
    }
}

fn measure(shape: &Shape, limit: usize, cases: u64, seed: u64) {
    let (mut found, mut refused, mut given_up) = (0, 0, 0);
    let mut times_ms: Vec<f64> = Vec::new();
    for case in 0..cases {
        let (snapshot, request) = make_case(shape, limit, &mut Random(seed << 32 | case));
        let settings = settings();
        let start = Instant::now();
        let answer =
            candidates(&snapshot, &request, &settings).and_then(|all| all.select().collect::<Result<Vec<_>, _>>());
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        match answer {
            Ok(answer) if answer.is_empty() => refused += 1,
            Ok(_) => found += 1,
            Err(_) => given_up += 1,
        }
    }
    times_ms.sort_unstable_by(f64::total_cmp);
    let percentile = |share: f64| times_ms[((times_ms.len() - 1) as f64 * share) as usize];
    let name = shape.name;
    let (median, p90, max) = (percentile(0.5), percentile(0.9), percentile(1.0));
    println!("| {name} | {limit} | {found} | {refused} | {given_up} | {median:.2} ms | {p90:.2} ms | {max:.1} ms |");
}

/// Draws capacities and amounts, until a draw has 8 to 64 groups.
fn make_case(shape: &Shape, limit: usize, random: &mut Random) -> (Snapshot, Request) {
    loop {
        let providers = random.range(4, 32);
        let load = random.range(80, 105);
        let capacities: Vec<Vec<i64>> = (0..providers)
            .map(|_| {
                (0..shape.classes)
                    .map(|_| random.range(shape.capacities.0, shape.capacities.1))
                    .collect()
            })
            .collect();
        let requested = capacities.iter().map(|capacity| capacity[0]).sum::<i64>() * load / 100;
        let mut groups: Vec<Vec<i64>> = Vec::new();
        while groups.iter().map(|group| group[0]).sum::<i64>() < requested {
            groups.push(
                (0..shape.classes)
                    .map(|_| random.range(shape.amounts.0, shape.amounts.1))
                    .collect(),
            );
        }
        if (8..=64).contains(&groups.len()) {
            return (tree(&capacities), request_of(&groups, limit));
        }
    }
}

fn tree(capacities: &[Vec<i64>]) -> Snapshot {
    let classes = (0..).map(ClassId).zip(CLASSES.map(Arc::from)).collect();
    let child = |(id, capacity): (i32, &Vec<i64>)| -> ProviderRow {
        let inventories = (0..).map(ClassId).zip(capacity);
        inventories.fold(row(id).below(1), |row, (class, &total)| row.with(class, total as i32))
    };
    let rows = std::iter::once(row(1)).chain((2..).zip(capacities).map(child));
    Snapshot::build(Catalog::new(classes, Vec::new(), Vec::new()), rows.collect())
}

fn request_of(groups: &[Vec<i64>], limit: usize) -> Request {
    let group = |(n, amounts): (usize, &Vec<i64>)| {
        let resources: Vec<_> = CLASSES.into_iter().zip(amounts.iter().copied()).collect();
        group(&format!("_{n}"), &resources)
    };
    request(
        groups.iter().enumerate().map(group).collect(),
        GroupPolicy::None,
        Some(limit),
    )
}
