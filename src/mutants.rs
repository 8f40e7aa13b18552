//! Mutants: safeguards that can be disabled one at a time, to show that a test fails without the safeguard; and
//! defects, to show how far a defect reaches.
//!
//! Mutants exist only in a binary with the feature `mutants`; the environment variable `PLACET_MUTANT` names the
//! mutant. In every other build [`is`] is a constant `false`.

/// A disabled safeguard, or a defect, by its name in `PLACET_MUTANT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// `skip-guard`: a provider's generation is raised without a comparison.
    SkipGuard,
    /// `usage-first`: a provider's usage is read before the guarding generation.
    UsageFirst,
    /// `subtract-unremoved`: a release subtracts the rows of a consumer as read, not as deleted.
    SubtractUnremoved,
    /// `share-in-flight`: a request is answered by a read of the change feed that was sent before the request arrived.
    ShareInFlight,
    /// `set-deltas`: a delta of a change is set, not added.
    SetDeltas,
    /// `apply-twice`: the writer applies its own change even if a reader has applied it already.
    ApplyTwice,
    /// `drop-fence`: an in-doubt commit is decided by reading the revision.
    DropFence,
    /// `revisions-before`: providers are reloaded in a transaction after the revisions' transaction.
    RevisionsBefore,
    /// `prune-without-epoch`: writers without a heartbeat are pruned, and the epoch stays the same.
    PruneWithoutEpoch,
    /// `ignore-gaps`: a gap in the changes of a writer goes unnoticed.
    IgnoreGaps,
    /// `drop-published`: a reading of rows replaces the snapshot without the changes published since.
    DropPublished,
    /// `trust-reconnect`: a new connection is trusted to lead to a complete database.
    TrustReconnect,
    /// `keep-identity`: a writer keeps its identity although its row changed unexpectedly.
    KeepIdentity,
    /// `wait-together`: a batch waits for a row of a foreign transaction, with all commands of the batch.
    WaitTogether,
    /// `keep-lost-gang`: the places of a refused gang's members are not undone.
    KeepLostGang,
    /// `first-candidate-only`: a claim tries only its first candidate.
    FirstCandidateOnly,
    /// `never-redeem`: the amounts that a later consumer of a call will release count after its claim, too.
    NeverRedeem,
    /// `skip-normal-limit`: the writer treats every claim as within the normal limits.
    SkipNormalLimit,
    /// `trust-idle`: a claim is written although peers have committed since its search.
    TrustIdle,
    /// `skip-state`: the writer treats every provider as up.
    SkipState,
    /// `judge-room`: a host without room counts as not eligible.
    JudgeRoom,
    /// `first-host`: a replica on several hosts counts on the first host alone.
    FirstHost,
    /// `skip-level`: the domains below the first level of a dimension are not compared.
    SkipLevel,
    /// `no-look-ahead`: a placement is taken although no replica more has a place beside it.
    NoLookAhead,
    /// `evenness-last`: of placements of the same rank the seed decides, and not how even the placement is.
    EvennessLast,
    /// `skip-neighbours`: a workload is placed although a workload in its rules has changed.
    SkipNeighbours,
    /// `skip-domains`: a workload is placed although the domains of a host have changed since the plan.
    SkipDomains,
    /// `all-lead`: every process leads. No test fails: each command of background work names the expected state.
    AllLead,
    /// `keep-snapshot`: the rows of a refusal do not correct the snapshot.
    KeepSnapshot,
    /// `never-in-batch`: no call is planned inside the writer's batch.
    NeverInBatch,
    /// `look-once`: a call with an id is refused without a second look for its answer.
    LookOnce,
    /// `forget-answers`: the answer to a call with an id is not stored.
    ForgetAnswers,
    /// `panic-in-handler`: a handler with a body panics.
    PanicInHandler,
    /// `panic-on-pool`: work on a pool's thread panics.
    PanicOnPool,
    /// `panic-in-chunk`: the second chunk of an answer panics.
    PanicInChunk,
    /// `panic-in-decision`: the creation of a trait panics in the writer's decision.
    PanicInDecision,
    /// `panic-in-writer`: the writer's thread panics after its first batch.
    PanicInWriter,
}

/// Panics if this process runs as `mutant`.
pub fn panic_as(mutant: Mutant) {
    assert!(!is(mutant), "this process runs as {mutant:?}");
}

/// Whether this process runs as `mutant`.
#[cfg(feature = "mutants")]
pub fn is(mutant: Mutant) -> bool {
    /// The name of the variant: `SkipGuard` for `skip-guard`.
    static CHOSEN: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| {
        let name = std::env::var("PLACET_MUTANT").ok()?;
        log::warn!(
            "This process runs as the mutant '{name}': it has a defect on purpose. Unset PLACET_MUTANT, except in tests"
        );
        let capitalized =
            |word: &str| word.get(..1).unwrap_or_default().to_uppercase() + word.get(1..).unwrap_or_default();
        Some(name.split('-').map(capitalized).collect())
    });
    CHOSEN.as_ref().is_some_and(|chosen| *chosen == format!("{mutant:?}"))
}

/// Whether this process runs as `mutant`. Always false in this build.
#[cfg(not(feature = "mutants"))]
pub const fn is(_mutant: Mutant) -> bool {
    false
}
