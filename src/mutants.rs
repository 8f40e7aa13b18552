//! Guards that a test takes away, one at a time, to see that something notices.
//!
//! They exist only in a binary built with the feature `mutants`, where `PLACET_MUTANT` names one; in every other build
//! each question is a constant `false`.

/// A guard that can be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// `skip-guard`: a provider's generation is not compared when it is moved.
    SkipGuard,
    /// `usage-first`: usage is read before the generation that is to vouch for it.
    UsageFirst,
    /// `subtract-unremoved`: memory loses the rows that were read of a consumer, and not those that were removed.
    SubtractUnremoved,
    /// `share-in-flight`: a request is answered by a freshness query that was sent before it came.
    ShareInFlight,
    /// `set-deltas`: what a change counted is set and not added.
    SetDeltas,
    /// `apply-twice`: a writer's own change is applied though a reader applied it already.
    ApplyTwice,
    /// `drop-fence`: a doubt about a commit is ended by reading the revision.
    DropFence,
    /// `revisions-before`: providers are read again in another transaction than the revisions.
    RevisionsBefore,
    /// `prune-without-epoch`: rows of silent writers are cleared away under the same epoch.
    PruneWithoutEpoch,
    /// `ignore-gaps`: changes of a writer that are missing are not missed.
    IgnoreGaps,
    /// `keep-identity`: a writer whose row is not as it left it takes no other.
    KeepIdentity,
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
            "subtract-unremoved" => Some(Mutant::SubtractUnremoved),
            "share-in-flight" => Some(Mutant::ShareInFlight),
            "set-deltas" => Some(Mutant::SetDeltas),
            "apply-twice" => Some(Mutant::ApplyTwice),
            "drop-fence" => Some(Mutant::DropFence),
            "revisions-before" => Some(Mutant::RevisionsBefore),
            "prune-without-epoch" => Some(Mutant::PruneWithoutEpoch),
            "ignore-gaps" => Some(Mutant::IgnoreGaps),
            "keep-identity" => Some(Mutant::KeepIdentity),
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
