//! Numbers the combinations of domains, with one domain of each compared dimension.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The most entries of a dense table. Larger tables are sparse.
const DENSE_ENTRIES: usize = 1 << 18;

/// Numbers of the combinations that occur.
pub struct CellNumbers {
    levels: Vec<Pairs>,
}

impl CellNumbers {
    /// Numbers for dimensions with these numbers of domains.
    pub fn of(domains: impl Iterator<Item = usize>) -> CellNumbers {
        let mut known = 1_usize;
        let levels = domains.map(|domains| {
            let pairs = Pairs::new(known, domains);
            known = known.saturating_mul(domains);
            pairs
        });
        CellNumbers {
            levels: levels.collect(),
        }
    }

    /// The number of a combination. A new combination gets the next number.
    pub fn number(&mut self, domain: impl Fn(usize) -> u32) -> u32 {
        let levels = self.levels.iter_mut().enumerate();
        levels.fold(0, |number, (at, level)| level.number(number, domain(at)))
    }
}

/// Numbers pairs in the order in which they come.
struct Pairs {
    seconds: usize,
    /// 0 is a pair without a number.
    dense: Vec<u32>,
    sparse: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
    count: u32,
}

impl Pairs {
    fn new(firsts: usize, seconds: usize) -> Pairs {
        let entries = firsts.saturating_mul(seconds);
        Pairs {
            seconds,
            dense: vec![0; if entries <= DENSE_ENTRIES { entries } else { 0 }],
            sparse: HashMap::default(),
            count: 0,
        }
    }

    fn number(&mut self, first: u32, second: u32) -> u32 {
        let known = if self.dense.is_empty() {
            self.sparse
                .entry(u64::from(first) << 32 | u64::from(second))
                .or_default()
        } else {
            &mut self.dense[first as usize * self.seconds + second as usize]
        };
        if *known == 0 {
            self.count += 1;
            *known = self.count;
        }
        *known - 1
    }
}

/// Hashes one number. The pairs are placet's own, so no client chooses them to collide.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
