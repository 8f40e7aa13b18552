//! The snapshot store: holds the newest snapshot, and keeps the snapshot current with the commits of this process and
//! of its peers.
//!
//! A snapshot is published only under the lock of `Applied`, the position in the change feed that the snapshot shows. A
//! lock, and not a thread, because two threads publish: the writer, before acknowledging a commit, and the follower.
//! Each has a connection of its own. Readers take no lock.
//!
//! No statement runs while the lock is held, so no thread waits for the connection of a different thread. Rows are read
//! without the lock (`row_reads.rs`).

mod published_log;
mod row_reads;
mod validity;

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use self::published_log::{PublishedChange, PublishedLog};
use super::change;
use super::committed::Committed;
use super::contention::ContentionTracker;
use super::merged_changes::MergedChanges;
use super::reload;
use super::stamp::Stamp;
use crate::db::boot_instant::BootInstant;
use crate::db::change_feed::{self, ChangeRecord, FeedPage, Position, Revisions};
use crate::db::engines::dialect;
use crate::db::writer::RowNames;
use crate::db::{Commit, DbConnection, DbResult};
use crate::model::statistics::SnapshotStatistics;
use crate::mutants::{self, Mutant};
use crate::search::{NameKinds, ProviderId, Snapshot};

/// The newest snapshot, with its position.
pub struct SnapshotStore {
    current: ArcSwap<Snapshot>,
    applied: Mutex<Applied>,
    /// Whether the snapshot may lack a commit that the change feed cannot supply. An invalid snapshot must not be used.
    invalid: AtomicBool,
    /// Notified when the snapshot is invalidated.
    invalidated: Notify,
    /// Whether a foreign writer has committed since everything was read. If so, no decision rests on the snapshot.
    has_foreign_commits: AtomicBool,
    /// Rows that other transactions are known to have locked.
    held: ArcSwap<RowNames>,
    statistics: Arc<SnapshotStatistics>,
}

/// The applied position. The position is replaced together with the snapshot, under the lock of the position.
#[derive(Default)]
struct Applied {
    revisions: Revisions,
    stamp: Stamp,
    /// When the snapshot was first invalidated since it was valid.
    invalid_since: Option<BootInstant>,
    /// The changes that were published while rows are being read.
    published: PublishedLog,
    /// This process's writer; `None` before the first commit.
    own_writer: Option<String>,
    contention: ContentionTracker,
    /// How many polls in a row found no commit of a peer.
    idle_polls: u32,
    speculative: Option<Speculative>,
    /// When a foreign writer's change was last found.
    foreign_write_found: Option<BootInstant>,
}

/// The speculative snapshot: `base` with a commit in flight. `next` is published after COMMIT, if `base` is still the
/// newest snapshot.
struct Speculative {
    commit: Commit,
    base: Arc<Snapshot>,
    next: Arc<Snapshot>,
}

/// Peers are idle after this many polls in a row without a commit of a peer, because one empty poll may be chance. The
/// store counts the polls of readers, and the writer counts its own: a series of searches says nothing about the next
/// batch.
pub const IDLE_POLLS: u32 = 2;

/// The snapshot and its position at one moment.
struct Shown {
    snapshot: Arc<Snapshot>,
    revisions: Revisions,
    stamp: Stamp,
    peers_are_idle: bool,
}

/// The result of applying a feed page.
enum PageOutcome {
    /// The snapshot that shows the page.
    Published(Arc<Snapshot>),
    /// The snapshot was reloaded or invalidated since the page was fetched.
    Obsolete,
    /// Deltas are not enough: rows must be read.
    NeedsRows,
}

impl SnapshotStore {
    /// Loads all tables in one transaction.
    pub fn load(conn: &mut DbConnection) -> DbResult<SnapshotStore> {
        let (began, statistics) = (Instant::now(), SnapshotStatistics::default());
        let loaded = dialect::read_transaction(conn, |conn| reload::everything(conn, || Ok(())))?;
        statistics.loads.record_time(began.elapsed());
        Ok(SnapshotStore {
            statistics: statistics.into(),
            current: ArcSwap::new(loaded.snapshot),
            applied: Mutex::new(Applied {
                revisions: loaded.revisions,
                ..Applied::default()
            }),
            invalid: AtomicBool::new(false),
            invalidated: Notify::new(),
            has_foreign_commits: AtomicBool::new(false),
            held: ArcSwap::default(),
        })
    }

    /// How the snapshot is kept up to date.
    pub fn statistics(&self) -> &Arc<SnapshotStatistics> {
        &self.statistics
    }

    /// The newest snapshot. Unless invalid, the snapshot shows every change that this process acknowledged.
    pub fn newest(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The newest snapshot with its stamp, if peers are idle. The snapshot may lack the last commits of peers. An
    /// answer from the snapshot is valid in two cases: the stamp is the same after a read of the change feed, or after
    /// a comparison of the peers' revisions.
    pub fn newest_if_idle(&self) -> Option<(Arc<Snapshot>, Stamp)> {
        let shown = self.shown()?;
        let may_use = shown.peers_are_idle && !self.has_foreign_commits();
        may_use.then_some((shown.snapshot, shown.stamp))
    }

    pub fn stamp(&self) -> Stamp {
        self.applied().stamp
    }

    /// The revisions up to which the snapshot shows everything.
    pub fn revisions(&self) -> Revisions {
        self.applied().revisions.clone()
    }

    /// Brings the snapshot up to everything committed before the call, and reloads everything if necessary. For a
    /// thread that may wait for a reload.
    pub fn follow(&self, conn: &mut DbConnection) -> DbResult<Arc<Snapshot>> {
        loop {
            if let Some(newest) = self.try_follow(conn)? {
                return Ok(newest);
            }
            self.reload_everything(conn)?;
        }
    }

    /// Brings the snapshot up to everything committed before the call. One query is enough, unless rows must be read or
    /// an idle peer has committed. `None` if everything must be reloaded: the snapshot is invalid.
    pub fn try_follow(&self, conn: &mut DbConnection) -> DbResult<Option<Arc<Snapshot>>> {
        while let Some(shown) = self.shown() {
            // Idle peers: only their revisions are queried.
            if shown.peers_are_idle && change_feed::revisions(conn)? == shown.revisions {
                return Ok(Some(self.newest()));
            }
            let page = change_feed::read_page(conn, &shown.revisions)?;
            if page.revisions == shown.revisions && matches!(page.after(&shown.revisions), Ok([])) {
                let mut applied = self.applied();
                applied.idle_polls = applied.idle_polls.saturating_add(1);
                return Ok(Some(self.newest()));
            }
            match self.apply_page(&shown, page) {
                PageOutcome::Published(newest) => return Ok(Some(newest)),
                PageOutcome::Obsolete => {}
                PageOutcome::NeedsRows => {
                    let differing = row_reads::read_marked(self, conn, &BTreeSet::new(), NameKinds::default())?;
                    if differing.is_some() {
                        return Ok(Some(self.newest()));
                    }
                }
            }
        }
        Ok(None)
    }

    /// As `try_follow`, but with deltas alone, inside the caller's transaction. False if deltas are not enough.
    pub fn catch_up(&self, conn: &mut DbConnection) -> DbResult<bool> {
        let Some(shown) = self.shown() else {
            return Ok(false);
        };
        let page = change_feed::read_page(conn, &shown.revisions)?;
        Ok(matches!(self.apply_page(&shown, page), PageOutcome::Published(_)))
    }

    /// The newest snapshot with its position; `None` if the snapshot is invalid.
    fn shown(&self) -> Option<Shown> {
        let applied = self.applied();
        (!self.is_invalid()).then(|| Shown {
            snapshot: self.newest(),
            revisions: applied.revisions.clone(),
            stamp: applied.stamp,
            peers_are_idle: applied.idle_polls >= IDLE_POLLS,
        })
    }

    /// The rows that other transactions are known to have locked. Searches avoid the providers among these rows.
    pub fn held(&self) -> Arc<RowNames> {
        self.held.load_full()
    }

    /// Replaces the list of rows that are known to be held.
    pub fn note_held(&self, rows: &RowNames) {
        if **self.held.load() != *rows {
            self.held.store(Arc::new(rows.clone()));
        }
    }

    /// Providers that other processes updated at least twice in the last second.
    pub fn contended_providers(&self) -> HashSet<ProviderId> {
        self.applied().contention.contended(Instant::now())
    }

    /// Applies a feed page that was queried after `shown`, with the deltas of the page alone.
    fn apply_page(&self, shown: &Shown, page: FeedPage) -> PageOutcome {
        let mut applied = self.applied();
        if !applied.stamp.is_same_reload(&shown.stamp) || applied.revisions.epoch != shown.revisions.epoch {
            return PageOutcome::Obsolete;
        }
        let Ok(records) = page.after(&shown.revisions) else {
            return PageOutcome::NeedsRows;
        };
        // The writer may have published commits of its own since `shown`: each commit is applied once.
        let revisions = &applied.revisions;
        let unapplied = || {
            records
                .iter()
                .filter(|record| record.revision > revisions.of(&record.writer))
        };
        let from_peers = unapplied()
            .filter(|record| Some(&record.writer) != applied.own_writer.as_ref())
            .count();
        let are_all_from_peers = from_peers == unapplied().count();
        let Some(changes) = unapplied().map(published_change).collect::<Option<Vec<_>>>() else {
            return PageOutcome::NeedsRows;
        };
        if from_peers > 0 {
            applied.idle_polls = 0;
            applied.stamp.peer_pages += 1;
        }
        let merged = MergedChanges::of_commits(changes.iter().map(|change| change.committed.clone()));
        let updated = merged.delta_providers();
        let Some(next) = next_snapshot(&self.newest(), merged) else {
            return PageOutcome::NeedsRows;
        };
        if are_all_from_peers && !updated.is_empty() {
            applied.contention.record(Instant::now(), updated);
        }
        applied.published.push(changes);
        applied.revisions.advance(page.revisions);
        PageOutcome::Published(self.publish_snapshot(next))
    }

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

    /// Brings the snapshot up to date, and reads `suspects` and the rows that deltas cannot supply. Returns the
    /// suspects that differed from the snapshot; none if the snapshot is invalid.
    pub fn reload_suspects(
        &self,
        conn: &mut DbConnection,
        suspects: &BTreeSet<ProviderId>,
    ) -> DbResult<Vec<ProviderId>> {
        let differing = row_reads::read_marked(self, conn, suspects, NameKinds::default())?;
        Ok(differing.unwrap_or_default())
    }

    /// Reads the catalog again. An invalid snapshot stays invalid.
    pub fn reload_catalog(&self, conn: &mut DbConnection) -> DbResult<()> {
        row_reads::read_marked(self, conn, &BTreeSet::new(), NameKinds::ALL).map(drop)
    }

    /// Reads everything, unless decisions may rest on the snapshot, and publishes the reload.
    pub fn reload_everything(&self, conn: &mut DbConnection) -> DbResult<()> {
        row_reads::reload_everything(self, conn)
    }

    /// Replaces the snapshot and its position. Returns the snapshot before.
    fn replace(&self, applied: &mut Applied, snapshot: Arc<Snapshot>, revisions: Revisions) -> Arc<Snapshot> {
        applied.revisions = revisions;
        applied.speculative = None;
        self.current.swap(snapshot)
    }

    fn publish_snapshot(&self, next: Snapshot) -> Arc<Snapshot> {
        let next = Arc::new(next);
        self.current.store(next.clone());
        next
    }

    fn applied(&self) -> MutexGuard<'_, Applied> {
        // The snapshot is replaced in the last step, so a panic leaves the snapshot before.
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `snapshot` with the changes; `None` if deltas are not enough.
fn next_snapshot(snapshot: &Snapshot, mut merged: MergedChanges) -> Option<Snapshot> {
    merged.mark_unknown(snapshot);
    if merged.names.any() || !merged.marked.is_empty() {
        return None;
    }
    let next = snapshot.apply(&merged.snapshot_change(snapshot, Vec::new(), None));
    merged.lagging_providers(&next).is_empty().then_some(next)
}

/// The change of a record of the feed; `None` if this version of placet cannot read it.
fn published_change(record: &ChangeRecord) -> Option<PublishedChange> {
    Some(PublishedChange {
        writer: record.writer.clone(),
        position: Position {
            revision: record.revision,
            token: record.token.clone(),
        },
        committed: change::decode(&record.body)?,
    })
}
