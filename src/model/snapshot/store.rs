//! The snapshot store: holds the newest snapshot, and keeps it current with the commits of this process and of its peers.
//!
//! A snapshot is published only under the lock of `Applied`, the position in the change feed that the snapshot shows.
//! It is a lock and not a thread, because two threads publish: the writer, before it acknowledges a commit, and the
//! follower. Each has a connection of its own, and neither waits for the other's query. Readers take no lock.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::merged_changes::MergedChanges;
use super::reload::{self, Reload};
use crate::db::change_feed::{self, FeedPage, Position, Revisions};
use crate::db::engines::dialect;
use crate::db::{Commit, DbConnection, DbResult};
use crate::model::batch::contention::ContentionTracker;
use crate::model::batch::save::Committed;
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, Snapshot};

/// The newest snapshot, with the position that it shows.
pub struct SnapshotStore {
    current: ArcSwap<Snapshot>,
    applied: Mutex<Applied>,
    /// Whether the snapshot may lack a commit that the change feed cannot supply. Then it must not be used.
    invalid: AtomicBool,
}

/// The applied position. It is replaced together with the snapshot, under its lock.
struct Applied {
    revisions: Revisions,
    /// How often everything was reloaded: feed pages fetched before a reload are obsolete.
    reload_count: u64,
    /// This process's writer, once it has committed anything.
    own_writer: Option<String>,
    contention: ContentionTracker,
    /// How many polls in a row found no commit of a peer.
    idle_polls: u32,
    speculative: Option<Speculative>,
}

/// The speculative snapshot: `base` with a commit in flight. It is published when the commit has happened, if `base` is
/// still the newest snapshot.
struct Speculative {
    commit: Commit,
    base: Arc<Snapshot>,
    next: Arc<Snapshot>,
}

/// Peers are idle after this many polls in a row without a commit of theirs, because one empty poll may be chance. The
/// store counts the polls of readers, and the writer counts its own: a series of searches says nothing about the next
/// batch.
pub const IDLE_POLLS: u32 = 2;

/// The result of applying a feed page.
enum PageOutcome {
    /// The snapshot that shows the page.
    Published(Arc<Snapshot>),
    /// Everything was reloaded since the page was fetched.
    Obsolete,
    /// Deltas are not enough: rows must be read.
    NeedsReload,
}

impl SnapshotStore {
    /// Loads all tables in one transaction.
    pub fn load(conn: &mut DbConnection) -> DbResult<SnapshotStore> {
        let loaded = dialect::read_transaction(conn, reload::everything)?;
        Ok(SnapshotStore {
            current: ArcSwap::from_pointee(loaded.snapshot),
            applied: Mutex::new(Applied {
                revisions: loaded.revisions,
                reload_count: 0,
                own_writer: None,
                contention: ContentionTracker::default(),
                idle_polls: 0,
                speculative: None,
            }),
            invalid: AtomicBool::new(false),
        })
    }

    /// The newest snapshot. It shows every change that this process acknowledged, unless it is invalid.
    pub fn newest(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Marks the snapshot as invalid: nothing is answered from it until everything was reloaded.
    pub fn invalidate(&self) {
        // Under the lock: a reload that began before this must not make the snapshot valid again.
        let _applied = self.applied();
        self.invalid.store(true, Ordering::Release);
    }

    /// The revisions up to which the snapshot shows everything.
    pub fn revisions(&self) -> Revisions {
        self.applied().revisions.clone()
    }

    /// How often everything was reloaded. After a reload the database may be another one, with other ids.
    pub fn reload_count(&self) -> u64 {
        self.applied().reload_count
    }

    /// Whether the snapshot is invalid.
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Acquire)
    }

    /// Brings the snapshot up to everything committed before the call. That takes one query; more only if rows must be
    /// read, or if a peer that was idle has committed.
    pub fn follow(&self, conn: &mut DbConnection) -> DbResult<Arc<Snapshot>> {
        loop {
            let (known, reload_count, peers_are_idle) = {
                let applied = self.applied();
                if self.is_invalid() {
                    return self.reload_everything(conn, applied);
                }
                let peers_are_idle = applied.idle_polls >= IDLE_POLLS;
                (applied.revisions.clone(), applied.reload_count, peers_are_idle)
            };
            // Idle peers: only their revisions are queried.
            if peers_are_idle && change_feed::revisions(conn)? == known {
                return Ok(self.newest());
            }
            let page = change_feed::read_page(conn, &known)?;
            if let Some(newest) = self.apply_or_reload(conn, &known, reload_count, page)? {
                return Ok(newest);
            }
        }
    }

    /// As `follow`, but with deltas alone, inside the caller's transaction; false if they are not enough.
    pub fn catch_up(&self, conn: &mut DbConnection) -> DbResult<bool> {
        let (known, reload_count) = {
            let applied = self.applied();
            (applied.revisions.clone(), applied.reload_count)
        };
        if self.is_invalid() {
            return Ok(false);
        }
        let page = change_feed::read_page(conn, &known)?;
        let outcome = self.apply_page(&mut self.applied(), &known, reload_count, page);
        Ok(matches!(outcome, PageOutcome::Published(_)))
    }

    /// Providers that other processes updated at least twice in the last second.
    pub fn contended_providers(&self) -> HashSet<ProviderId> {
        self.applied().contention.contended(Instant::now())
    }

    /// Applies a feed page that was fetched at `known` and after `reload_count` reloads, and reads rows if deltas are not
    /// enough. `None` if everything was reloaded since.
    fn apply_or_reload(
        &self,
        conn: &mut DbConnection,
        known: &Revisions,
        reload_count: u64,
        page: FeedPage,
    ) -> DbResult<Option<Arc<Snapshot>>> {
        let mut applied = self.applied();
        if page.revisions == *known && matches!(page.after(known), Ok([])) {
            applied.idle_polls = applied.idle_polls.saturating_add(1);
            return Ok(Some(self.newest()));
        }
        match self.apply_page(&mut applied, known, reload_count, page) {
            PageOutcome::Published(newest) => Ok(Some(newest)),
            PageOutcome::Obsolete => Ok(None),
            PageOutcome::NeedsReload => {
                self.reload_marked(conn, &mut applied, &BTreeSet::new(), false)?;
                Ok(Some(self.newest()))
            }
        }
    }

    /// Applies a feed page with its deltas alone.
    fn apply_page(&self, applied: &mut Applied, known: &Revisions, reload_count: u64, page: FeedPage) -> PageOutcome {
        if applied.reload_count != reload_count {
            return PageOutcome::Obsolete;
        }
        let Ok(records) = page.after(known) else {
            return PageOutcome::NeedsReload;
        };
        // The writer may have published its own commits since: each is applied once.
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
        let merged = reload::merge(unapplied());
        if from_peers > 0 {
            applied.idle_polls = 0;
        }
        let Some(merged) = merged else {
            return PageOutcome::NeedsReload;
        };
        let updated = merged.delta_providers();
        let Some(next) = self.next_snapshot(merged) else {
            return PageOutcome::NeedsReload;
        };
        if are_all_from_peers && !updated.is_empty() {
            applied.contention.record(Instant::now(), updated);
        }
        applied.revisions.advance(page.revisions);
        PageOutcome::Published(self.publish_snapshot(next))
    }

    /// The next snapshot, if deltas are enough to make it.
    fn next_snapshot(&self, mut merged: MergedChanges) -> Option<Snapshot> {
        let newest = self.newest();
        merged.mark_unknown(&newest);
        if merged.needs_reload() {
            return None;
        }
        let next = newest.apply(&merged.snapshot_change(&newest, Vec::new(), None));
        merged.lagging_providers(&next).is_empty().then_some(next)
    }

    /// The snapshot as if a commit of this process that is in flight had happened; `None` if deltas are not enough, or
    /// if the follower has applied the commit already.
    pub fn speculate(&self, committed: &Committed, commit: &Commit) -> Option<Arc<Snapshot>> {
        let mut applied = self.applied();
        if self.is_invalid() || applied.revisions.of(&commit.writer) + 1 != commit.revision {
            return None;
        }
        let base = self.newest();
        let next = Arc::new(self.next_snapshot(MergedChanges::of_own_commit(committed.clone()))?);
        applied.speculative = Some(Speculative {
            commit: commit.clone(),
            base,
            next: next.clone(),
        });
        Some(next)
    }

    /// Publishes a commit of this process. Returns false if deltas are not enough, or if the revision before it is not
    /// applied yet. If the follower has applied the commit already, nothing is left to do.
    pub fn publish(&self, committed: Committed, commit: &Commit) -> bool {
        let mut applied = self.applied();
        let speculative = applied.speculative.take();
        if self.is_invalid() {
            // The reload that is due reads it from the tables.
            return true;
        }
        if applied.own_writer.as_ref() != Some(&commit.writer) {
            applied.own_writer = Some(commit.writer.clone());
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
            None => match self.next_snapshot(MergedChanges::of_own_commit(committed)) {
                Some(next) => Arc::new(next),
                None => return false,
            },
        };
        let position = Position {
            revision: commit.revision,
            token: commit.token.clone(),
        };
        applied.revisions.writers.insert(commit.writer.clone(), position);
        self.current.store(next);
        true
    }

    /// Brings the snapshot up to date by reading the rows that deltas cannot supply. An invalid snapshot stays invalid.
    pub fn reload(&self, conn: &mut DbConnection) -> DbResult<()> {
        let mut applied = self.applied();
        if self.is_invalid() {
            return Ok(());
        }
        self.reload_marked(conn, &mut applied, &BTreeSet::new(), false)
            .map(|_| ())
    }

    /// Reads `suspects` again. Returns those of them that differed from the snapshot.
    pub fn reload_suspects(
        &self,
        conn: &mut DbConnection,
        suspects: &BTreeSet<ProviderId>,
    ) -> DbResult<Vec<ProviderId>> {
        self.reload_rows(conn, suspects, false)
    }

    /// Reads the catalog again.
    pub fn reload_catalog(&self, conn: &mut DbConnection) -> DbResult<()> {
        self.reload_rows(conn, &BTreeSet::new(), true).map(|_| ())
    }

    /// Reads `suspects` and, if asked for, the catalog again; everything if the snapshot is invalid.
    fn reload_rows(
        &self,
        conn: &mut DbConnection,
        suspects: &BTreeSet<ProviderId>,
        with_catalog: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let mut applied = self.applied();
        if self.is_invalid() {
            return self.reload_everything(conn, applied).map(|_| Vec::new());
        }
        self.reload_marked(conn, &mut applied, suspects, with_catalog)
    }

    /// Reads the marked rows and the suspects, with the lock held to the end: a commit of this process that was
    /// published between reading and publishing would be lost.
    fn reload_marked(
        &self,
        conn: &mut DbConnection,
        applied: &mut Applied,
        suspects: &BTreeSet<ProviderId>,
        with_catalog: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let (newest, known) = (self.newest(), &applied.revisions);
        let early_page = early_page(conn, known)?;
        let reload = dialect::read_transaction(conn, |conn| {
            let page = match early_page {
                Some(page) => page,
                None => change_feed::read_page(conn, known)?,
            };
            reload::marked(conn, &newest, known, page, suspects, with_catalog)
        })?;
        Ok(self.install(applied, reload))
    }

    fn reload_everything(
        &self,
        conn: &mut DbConnection,
        mut applied: MutexGuard<'_, Applied>,
    ) -> DbResult<Arc<Snapshot>> {
        let reload = dialect::read_transaction(conn, reload::everything)?;
        self.install(&mut applied, reload);
        log::info!("The snapshot was reloaded and is valid again");
        Ok(self.newest())
    }

    /// Publishes the result of a reload. Returns the suspects that differed from the snapshot.
    fn install(&self, applied: &mut Applied, reload: Reload) -> Vec<ProviderId> {
        applied.revisions = reload.revisions;
        applied.reload_count += u64::from(reload.is_full);
        applied.speculative = None;
        self.publish_snapshot(reload.snapshot);
        if reload.is_full {
            self.invalid.store(false, Ordering::Release);
        }
        reload.differing
    }

    fn publish_snapshot(&self, next: Snapshot) -> Arc<Snapshot> {
        let next = Arc::new(next);
        self.current.store(next.clone());
        next
    }

    fn applied(&self) -> MutexGuard<'_, Applied> {
        // The snapshot is replaced in the last step, so a panic leaves the one before.
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With the mutant `revisions-before`, a page read before the transaction that reads the rows; `None` without it.
fn early_page(conn: &mut DbConnection, known: &Revisions) -> DbResult<Option<FeedPage>> {
    if !mutants::is(Mutant::RevisionsBefore) {
        return Ok(None);
    }
    let page = change_feed::read_page(conn, known)?;
    std::thread::sleep(Duration::from_millis(20));
    Ok(Some(page))
}
