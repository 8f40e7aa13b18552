//! The number of cases and the seed of the tests with random cases.
//!
//! `PLACET_TEST_SIZE=full` takes the full number of cases. `PLACET_CASES` sets another number, `PLACET_SEED` another
//! seed. A failed case becomes a named test.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

const SEED: u64 = 5;

/// A configuration with a fixed seed and, unless the environment says otherwise, `usual` cases.
pub fn proptest_config(usual: u32, full: u32) -> ProptestConfig {
    let asked = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    ProptestConfig {
        cases: asked("PLACET_CASES").map_or(by_size(usual, full), |cases| cases as u32),
        rng_seed: RngSeed::Fixed(asked("PLACET_SEED").unwrap_or(SEED)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The usual size of a test, or the full size.
pub fn by_size<T>(usual: T, full: T) -> T {
    let is_full = std::env::var("PLACET_TEST_SIZE").is_ok_and(|size| size == "full");
    if is_full { full } else { usual }
}
