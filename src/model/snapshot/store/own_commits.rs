//! The commits of this process: a speculative snapshot is made while a commit is in flight, and published after COMMIT.

use std::sync::Arc;

use super::{SnapshotStore, Speculative, next_snapshot};
use crate::db::Commit;
use crate::db::change_feed::Position;
use crate::model::snapshot::committed::Committed;
use crate::model::snapshot::merged_changes::MergedChanges;
use crate::mutants::{self, Mutant};
use crate::search::Snapshot;

impl SnapshotStore {
    /// The snapshot as if a commit in flight of this process had happened. `None` if deltas are not enough, or if the
    /// follower has applied the commit already.
    pub fn speculate(&self, committed: &Committed, commit: &Commit) -> Option<Arc<Snapshot>> {
        let mut applied = self.applied();
        if self.is_invalid() || applied.revisions.of(&commit.writer) + 1 != commit.revision {
            return None;
        }
        let base = self.newest();
        let next = Arc::new(next_snapshot(&base, MergedChanges::of_commits([committed.clone()]))?);
        applied.speculative = Some(Speculative {
            commit: commit.clone(),
            base,
            next: next.clone(),
        });
        Some(next)
    }

    /// Publishes a commit of this process. Returns false if deltas are not enough, or if the revision before the commit
    /// is not applied yet. If the follower has applied the commit already, nothing is left to do.
    pub fn publish(&self, committed: Committed, commit: &Commit) -> bool {
        let mut applied = self.applied();
        let speculative = applied.speculative.take();
        if applied.own_writer.as_ref() != Some(&commit.writer) {
            applied.own_writer = Some(commit.writer.clone());
        }
        let position = Position {
            revision: commit.revision,
            token: commit.token.clone(),
        };
        applied.published.push_own(&committed, &commit.writer, &position);
        if self.is_invalid() {
            // The reload reads the commit from the tables, or adds the commit from the log.
            return true;
        }
        let known = applied.revisions.of(&commit.writer);
        if known >= commit.revision && !mutants::is(Mutant::ApplyTwice) {
            return true;
        }
        if known + 1 < commit.revision {
            return false;
        }
        let is_current =
            |speculative: &Speculative| speculative.commit == *commit && Arc::ptr_eq(&speculative.base, &self.newest());
        let next = match speculative.filter(is_current) {
            Some(speculative) => speculative.next,
            None => match next_snapshot(&self.newest(), MergedChanges::of_commits([committed])) {
                Some(next) => Arc::new(next),
                None => return false,
            },
        };
        applied.revisions.writers.insert(commit.writer.clone(), position);
        self.current.store(next);
        true
    }
}
