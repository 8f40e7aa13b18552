//! The script of the tests' batch: the plans of numbers, the injected faults, and the recorded calls.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use super::*;
use crate::db::change_feed::{Position, Revisions};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::{Clock, CountFrom, InsertFromRows, Value};

/// Numbers from 1000 on are plannable. Each thousand of numbers stands for a provider.
const PLANNABLE: i64 = 1000;
/// The contended providers.
const CONTENDED: [i32; 2] = [2, 3];
// Numbers of each thousand with a special behaviour.
/// Is refused, by a plan and from the database.
pub const REFUSED: i64 = 404;
/// A plan for the number lacks data.
pub const MISSING_DATA: i64 = 405;
/// Each plan writes the number as a different number.
pub const UNSTABLE: i64 = 406;
/// The first plan for the number refuses the number.
pub const REFUSED_ONCE: i64 = 407;
pub const PANICS_IN_PLAN: i64 = 500;
/// Has a second choice besides its provider.
pub const CHOICE: i64 = 600;
/// As `CHOICE`, but the second choice has no room.
pub const CHOICE_WITHOUT_ROOM: i64 = 601;
/// Count as many rows.
const LARGE: [i64; 2] = [800, 801];

const POLL_INTERVAL: Duration = Duration::from_millis(5);
pub const HOLD_TIME: Duration = Duration::from_millis(250);

const INSERT: InsertFromRows = InsertFromRows {
    table: "numbers",
    columns: &["n"],
    clock: Clock::Host,
    is_repeatable: true,
};

/// A call of the batch, which shows how the writer tries to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Follow,
    /// The locked providers.
    Lock(Vec<i32>),
    CatchUp,
    Plan(Vec<i64>),
    /// A plan for the second numbers while the first are committed.
    Speculate(Vec<i64>, Vec<i64>),
    Run {
        from_database: bool,
    },
}
use Call::*;

/// The injected faults of a test, and the recorded calls.
#[derive(Default)]
pub struct Script {
    /// A call which does not return until this field is cleared.
    blocked: Mutex<Option<Call>>,
    /// Calls with a panic, each once.
    panicking: Mutex<Vec<Call>>,
    /// Each plan takes a moment.
    is_slow: AtomicBool,
    unstable: AtomicI64,
    was_refused: AtomicBool,
    /// The number of further transactions to roll back, by the server, while locks are taken.
    rollbacks: AtomicUsize,
    /// The number of further attempts to catch up which would have to read rows.
    failed_catch_ups: AtomicUsize,
    /// The number of further plans with a failing guard.
    conflicts: AtomicUsize,
    /// The number of further plans with a row without its value.
    short_rows: AtomicUsize,
    /// The peers' revisions, if the change feed need not be read. The writer's own commits are added.
    expected_peers: Mutex<Option<Revisions>>,
    /// The providers under the lock of a foreign transaction, until the test ends the transaction.
    pub held: Mutex<LockSet>,
    /// The providers which a peer has locked at each probe. A statement gets its lock between two commits.
    locked_for_commits: Mutex<LockSet>,
    /// The rows which the writer knows to be held, after a lock timeout.
    known_held: Mutex<RowNames>,
    calls: Mutex<Vec<Call>>,
}

pub fn is_plannable(number: i64) -> bool {
    number >= PLANNABLE
}

pub fn has_large_rows(number: i64) -> bool {
    LARGE.iter().any(|kind| is(number, *kind))
}

pub fn is_refused(number: i64) -> bool {
    is(number, REFUSED)
}

pub fn answer(number: i64) -> Result<i64> {
    if is_refused(number) {
        Err(Error::StaleProviderGeneration)
    } else {
        Ok(number * 10)
    }
}

fn is(number: i64, kind: i64) -> bool {
    is_plannable(number) && number % PLANNABLE == kind
}

pub fn provider(number: i64) -> i32 {
    (number / PLANNABLE) as i32
}

/// Whether the number can do without its provider while the provider is held.
pub fn has_choice(number: i64) -> bool {
    is(number, CHOICE) || is(number, CHOICE_WITHOUT_ROOM)
}

/// The rows of the numbers' providers.
pub fn rows_of(numbers: &[&i64]) -> RowNames {
    RowNames {
        providers: numbers.iter().map(|number| provider(**number).to_string()).collect(),
        ..RowNames::default()
    }
}

/// Consumes an occurrence of a fault. False if none remains.
fn consume_fault(times: &AtomicUsize) -> bool {
    let one_less = times.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
    one_less.is_ok()
}

impl Script {
    pub fn record(&self, call: Call) {
        self.calls.lock().unwrap().push(call.clone());
        while self.blocked.lock().unwrap().as_ref() == Some(&call) {
            std::thread::sleep(POLL_INTERVAL);
        }
        let panics = {
            let mut panicking = self.panicking.lock().unwrap();
            let at = panicking.iter().position(|it| *it == call);
            at.map(|at| panicking.swap_remove(at)).is_some()
        };
        assert!(!panics, "a defect");
    }

    /// A plan with a held provider times out at its lock, as the statements of the plan would.
    pub fn plan(&self, commands: &[&i64]) -> DbResult<Option<BatchPlan<Numbers>>> {
        let numbers: Vec<i64> = commands.iter().map(|number| **number).collect();
        self.record(Plan(numbers.clone()));
        if self.is_slow.load(Ordering::Acquire) {
            std::thread::sleep(HOLD_TIME);
        }
        if numbers.iter().any(|number| self.uses_held(*number)) {
            std::thread::sleep(LOCK_TIMEOUT);
            let message = Box::new("canceling statement due to lock timeout".to_owned());
            return Err(diesel::result::Error::DatabaseError(
                DatabaseErrorKind::Unknown,
                message,
            ));
        }
        Ok(self.plan_for(numbers))
    }

    pub fn speculate(&self, change: &[i64], commands: &[&i64]) -> Option<BatchPlan<Numbers>> {
        let numbers: Vec<i64> = commands.iter().map(|number| **number).collect();
        self.record(Speculate(change.to_vec(), numbers.clone()));
        self.plan_for(numbers)
    }

    fn plan_for(&self, numbers: Vec<i64>) -> Option<BatchPlan<Numbers>> {
        let any = |kind| numbers.iter().any(|number| is(*number, kind));
        assert!(!any(PANICS_IN_PLAN), "a defect");
        if any(MISSING_DATA) {
            return None;
        }
        let refuses_once = any(REFUSED_ONCE) && !self.was_refused.swap(true, Ordering::AcqRel);
        let is_granted = |number: &i64| !(is_refused(*number) || refuses_once && is(*number, REFUSED_ONCE));
        let is_granted = |number: &i64| is_granted(number) && !self.is_blocked(*number);
        let decision = |number: &i64| {
            if is_granted(number) {
                Decision::Granted(number * 10)
            } else {
                Decision::Unverified
            }
        };
        let decisions = numbers.iter().map(decision).collect();
        let granted: Vec<i64> = numbers.into_iter().filter(is_granted).collect();
        let written = |number: i64| {
            if is(number, UNSTABLE) {
                self.unstable.fetch_add(-1, Ordering::AcqRel) - PLANNABLE
            } else {
                number
            }
        };
        let row = |number: &i64| {
            if consume_fault(&self.short_rows) {
                Vec::new()
            } else {
                vec![Value::Int(written(*number))]
            }
        };
        let rows: Vec<_> = granted.iter().map(row).collect();
        let mut writes = vec![GuardedWrite::Insert(INSERT, rows)];
        writes.retain(|write| !write.is_empty());
        let is_held = || granted.iter().any(|number| self.uses_held(*number));
        if !writes.is_empty() && (is_held() || consume_fault(&self.conflicts)) {
            writes.push(GuardedWrite::AssertExists(
                CountFrom("numbers WHERE 1 = 0".to_owned()),
                Vec::new(),
            ));
        }
        let written: LockSet = granted.iter().map(|number| provider(*number)).collect();
        Some(BatchPlan {
            decisions,
            change: granted,
            writes,
            now: dialect::now(),
            contended: written.iter().copied().filter(|it| CONTENDED.contains(it)).collect(),
            written,
        })
    }

    pub fn expected_peers(&self) -> Option<Revisions> {
        self.expected_peers.lock().unwrap().clone()
    }

    pub fn committed(&self, commit: &Commit) {
        if let Some(expected) = self.expected_peers.lock().unwrap().as_mut() {
            let Commit {
                writer,
                revision,
                token,
            } = commit.clone();
            expected.writers.insert(writer, Position { revision, token });
        }
    }

    /// False if the server is to roll the transaction back, as Galera does after an earlier commit of a second node.
    pub fn lock(&self, lock_set: &LockSet) -> bool {
        self.record(Lock(lock_set.iter().copied().collect()));
        !consume_fault(&self.rollbacks)
    }

    /// Whether a plan for the number writes a held provider.
    fn uses_held(&self, number: i64) -> bool {
        let avoids = has_choice(number) && self.is_known_held(number);
        !avoids && self.held.lock().unwrap().contains(&provider(number))
    }

    /// From now on each probe finds the provider locked, by one commit of a peer after the next.
    pub fn lock_for_commits(&self, provider: i32) {
        self.locked_for_commits.lock().unwrap().insert(provider);
    }

    /// The providers of `rows` under the lock of a foreign transaction.
    pub fn held_among(&self, rows: &RowNames) -> RowNames {
        let held = &*self.held.lock().unwrap() | &*self.locked_for_commits.lock().unwrap();
        let providers = held.iter().map(i32::to_string);
        RowNames {
            providers: providers.filter(|id| rows.providers.contains(id)).collect(),
            ..RowNames::default()
        }
    }

    /// Takes over which rows the writer knows to be held.
    pub fn note_held(&self, rows: &RowNames) {
        *self.known_held.lock().unwrap() = rows.clone();
    }

    /// Whether the writer knows any row to be held.
    pub fn knows_held(&self) -> bool {
        !self.known_held.lock().unwrap().is_empty()
    }

    /// Whether the number waits for its provider.
    pub fn is_blocked(&self, number: i64) -> bool {
        is(number, CHOICE_WITHOUT_ROOM) && self.is_known_held(number)
    }

    fn is_known_held(&self, number: i64) -> bool {
        let known = self.known_held.lock().unwrap();
        known.providers.contains(&provider(number).to_string())
    }

    pub fn catch_up(&self) -> bool {
        self.record(CatchUp);
        !consume_fault(&self.failed_catch_ups)
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The call does not return until [`Self::unblock`].
    pub fn block(&self, call: Call) {
        *self.blocked.lock().unwrap() = Some(call);
    }

    pub fn unblock(&self) {
        *self.blocked.lock().unwrap() = None;
    }

    /// Waits until this is the last call.
    pub async fn reaches(&self, call: &Call) {
        let began = Instant::now();
        while self.calls().last() != Some(call) {
            assert!(began.elapsed() < LONG_TIMEOUT, "it is never called: {:?}", self.calls());
            actix_web::rt::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Makes the next of these calls panic.
    pub fn panic_in(&self, call: Call) {
        self.panicking.lock().unwrap().push(call);
    }

    /// Makes the next plans lack the value of a row, a defect. On PostgreSQL the writing thread panics, MariaDB refuses
    /// the row.
    pub fn lack_values(&self, times: usize) {
        self.short_rows.store(times, Ordering::Release);
    }

    /// Makes a guard of the next plans fail.
    pub fn fail_guards(&self, times: usize) {
        self.conflicts.store(times, Ordering::Release);
    }

    pub fn roll_back_locks(&self, times: usize) {
        self.rollbacks.store(times, Ordering::Release);
    }

    pub fn fail_to_catch_up(&self, times: usize) {
        self.failed_catch_ups.store(times, Ordering::Release);
    }

    pub fn slow_down(&self) {
        self.is_slow.store(true, Ordering::Release);
    }

    pub fn expect_peers(&self, revisions: Revisions) {
        *self.expected_peers.lock().unwrap() = Some(revisions);
    }
}

/// Submits the first number, and `others` while the writer is in `call` with the first, which takes the time `blocked`.
pub async fn submit_during(
    call: Call,
    writer: &NumberWriter,
    first: i64,
    others: &[i64],
    blocked: Duration,
) -> Vec<Result<i64>> {
    let script = &writer.script;
    script.block(call.clone());
    let mut tasks = vec![writer.submit(first)];
    script.reaches(&call).await;
    tasks.extend(others.iter().map(|number| writer.submit(*number)));
    actix_web::rt::time::sleep(blocked).await;
    script.unblock();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// Submits `others` while the first number is planned for the pre-inserts, before the locks are taken.
pub async fn submit_before_locks(
    writer: &NumberWriter,
    first: i64,
    others: &[i64],
    blocked: Duration,
) -> Vec<Result<i64>> {
    submit_during(Plan(vec![first]), writer, first, others, blocked).await
}

pub fn granted(numbers: &[i64]) -> Vec<Result<i64>> {
    numbers.iter().map(|number| Ok(number * 10)).collect()
}
