//! Random numbers for the clients: SplitMix64, which is fast and needs no crate.

pub struct Random(u64);

impl Random {
    /// Each client of each run has another sequence, because consumers of earlier runs are still in the database.
    pub fn new(client: usize) -> Self {
        Random(uuid::Uuid::new_v4().as_u64_pair().0 ^ client as u64)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[(self.next() % all.len() as u64) as usize]
    }

    /// True with this probability.
    pub fn is_chosen(&mut self, probability: f64) -> bool {
        (self.next() as f64) < probability * u64::MAX as f64
    }

    pub fn uuid(&mut self) -> uuid::Uuid {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }
}
