//! Groups of different sizes that share providers, which is bin packing: `cargo bench --bench packing [CASES [SEED]]`.
//!
//! 8 to 64 groups over 4 to 32 children of one root, amounts and rooms all different, 80 to 105 % of the room asked
//! for, at limit=1 and limit=1000. Prints for each shape how many were found, refused and given up, and the seconds.
//! That the small ones are answered right is checked in `src/search/tests/properties.rs`.

mod world;

use std::sync::Arc;
use std::time::Instant;

use placet::search::{Catalog, ClassId, GroupPolicy, ProviderRow, Request, Snapshot, candidates};
use world::{Writing, group, request, row, settings};

const CLASSES: [&str; 2] = ["VCPU", "MEMORY_MB"];

/// What a case is like: smallest and largest amount and room.
struct Shape {
    name: &'static str,
    amounts: (i64, i64),
    rooms: (i64, i64),
    classes: usize,
}

const SHAPES: [Shape; 6] = [
    shape("small amounts", (1, 1000), (3000, 5000), 1),
    shape("any amounts", (1, 1000), (1000, 1500), 1),
    shape("two or three a provider", (250, 500), (950, 1050), 1),
    shape("one or two a provider", (300, 700), (900, 1100), 1),
    shape("equal rooms, three each", (250, 450), (1000, 1000), 1),
    shape("two classes", (200, 600), (1000, 1500), 2),
];

const fn shape(name: &'static str, amounts: (i64, i64), rooms: (i64, i64), classes: usize) -> Shape {
    Shape {
        name,
        amounts,
        rooms,
        classes,
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, least: i64, most: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + ((z ^ (z >> 31)) % (most - least + 1) as u64) as i64
    }
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (cases, seed) = (numbers.next().unwrap_or(100), numbers.next().unwrap_or(1));
    println!("| shape | limit | found | refused | given up | median | nine of ten | worst |");
    println!("|---|---|---|---|---|---|---|---|");
    for shape in &SHAPES {
        for limit in [1, 1000] {
            measure(shape, limit, cases, seed);
        }
    }
}

fn measure(shape: &Shape, limit: usize, cases: u64, seed: u64) {
    let (mut found, mut refused, mut given_up) = (0, 0, 0);
    let mut times: Vec<f64> = Vec::new();
    for case in 0..cases {
        let (snapshot, request) = make(shape, limit, &mut Dice(seed << 32 | case));
        let settings = settings();
        let start = Instant::now();
        let answer =
            candidates(&snapshot, &request, &settings, ()).and_then(|all| all.select().collect::<Result<Vec<_>, _>>());
        times.push(start.elapsed().as_secs_f64() * 1e3);
        match answer {
            Ok(answer) if answer.is_empty() => refused += 1,
            Ok(_) => found += 1,
            Err(_) => given_up += 1,
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let name = shape.name;
    let (median, most, worst) = (at(0.5), at(0.9), at(1.0));
    println!("| {name} | {limit} | {found} | {refused} | {given_up} | {median:.2} ms | {most:.2} ms | {worst:.1} ms |");
}

/// Rooms and amounts are made in step until the load is as wanted and the numbers are within bounds.
fn make(shape: &Shape, limit: usize, dice: &mut Dice) -> (Snapshot, Request) {
    loop {
        let providers = dice.roll(4, 32);
        let load = dice.roll(80, 105);
        let rooms: Vec<Vec<i64>> = (0..providers)
            .map(|_| {
                (0..shape.classes)
                    .map(|_| dice.roll(shape.rooms.0, shape.rooms.1))
                    .collect()
            })
            .collect();
        let wanted = rooms.iter().map(|room| room[0]).sum::<i64>() * load / 100;
        let mut groups: Vec<Vec<i64>> = Vec::new();
        while groups.iter().map(|group| group[0]).sum::<i64>() < wanted {
            groups.push(
                (0..shape.classes)
                    .map(|_| dice.roll(shape.amounts.0, shape.amounts.1))
                    .collect(),
            );
        }
        if (8..=64).contains(&groups.len()) {
            return (tree(&rooms), asking(&groups, limit));
        }
    }
}

fn tree(rooms: &[Vec<i64>]) -> Snapshot {
    let classes = (0..).map(ClassId).zip(CLASSES.map(Arc::from)).collect();
    let child = |(id, room): (i32, &Vec<i64>)| -> ProviderRow {
        let stocks = (0..).map(ClassId).zip(room);
        stocks.fold(row(id).below(1), |row, (class, &room)| row.with(class, room as i32))
    };
    let rows = std::iter::once(row(1)).chain((2..).zip(rooms).map(child));
    Snapshot::build(Catalog::new(classes, Vec::new(), Vec::new()), rows.collect())
}

fn asking(groups: &[Vec<i64>], limit: usize) -> Request {
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
