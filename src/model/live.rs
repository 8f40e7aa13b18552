//! The snapshot kept fresh: loaded once, then brought up to date by this process's commits and by those of others.
//!
//! There is one place that publishes: whoever holds the ledger, which says up to which revision of every writer the
//! snapshot shows everything. It is a lock and not a thread, because both the writer, which must publish before it
//! acknowledges, and whoever follows come with a connection of their own, and neither may wait for the other's database.
//! Readers take no lock.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::company::Company;
use super::gathered::Gathered;
use super::reread::{self, Reread};
use super::save::Committed;
use crate::db::followed::{self, Mark, News, Revisions};
use crate::db::{Commit, DbConnection, DbResult, dialect};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, Snapshot};

/// The newest snapshot, shared by all readers.
pub struct Live {
    current: ArcSwap<Snapshot>,
    ledger: Mutex<Ledger>,
    /// Something was committed, or may have been, that the snapshot lacks and changes cannot tell.
    doubtful: AtomicBool,
}

/// What the snapshot shows. Both are replaced together, by whoever holds this.
struct Ledger {
    known: Revisions,
    /// How often everything was read: what was fetched before that says nothing any more.
    load: u64,
    /// Who this process's writer is, once it has committed anything, and whom it meets.
    own: Option<String>,
    company: Company,
    /// How often in a row nobody else had done anything when changes were asked for.
    silence: u32,
    foreseen: Option<Foreseen>,
}

/// What is shown once a commit that is under way has happened, if nothing else is published before.
struct Foreseen {
    commit: Commit,
    behind: Arc<Snapshot>,
    next: Arc<Snapshot>,
}

/// After so many times in a row of hearing nothing nobody else is expected to say anything: between two busy processes once is
/// chance. Who reads and who writes counts for himself: searches that follow each other say nothing of the next batch.
pub const QUIET: u32 = 2;

/// What came of news that were counted.
enum Counted {
    Shown(Arc<Snapshot>),
    /// Everything was read since they were asked for.
    Outdated,
    /// Counting is not enough.
    Uncountable,
}

impl Live {
    /// Reads all tables in one moment of the database.
    pub fn load(conn: &mut DbConnection) -> DbResult<Live> {
        let read = dialect::read_transaction(conn, reread::everything)?;
        Ok(Live {
            current: ArcSwap::from_pointee(read.snapshot),
            ledger: Mutex::new(Ledger {
                known: read.revisions,
                load: 0,
                own: None,
                company: Company::default(),
                silence: 0,
                foreseen: None,
            }),
            doubtful: AtomicBool::new(false),
        })
    }

    /// The newest snapshot. It shows every change that this process acknowledged, unless it is doubtful.
    pub fn newest(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// From now on nothing may be answered from the snapshot, until all of it was read again.
    pub fn doubt(&self) {
        // Under the lock: a reload that began before this must not end it.
        let _ledger = self.ledger();
        self.doubtful.store(true, Ordering::Release);
    }

    /// Up to which revisions the snapshot shows everything.
    pub fn known(&self) -> Revisions {
        self.ledger().known.clone()
    }

    /// How often everything was read: what was found in the database before may not be in the one that there is now.
    pub fn times_read(&self) -> u64 {
        self.ledger().load
    }

    pub fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }

    /// Brings the snapshot up to what is committed when this is called, by one query, and by more only where something
    /// has to be read, or where somebody breaks a silence.
    pub fn follow(&self, conn: &mut DbConnection) -> DbResult<Arc<Snapshot>> {
        loop {
            let (known, load, quiet) = {
                let ledger = self.ledger();
                if self.is_doubtful() {
                    return self.read_everything(conn, ledger);
                }
                (ledger.known.clone(), ledger.load, ledger.silence >= QUIET)
            };
            // Where nobody is expected to have done anything, nothing but that is asked.
            if quiet && followed::revisions(conn)? == known {
                return Ok(self.newest());
            }
            let news = followed::news(conn, &known)?;
            if let Some(newest) = self.take(conn, &known, load, news)? {
                return Ok(newest);
            }
        }
    }

    /// As `follow`, but by counting alone, within a transaction of whoever asks; false where that is not enough.
    pub fn catch_up(&self, conn: &mut DbConnection) -> DbResult<bool> {
        let (known, load) = {
            let ledger = self.ledger();
            (ledger.known.clone(), ledger.load)
        };
        if self.is_doubtful() {
            return Ok(false);
        }
        let news = followed::news(conn, &known)?;
        let counted = self.count(&mut self.ledger(), &known, load, news);
        Ok(matches!(counted, Counted::Shown(_)))
    }

    /// The providers that other processes change at the moment, too.
    pub fn company(&self) -> HashSet<ProviderId> {
        self.ledger().company.met(Instant::now())
    }

    /// Publishes what was fetched when the snapshot showed `known`; `None` where everything was read meanwhile.
    fn take(
        &self,
        conn: &mut DbConnection,
        known: &Revisions,
        load: u64,
        news: News,
    ) -> DbResult<Option<Arc<Snapshot>>> {
        let mut ledger = self.ledger();
        if news.now == *known && matches!(news.after(known), Ok([])) {
            ledger.silence = ledger.silence.saturating_add(1);
            return Ok(Some(self.newest()));
        }
        match self.count(&mut ledger, known, load, news) {
            Counted::Shown(newest) => Ok(Some(newest)),
            Counted::Outdated => Ok(None),
            Counted::Uncountable => {
                self.reread(conn, &mut ledger, &BTreeSet::new(), false)?;
                Ok(Some(self.newest()))
            }
        }
    }

    fn count(&self, ledger: &mut Ledger, known: &Revisions, load: u64, news: News) -> Counted {
        if ledger.load != load {
            return Counted::Outdated;
        }
        let Ok(told) = news.after(known) else {
            return Counted::Uncountable;
        };
        // The writer may have published its own commits since: each is applied once.
        let unseen = || told.iter().filter(|it| it.revision > ledger.known.of(&it.writer));
        let of_others = unseen().filter(|it| Some(&it.writer) != ledger.own.as_ref()).count();
        let are_others = of_others == unseen().count();
        if of_others > 0 {
            ledger.silence = 0;
        }
        let Some(gathered) = reread::gather(unseen()) else {
            return Counted::Uncountable;
        };
        let changed = gathered.counted_providers();
        let Some(next) = self.counted(gathered) else {
            return Counted::Uncountable;
        };
        if are_others && !changed.is_empty() {
            ledger.company.note(Instant::now(), changed);
        }
        ledger.known.raise(news.now);
        Counted::Shown(self.publish_snapshot(next))
    }

    /// The next snapshot, where counting is enough to make it.
    fn counted(&self, mut gathered: Gathered) -> Option<Snapshot> {
        let newest = self.newest();
        gathered.mark_unknown(&newest);
        if gathered.must_read() {
            return None;
        }
        let next = newest.apply(&gathered.change(&newest, Vec::new(), None));
        gathered.outrun(&next).is_empty().then_some(next)
    }

    /// What will be shown after a commit of this process's own writer that is under way; `None` where counting does not
    /// tell, or a reader has followed it already.
    pub fn foresee(&self, committed: &Committed, commit: &Commit) -> Option<Arc<Snapshot>> {
        let mut ledger = self.ledger();
        if self.is_doubtful() || ledger.known.of(&commit.writer) + 1 != commit.revision {
            return None;
        }
        let behind = self.newest();
        let next = Arc::new(self.counted(Gathered::own(committed.clone()))?);
        ledger.foreseen = Some(Foreseen {
            commit: commit.clone(),
            behind,
            next: next.clone(),
        });
        Some(next)
    }

    /// Shows a commit of this process's own writer, where counting is enough; else false. Only where the revision before it
    /// was known: a reader may have followed it already.
    pub fn publish(&self, committed: Committed, commit: &Commit) -> bool {
        let mut ledger = self.ledger();
        let foreseen = ledger.foreseen.take();
        if self.is_doubtful() {
            // It is in the tables, and those are about to be read.
            return true;
        }
        if ledger.own.as_ref() != Some(&commit.writer) {
            ledger.own = Some(commit.writer.clone());
        }
        let known = ledger.known.of(&commit.writer);
        if known >= commit.revision && !mutants::is(Mutant::ApplyTwice) {
            return true;
        }
        if known + 1 < commit.revision {
            return false;
        }
        let holds = |it: &Foreseen| it.commit == *commit && Arc::ptr_eq(&it.behind, &self.newest());
        let next = match foreseen.filter(holds) {
            Some(it) => it.next,
            None => match self.counted(Gathered::own(committed)) {
                Some(next) => Arc::new(next),
                None => return false,
            },
        };
        let mark = Mark {
            revision: commit.revision,
            token: commit.token.clone(),
        };
        ledger.known.writers.insert(commit.writer.clone(), mark);
        self.current.store(next);
        true
    }

    /// Brings the snapshot up to what is committed by reading what counting cannot tell.
    pub fn read_back(&self, conn: &mut DbConnection) -> DbResult<()> {
        let mut ledger = self.ledger();
        if self.is_doubtful() {
            return Ok(());
        }
        self.reread(conn, &mut ledger, &BTreeSet::new(), false).map(|_| ())
    }

    /// Reads `suspects` again, with `names` all classes, traits and aggregates too, and answers which of the suspects
    /// were not what was shown.
    pub fn check(
        &self,
        conn: &mut DbConnection,
        suspects: &BTreeSet<ProviderId>,
        names: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let mut ledger = self.ledger();
        if self.is_doubtful() {
            return self.read_everything(conn, ledger).map(|_| Vec::new());
        }
        self.reread(conn, &mut ledger, suspects, names)
    }

    /// Reads what is marked and what is suspected, with the ledger held to the end: so no commit of this process is
    /// published between reading and publishing, which would take it away again.
    fn reread(
        &self,
        conn: &mut DbConnection,
        ledger: &mut Ledger,
        suspects: &BTreeSet<ProviderId>,
        names: bool,
    ) -> DbResult<Vec<ProviderId>> {
        let (newest, known) = (self.newest(), &ledger.known);
        let before = revisions_before(conn, known)?;
        let read = dialect::read_transaction(conn, |conn| {
            let news = match before {
                Some(news) => news,
                None => followed::news(conn, known)?,
            };
            reread::marked(conn, &newest, known, news, suspects, names)
        })?;
        Ok(self.replace(ledger, read))
    }

    fn read_everything(&self, conn: &mut DbConnection, mut ledger: MutexGuard<'_, Ledger>) -> DbResult<Arc<Snapshot>> {
        let read = dialect::read_transaction(conn, reread::everything)?;
        self.replace(&mut ledger, read);
        log::info!("The snapshot shows every change again");
        Ok(self.newest())
    }

    fn replace(&self, ledger: &mut Ledger, read: Reread) -> Vec<ProviderId> {
        ledger.known = read.revisions;
        ledger.load += u64::from(read.whole);
        ledger.foreseen = None;
        self.publish_snapshot(read.snapshot);
        if read.whole {
            self.doubtful.store(false, Ordering::Release);
        }
        read.different
    }

    fn publish_snapshot(&self, next: Snapshot) -> Arc<Snapshot> {
        let next = Arc::new(next);
        self.current.store(next.clone());
        next
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // It is replaced as the last step: what a panic left is what was there before.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a mutant does: the revisions come from another moment than the rows.
fn revisions_before(conn: &mut DbConnection, known: &Revisions) -> DbResult<Option<News>> {
    if !mutants::is(Mutant::RevisionsBefore) {
        return Ok(None);
    }
    let news = followed::news(conn, known)?;
    std::thread::sleep(Duration::from_millis(20));
    Ok(Some(news))
}
