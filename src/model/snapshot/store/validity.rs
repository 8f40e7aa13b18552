//! Whether the snapshot may be used. An invalid snapshot, which may lack a commit, may not be used at all. No decision
//! rests on a snapshot that may lack a foreign writer's commits.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Applied, SnapshotStore};
use crate::db::boot_instant::BootInstant;
use crate::db::change_feed::{Position, Revisions};
use crate::db::{DbConnection, DbResult, change_feed};
use crate::model::snapshot::stamp::Stamp;
use crate::model::statistics::ReloadReason;
use crate::mutants::{self, Mutant};

impl SnapshotStore {
    /// Marks the snapshot as invalid: no request is answered from the snapshot until everything was reloaded.
    pub fn invalidate(&self) {
        self.invalidate_under(&mut self.applied(), ReloadReason::Writer);
    }

    /// Invalidates the snapshot, unless it was reloaded or invalidated after `stamp`. Two threads may have the same
    /// reason: the second thread must not make the reload of the first thread obsolete.
    pub(super) fn invalidate_since(&self, stamp: &Stamp, kind: ReloadReason, reason: impl std::fmt::Display) {
        let mut applied = self.applied();
        if applied.stamp.is_same_reload(stamp) {
            log::info!("The snapshot is reloaded: {reason}");
            self.invalidate_under(&mut applied, kind);
        }
    }

    /// Under the lock: a reload that began earlier must not make the snapshot valid again.
    pub(super) fn invalidate_under(&self, applied: &mut Applied, reason: ReloadReason) {
        if applied.invalid_since.is_none() {
            self.statistics.note_reload(reason);
        }
        applied.stamp.invalidations += 1;
        applied.invalid_since.get_or_insert_with(BootInstant::now);
        self.invalid.store(true, Ordering::Release);
        self.invalidated.notify_waiters();
    }

    /// For a new connection: invalidates the snapshot if the database lacks a commit that the snapshot shows. After a
    /// failover or a restore the database may lack commits.
    pub fn revalidate(&self, conn: &mut DbConnection) -> DbResult<()> {
        if mutants::is(Mutant::TrustReconnect) {
            return Ok(());
        }
        // A reload in between may come from the database before the failover or the restore.
        while let Some(shown) = self.shown() {
            if change_feed::contains(conn, &shown.revisions)? {
                break;
            }
            self.invalidate_since(
                &shown.stamp,
                ReloadReason::Reconnected,
                "on a new connection the database lacks a commit that it shows",
            );
        }
        Ok(())
    }

    /// A foreign writer has committed: commands are decided on rows until everything was read again. Searches go on.
    pub fn note_foreign_commit(&self) {
        let mut applied = self.applied();
        applied.stamp.foreign_commits += 1;
        applied.foreign_write_found = Some(BootInstant::now());
        if !self.has_foreign_commits.swap(true, Ordering::AcqRel) {
            self.statistics.note_reload(ReloadReason::ForeignWriter);
            log::info!(
                "A program other than placet wrote to the database: commands are decided on rows until the snapshot \
                 was reloaded"
            );
        }
    }

    /// Whether a foreign writer has committed since everything was read.
    pub fn has_foreign_commits(&self) -> bool {
        self.has_foreign_commits.load(Ordering::Acquire)
    }

    /// A batch found rows that differ from the snapshot of the revisions `shown`. Since, `writer` has committed and
    /// published the batch. If every commit of a peer is in the snapshot of `shown`, a foreign writer changed the rows.
    pub fn note_differing_rows(&self, shown: &Revisions, writer: &str) {
        let mut applied = self.applied();
        let is_shown = |(peer, position): (&String, &Position)| peer == writer || position.revision == shown.of(peer);
        if !self.is_invalid()
            && applied.revisions.epoch == shown.epoch
            && applied.revisions.writers.iter().all(is_shown)
        {
            applied.foreign_write_found = Some(BootInstant::now());
        }
    }

    /// Whether a foreign writer's change was found within this time.
    pub fn had_foreign_writes(&self, within: Duration) -> bool {
        let found = self.applied().foreign_write_found;
        found.is_some_and(|found| found.elapsed() < within)
    }

    /// Whether a decision may rest on the snapshot, with guards.
    pub fn may_decide(&self) -> bool {
        !self.is_invalid() && !self.has_foreign_commits()
    }

    /// Whether the snapshot is invalid.
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Acquire)
    }

    /// Returns when the snapshot is invalid.
    pub async fn until_invalid(&self) {
        let mut invalidated = pin!(self.invalidated.notified());
        invalidated.as_mut().enable();
        if !self.is_invalid() {
            invalidated.await;
        }
    }

    /// How long the snapshot has been invalid; zero if it is valid.
    pub fn invalid_time(&self) -> Duration {
        self.applied()
            .invalid_since
            .map_or(Duration::ZERO, BootInstant::elapsed)
    }
}
