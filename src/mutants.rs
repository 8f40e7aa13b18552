//! Guards that a test takes away, one at a time, to see that something notices.
//!
//! They exist only in a binary built with the feature `mutants`, where `PLACET_MUTANT` names one; in every other build
//! each question is a constant `false`.

/// A guard of claims that can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// `skip-guard`: a provider's generation is not compared when it is moved.
    SkipGuard,
    /// `usage-first`: usage is read before the generation that is to vouch for it.
    UsageFirst,
}

/// Whether this process runs as `mutant`.
#[cfg(feature = "mutants")]
pub fn is(mutant: Mutant) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<Mutant>> = std::sync::LazyLock::new(|| {
        let name = std::env::var("PLACET_MUTANT").ok()?;
        log::warn!("This process is the mutant '{name}': it is made to fail");
        match name.as_str() {
            "skip-guard" => Some(Mutant::SkipGuard),
            "usage-first" => Some(Mutant::UsageFirst),
            _ => None,
        }
    });
    *CHOSEN == Some(mutant)
}

/// Whether this process runs as `mutant`: it never does.
#[cfg(not(feature = "mutants"))]
pub const fn is(_mutant: Mutant) -> bool {
    false
}
