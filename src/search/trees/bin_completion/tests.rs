//! Small random problems: bin completion must agree with exhaustive search.

use super::super::packing_problem::{Bin, Item, PackingProblem, PackingVerdict, add_back, fits, subtract};
use super::BinCompletion;
use crate::interrupt::Interrupt;
use crate::search::block_walk::mix;

/// Whether there is a packing, by exhaustive search.
fn can_be_packed(problem: &PackingProblem, rooms: &mut [Vec<i64>], remaining: &mut [usize]) -> bool {
    let Some(item) = remaining.iter().position(|&count| count > 0) else {
        return true;
    };
    remaining[item] -= 1;
    let need = &problem.items[item].need;
    let found = (0..rooms.len()).any(|bin| {
        if !problem.bins[bin].takes[item] || !fits(need, &rooms[bin]) {
            return false;
        }
        subtract(&mut rooms[bin], need);
        let found = can_be_packed(problem, rooms, remaining);
        add_back(&mut rooms[bin], need);
        found
    });
    remaining[item] += 1;
    found
}

/// A random problem whose room is nearly all needed. Sometimes all bins are equal, sometimes not every bin takes every
/// item, and some amounts are so large that their subset sums are not computed exactly.
fn problem(seed: u64) -> PackingProblem {
    let mut rolls = 0;
    let mut roll = |below: u64| {
        rolls += 1;
        mix(mix(seed) ^ rolls) % below
    };
    let dimensions = 1 + roll(3) as usize;
    // Scaled amounts keep about their ratios and have no common divisor.
    let scale = [1, 1, 1, 30, 1000][roll(5) as usize];
    let equal = roll(3) == 0;
    let mut rooms: Vec<Vec<i64>> = (0..1 + roll(5))
        .map(|_| {
            (0..dimensions)
                .map(|_| ((5 + roll(5)) * scale + roll(scale)) as i64)
                .collect()
        })
        .collect();
    if equal {
        let first = rooms[0].clone();
        rooms.fill(first);
    }
    let kinds = 1 + roll(7) as usize;
    let mut items: Vec<Item> = (0..kinds)
        .map(|kind| Item {
            kind,
            count: 1 + if kinds < 4 {
                roll(4) as usize
            } else {
                (roll(4) == 0) as usize
            },
            need: (0..dimensions)
                .map(|_| (roll(7) * scale + roll(scale)) as i64)
                .collect(),
        })
        .collect();
    items.iter_mut().for_each(|item| item.need[0] = item.need[0].max(1));
    let is_selective = roll(2) == 0;
    let bin = |(provider, room): (usize, Vec<i64>)| Bin {
        provider,
        takes: items
            .iter()
            .map(|item| fits(&item.need, &room) && !(is_selective && roll(3) == 0))
            .collect(),
        room,
    };
    let mut bins: Vec<Bin> = rooms.into_iter().enumerate().map(bin).collect();
    bins.sort_by(|one, other| (&one.room, &one.takes).cmp(&(&other.room, &other.takes)));
    PackingProblem {
        items,
        bins,
        dimensions,
    }
}

#[test]
fn a_packing_is_found_if_and_only_if_there_is_one() {
    let (mut refused, mut hard) = (0, 0);
    let interrupt = Interrupt::default();
    for seed in 0..20_000 {
        let problem = problem(seed);
        let mut rooms: Vec<Vec<i64>> = problem.bins.iter().map(|bin| bin.room.clone()).collect();
        let mut remaining: Vec<usize> = problem.items.iter().map(|item| item.count).collect();
        let expected = can_be_packed(&problem, &mut rooms, &mut remaining);
        let mut completion = BinCompletion::new(&problem, 1_000_000, &interrupt);
        let verdict = completion.search();
        assert_eq!(verdict == PackingVerdict::Fits, expected, "{seed}: {problem:?}");
        assert_ne!(verdict, PackingVerdict::Unknown, "{seed}");
        if expected {
            for (kind, provider) in completion.found() {
                let bin = problem.bins.iter().position(|bin| bin.provider == provider).unwrap();
                assert!(problem.bins[bin].takes[kind], "{seed}");
                subtract(&mut rooms[bin], &problem.items[kind].need);
                remaining[kind] -= 1;
            }
            let kept = rooms.iter().flatten().all(|&room| room >= 0);
            assert!(kept && remaining.iter().all(|&count| count == 0), "{seed}: {problem:?}");
        }
        refused += u32::from(!expected);
        hard += u32::from(!expected && completion.choices > 20);
    }
    assert!(refused > 2_000 && refused < 18_000 && hard > 50, "{refused} {hard}");
}

#[test]
fn an_interrupted_search_decides_nothing() {
    let interrupt = Interrupt::default();
    let problem = (0..).map(problem).find(|problem| {
        let mut completion = BinCompletion::new(problem, 1_000_000, &interrupt);
        completion.search() == PackingVerdict::Impossible && completion.choices > 20
    });
    interrupt.set();
    let problem = problem.expect("an endless iterator");
    let mut completion = BinCompletion::new(&problem, 1_000_000, &interrupt);
    assert_eq!(completion.search(), PackingVerdict::Unknown);
    assert!(completion.choices < 5, "{}", completion.choices);
}
