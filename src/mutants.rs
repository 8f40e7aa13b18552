//! Mutants: safeguards that can be disabled one at a time, to show that a test fails without them.
//!
//! They exist only in a binary that is built with the feature `mutants`; the environment variable `PLACET_MUTANT`
//! names one. In every other build [`is`] is a constant `false`.

/// A safeguard that is disabled, by its name in `PLACET_MUTANT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// `skip-guard`: a provider's generation is raised without comparing it.
    SkipGuard,
    /// `usage-first`: a provider's usage is read before the generation that guards it.
    UsageFirst,
    /// `subtract-unremoved`: a release subtracts the rows that were read of a consumer, not those that were deleted.
    SubtractUnremoved,
    /// `share-in-flight`: a request is answered by a read of the change feed that was sent before the request
    /// arrived.
    ShareInFlight,
    /// `set-deltas`: a delta of a change is set, not added.
    SetDeltas,
    /// `apply-twice`: the writer applies its own change even if a reader has applied it already.
    ApplyTwice,
    /// `drop-fence`: an in-doubt commit is decided by reading the revision.
    DropFence,
    /// `revisions-before`: providers are reloaded in another transaction than the revisions.
    RevisionsBefore,
    /// `prune-without-epoch`: writers without a heartbeat are pruned, and the epoch stays the same.
    PruneWithoutEpoch,
    /// `ignore-gaps`: a gap in the changes of a writer goes unnoticed.
    IgnoreGaps,
    /// `drop-published`: rows that were read replace the snapshot without the changes published since.
    DropPublished,
    /// `trust-reconnect`: a new connection is taken to be to a database that lacks nothing.
    TrustReconnect,
    /// `keep-identity`: a writer keeps its identity although its row changed unexpectedly.
    KeepIdentity,
    /// `wait-together`: a batch waits for a row that another transaction holds, with all of its commands.
    WaitTogether,
    /// `keep-lost-gang`: what the members of a refused gang took is not undone.
    KeepLostGang,
    /// `first-candidate-only`: of the candidates of a claim only the first is tried.
    FirstCandidateOnly,
    /// `look-once`: a call with an id is refused without another look for its answer.
    LookOnce,
    /// `forget-answers`: the answer to a call with an id is not stored.
    ForgetAnswers,
}

/// Whether this process runs as `mutant`.
#[cfg(feature = "mutants")]
pub fn is(mutant: Mutant) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<Mutant>> = std::sync::LazyLock::new(|| {
        let name = std::env::var("PLACET_MUTANT").ok()?;
        log::warn!(
            "This process runs as the mutant '{name}': a safeguard is disabled. Unset PLACET_MUTANT, except in tests"
        );
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
            "drop-published" => Some(Mutant::DropPublished),
            "trust-reconnect" => Some(Mutant::TrustReconnect),
            "keep-identity" => Some(Mutant::KeepIdentity),
            "wait-together" => Some(Mutant::WaitTogether),
            "keep-lost-gang" => Some(Mutant::KeepLostGang),
            "first-candidate-only" => Some(Mutant::FirstCandidateOnly),
            "look-once" => Some(Mutant::LookOnce),
            "forget-answers" => Some(Mutant::ForgetAnswers),
            _ => None,
        }
    });
    *CHOSEN == Some(mutant)
}

/// Whether this process runs as `mutant`. Always false in this build.
#[cfg(not(feature = "mutants"))]
pub const fn is(_mutant: Mutant) -> bool {
    false
}
