//! The snapshot store: holds the newest snapshot, loads it once, and keeps it current with the commits of this process and
//! of its peers.
//!
//! A snapshot is published only under the lock of `Applied`, the position in the change feed that the snapshot shows. It is
//! a lock and not a thread, because two threads publish: the writer, before it acknowledges a commit, and the follower.
//! Each comes with a connection of its own, and neither waits for the other's query. Readers take no lock.

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

/// See the module.
pub struct SnapshotStore {
    current: ArcSwap<Snapshot>,
    applied: Mutex<Applied>,
    /// Whether the snapshot may lack a commit that the change feed cannot supply. Then it must not be used.
    invalid: AtomicBool,
}

/// The applied position. It is replaced together with the snapshot, under its lock.
struct Applied {
    known: Revisions,
    /// How often everything was reloaded: feed pages fetched before a reload are obsolete.
    load: u64,
    /// This process's writer, once it has committed anything.
    own: Option<String>,
    contention: ContentionTracker,
    /// How many polls in a row found no commit of a peer.
    idle_polls: u32,
    speculative: Option<Speculative>,
}

/// The speculative snapshot: what is published once a commit in flight has happened, if nothing else is published before.
struct Speculative {
    commit: Commit,
    behind: Arc<Snapshot>,
    next: Arc<Snapshot>,
}

/// After this many polls in a row without a peer's commit the peers are taken to be idle: between two busy processes one
/// empty poll is chance. Readers and the writer count apart: a series of searches says nothing about the next batch.
pub const IDLE_POLLS: u32 = 2;

/// The result of applying a feed page.
enum Applying {
    Shown(Arc<Snapshot>),
    /// Everything was reloaded since the page was fetched.
    Outdated,
    /// Deltas are not enough: rows must be read.
    Uncountable,
}

impl SnapshotStore {
    /// Loads all tables in one transaction.
    pub fn load(conn: &mut DbConnection) -> DbResult<SnapshotStore> {
        let read = dialect::read_transaction(conn, reload::everything)?;
        Ok(SnapshotStore {
            current: ArcSwap::from_pointee(read.snapshot),
            applied: Mutex::new(Applied {
                known: read.revisions,
                load: 0,
                own: None,
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
    pub fn known(&self) -> Revisions {
        self.applied().known.clone()
    }

    /// How often everything was reloaded. After a reload the database may be another one, with other ids.
    pub fn times_read(&self) -> u64 {
        self.applied().load
    }

    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Acquire)
    }

    /// Brings the snapshot up to everything committed before the call. That takes one query; more only if rows must be read,
    /// or if a peer that was idle has committed.
    pub fn follow(&self, conn: &mut DbConnection) -> DbResult<Arc<Snapshot>> {
        loop {
            let (known, load, quiet) = {
                let applied = self.applied();
                if self.is_invalid() {
                    return self.read_everything(conn, applied);
                }
                (applied.known.clone(), applied.load, applied.idle_polls >= IDLE_POLLS)
            };
            // Idle peers: only their revisions are queried.
            if quiet && change_feed::revisions(conn)? == known {
                return Ok(self.newest());
            }
            let news = change_feed::read_page(conn, &known)?;
            if let Some(newest) = self.take(conn, &known, load, news)? {
                return Ok(newest);
            }
        }
    }

    /// As `follow`, but with deltas alone, inside the caller's transaction; false if they are not enough.
    pub fn catch_up(&self, conn: &mut DbConnection) -> DbResult<bool> {
        let (known, load) = {
            let applied = self.applied();
            (applied.known.clone(), applied.load)
        };
        if self.is_invalid() {
            return Ok(false);
        }
        let news = change_feed::read_page(conn, &known)?;
        let counted = self.count(&mut self.applied(), &known, load, news);
        Ok(matches!(counted, Applying::Shown(_)))
    }

    /// The providers that other processes update at the moment.
    pub fn contended_providers(&self) -> HashSet<ProviderId> {
        self.applied().contention.contended(Instant::now())
    }

    /// Applies a feed page that was fetched when the snapshot was at `known`; `None` if everything was reloaded since.
    fn take(
        &self,
        conn: &mut DbConnection,
        known: &Revisions,
        load: u64,
        news: FeedPage,
    ) -> DbResult<Option<Arc<Snapshot>>> {
        let mut applied = self.applied();
        if news.revisions == *known && matches!(news.after(known), Ok([])) {
            applied.idle_polls = applied.idle_polls.saturating_add(1);
            return Ok(Some(self.newest()));
        }
        match self.count(&mut applied, known, load, news) {
            Applying::Shown(newest) => Ok(Some(newest)),
            Applying::Outdated => Ok(None),
            Applying::Uncountable => {
                self.reread(conn, &mut applied, &BTreeSet::new(), false)?;
                Ok(Some(self.newest()))
            }
        }
    }

    fn count(&self, applied: &mut Applied, known: &Revisions, load: u64, news: FeedPage) -> Applying {
        if applied.load != load {
            return Applying::Outdated;
        }
        let Ok(told) = news.after(known) else {
            return Applying::Uncountable;
        };
        // The writer may have published its own commits since: each is applied once.
        let unseen = || told.iter().filter(|it| it.revision > applied.known.of(&it.writer));
        let of_others = unseen().filter(|it| Some(&it.writer) != applied.own.as_ref()).count();
        let are_others = of_others == unseen().count();
        if of_others > 0 {
            applied.idle_polls = 0;
        }
        let Some(merged) = reload::gather(unseen()) else {
            return Applying::Uncountable;
        };
        let changed = merged.counted_providers();
        let Some(next) = self.counted(merged) else {
            return Applying::Uncountable;
        };
        if are_others && !changed.is_empty() {
            applied.contention.record(Instant::now(), changed);
        }
        applied.known.advance(news.revisions);
        Applying::Shown(self.publish_snapshot(next))
    }

    /// The next snapshot, if deltas are enough to make it.
    fn counted(&self, mut merged: MergedChanges) -> Option<Snapshot> {
        let newest = self.newest();
        merged.mark_unknown(&newest);
        if merged.must_read() {
            return None;
        }
        let next = newest.apply(&merged.change(&newest, Vec::new(), None));
        merged.outrun(&next).is_empty().then_some(next)
    }

    /// The snapshot as if a commit of this process that is in flight had happened; `None` if deltas are not enough, or if the
    /// follower has applied the commit already.
    pub fn speculate(&self, committed: &Committed, commit: &Commit) -> Option<Arc<Snapshot>> {
        let mut applied = self.applied();
        if self.is_invalid() || applied.known.of(&commit.writer) + 1 != commit.revision {
            return None;
        }
        let behind = self.newest();
        let next = Arc::new(self.counted(MergedChanges::own(committed.clone()))?);
        applied.speculative = Some(Speculative {
            commit: commit.clone(),
            behind,
            next: next.clone(),
        });
        Some(next)
    }

    /// Publishes a commit of this process. False if deltas are not enough, or if the revision before it is not applied yet. If
    /// the follower has applied the commit already, nothing is left to do.
    pub fn publish(&self, committed: Committed, commit: &Commit) -> bool {
        let mut applied = self.applied();
        let speculative = applied.speculative.take();
        if self.is_invalid() {
            // The reload that is due reads it from the tables.
            return true;
        }
        if applied.own.as_ref() != Some(&commit.writer) {
            applied.own = Some(commit.writer.clone());
        }
        let known = applied.known.of(&commit.writer);
        if known >= commit.revision && !mutants::is(Mutant::ApplyTwice) {
            return true;
        }
        if known + 1 < commit.revision {
            return false;
        }
        let holds = |it: &Speculative| it.commit == *commit && Arc::ptr_eq(&it.behind, &self.newest());
        let next = match speculative.filter(holds) {
            Some(it) => it.next,
            None => match self.counted(MergedChanges::own(committed)) {
                Some(next) => Arc::new(next),
                None => return false,
            },
        };
        let mark = Position {
            revision: commit.revision,
            token: commit.token.clone(),
        };
        applied.known.writers.insert(commit.writer.clone(), mark);
        self.current.store(next);
        true
    }

    /// Brings the snapshot up to date by reading the rows that deltas cannot supply.
    pub fn read_back(&self, conn: &mut DbConnection) -> DbResult<()> {
        let mut applied = self.applied();
        if self.is_invalid() {
            return Ok(());
        }
        self.reread(conn, &mut applied, &BTreeSet::new(), false).map(|_| ())
    }

    /// Reads `suspects` again, and with `names` the catalog too. Returns the suspects that differed from the snapshot.
    pub fn check(
        &self,
        conn: &mut DbConnection,
        suspects: &BTreeSet<ProviderId>,
        names: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let mut applied = self.applied();
        if self.is_invalid() {
            return self.read_everything(conn, applied).map(|_| Vec::new());
        }
        self.reread(conn, &mut applied, suspects, names)
    }

    /// Reads the marked rows and the suspects, with the lock held to the end: a commit of this process that was published
    /// between reading and publishing would be lost.
    fn reread(
        &self,
        conn: &mut DbConnection,
        applied: &mut Applied,
        suspects: &BTreeSet<ProviderId>,
        names: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let (newest, known) = (self.newest(), &applied.known);
        let before = revisions_before(conn, known)?;
        let read = dialect::read_transaction(conn, |conn| {
            let news = match before {
                Some(news) => news,
                None => change_feed::read_page(conn, known)?,
            };
            reload::marked(conn, &newest, known, news, suspects, names)
        })?;
        Ok(self.replace(applied, read))
    }

    fn read_everything(
        &self,
        conn: &mut DbConnection,
        mut applied: MutexGuard<'_, Applied>,
    ) -> DbResult<Arc<Snapshot>> {
        let read = dialect::read_transaction(conn, reload::everything)?;
        self.replace(&mut applied, read);
        log::info!("The snapshot was reloaded and is valid again");
        Ok(self.newest())
    }

    fn replace(&self, applied: &mut Applied, read: Reload) -> Vec<ProviderId> {
        applied.known = read.revisions;
        applied.load += u64::from(read.whole);
        applied.speculative = None;
        self.publish_snapshot(read.snapshot);
        if read.whole {
            self.invalid.store(false, Ordering::Release);
        }
        read.different
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

/// A mutant: reads the revisions in another moment than the rows.
fn revisions_before(conn: &mut DbConnection, known: &Revisions) -> DbResult<Option<FeedPage>> {
    if !mutants::is(Mutant::RevisionsBefore) {
        return Ok(None);
    }
    let news = change_feed::read_page(conn, known)?;
    std::thread::sleep(Duration::from_millis(20));
    Ok(Some(news))
}
