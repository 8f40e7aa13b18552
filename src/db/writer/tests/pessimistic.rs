//! Tests of planned batches: optimistic ones, and locked ones.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use super::*;
use crate::db::change_feed::{Position, Revisions};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::{CountFrom, InsertFromRows, Value};

/// Numbers from this one on are plannable. Each thousand of them stands for a provider.
const PLANNABLE: i64 = 1000;
/// The contended providers.
const CONTENDED: [i32; 2] = [2, 3];
// Numbers of each thousand that behave in another way.
/// Is refused, by a plan and from the database.
const REFUSED: i64 = 404;
/// A plan for it lacks data.
const MISSING_DATA: i64 = 405;
/// Each plan writes it as another number.
pub const UNSTABLE: i64 = 406;
/// The first plan for it refuses it.
pub const REFUSED_ONCE: i64 = 407;
const PANICS_IN_PLAN: i64 = 500;
/// Counts as many rows.
const LARGE: i64 = 800;

const POLL_INTERVAL: Duration = Duration::from_millis(5);
pub const HOLD_TIME: Duration = Duration::from_millis(100);

const INSERT: InsertFromRows = InsertFromRows {
    table: "numbers",
    columns: &["n"],
};

/// A call of the batch that shows how the writer tries to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Follow,
    /// The providers that are locked.
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

/// The faults that a test injects, and the calls that were made.
#[derive(Default)]
pub struct Script {
    /// A call that does not return until this is cleared.
    blocked: Mutex<Option<Call>>,
    /// Each plan takes a moment.
    is_slow: AtomicBool,
    unstable: AtomicI64,
    was_refused: AtomicBool,
    /// The number of further transactions that the server rolls back while locks are taken.
    rollbacks: AtomicUsize,
    /// The number of further attempts to catch up that would have to read rows.
    failed_catch_ups: AtomicUsize,
    /// The number of further plans with a guard that fails.
    conflicts: AtomicUsize,
    /// The peers' revisions, if the change feed need not be read. The writer's own commits are added.
    expected_peers: Mutex<Option<Revisions>>,
    /// The providers that another transaction holds.
    pub held: Mutex<LockSet>,
    calls: Mutex<Vec<Call>>,
}

pub fn is_plannable(number: i64) -> bool {
    number >= PLANNABLE
}

pub fn has_large_rows(number: i64) -> bool {
    is(number, LARGE)
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

/// Consumes one of a fault's occurrences. False if none remains.
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
    }

    pub fn plan(&self, commands: &[&i64]) -> Option<BatchPlan<Numbers>> {
        let numbers: Vec<i64> = commands.iter().map(|number| **number).collect();
        self.record(Plan(numbers.clone()));
        if self.is_slow.load(Ordering::Acquire) {
            std::thread::sleep(HOLD_TIME);
        }
        self.plan_for(numbers)
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
        let rows: Vec<_> = granted
            .iter()
            .map(|number| vec![Value::Int(written(*number))])
            .collect();
        let mut writes = vec![GuardedWrite::Insert(INSERT, rows)];
        writes.retain(|write| !write.is_empty());
        let is_held = || {
            granted
                .iter()
                .any(|number| self.held.lock().unwrap().contains(&provider(*number)))
        };
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

    /// False if the server is to roll the transaction back, as Galera does if another node commits first.
    pub fn lock(&self, lock_set: &LockSet) -> bool {
        self.record(Lock(lock_set.iter().copied().collect()));
        !consume_fault(&self.rollbacks)
    }

    /// Those of the numbers' providers that another transaction holds.
    pub fn held_rows(&self, commands: &[&i64]) -> HeldRows {
        let held = self.held.lock().unwrap();
        let providers = commands.iter().map(|number| provider(**number));
        HeldRows {
            providers: providers.filter(|id| held.contains(id)).collect(),
            ..HeldRows::default()
        }
    }

    pub fn catch_up(&self) -> bool {
        self.record(CatchUp);
        !consume_fault(&self.failed_catch_ups)
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
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

/// Submits the first number, and the others while the writer is in `call` with it, which takes the time `blocked`.
pub async fn submit_during(
    call: Call,
    writer: &NumberWriter,
    first: i64,
    others: &[i64],
    blocked: Duration,
) -> Vec<Result<i64>> {
    let script = &writer.script;
    *script.blocked.lock().unwrap() = Some(call.clone());
    let mut tasks = vec![writer.submit(first)];
    let began = Instant::now();
    while script.calls().last() != Some(&call) {
        assert!(
            began.elapsed() < LONG_TIMEOUT,
            "it is never called: {:?}",
            script.calls()
        );
        actix_web::rt::time::sleep(POLL_INTERVAL).await;
    }
    tasks.extend(others.iter().map(|number| writer.submit(*number)));
    actix_web::rt::time::sleep(blocked).await;
    *script.blocked.lock().unwrap() = None;
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// Submits the others while the first number is planned for the pre-inserts, before the locks are taken.
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

#[actix_web::test]
async fn a_locked_batch_has_no_more_commands_than_any_other() {
    let writer = number_writer(1000, LONG_TIMEOUT);
    let others: Vec<i64> = (2002..2302).collect();
    let answers = submit_before_locks(&writer, 2001, &others, HOLD_TIME).await;
    assert_eq!(answers, granted(&(2001..2302).collect::<Vec<i64>>()));
    let batches = writer.published.lock().unwrap().clone();
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [256, 45]);
}

#[actix_web::test]
async fn an_expired_command_does_not_join_a_locked_batch() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let answers = submit_before_locks(&writer, 2001, &[2002, 2003], 2 * SHORT_TIMEOUT).await;
    assert_eq!(answers[0], Ok(20010), "its attempt began in time");
    for answer in &answers[1..] {
        assert!(matches!(answer, Err(Error::Busy { .. })), "{answer:?}");
    }
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn a_locked_batch_that_cannot_catch_up_reads_the_feed_and_locks_again() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.script.fail_to_catch_up(1);
    assert_eq!(submit(&writer.handle, 2001).await, Ok(20010));
    let planned = Plan(vec![2001]);
    let attempt = [Follow, planned.clone(), Lock(vec![2]), CatchUp];
    assert_eq!(writer.script.calls(), [&attempt[..], &attempt, &[planned]].concat());
    assert_eq!(submit(&writer.handle, 2002).await, Ok(20020));
    let planned = Plan(vec![2002]);
    let locked = [Follow, planned.clone(), Lock(vec![2]), CatchUp, planned];
    assert_eq!(writer.script.calls()[9..], locked);
    assert_eq!(writer.count(), 2);
}

#[actix_web::test]
async fn a_locked_batch_that_cannot_catch_up_twice_is_decided_from_the_database() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.script.fail_to_catch_up(2);
    assert_eq!(submit(&writer.handle, 2001).await, Ok(20010));
    let attempt = [Follow, Plan(vec![2001]), Lock(vec![2]), CatchUp];
    let run = [Follow, Run { from_database: true }];
    assert_eq!(writer.script.calls(), [&attempt[..], &attempt, &run].concat());
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn a_command_that_is_refused_or_lacks_data_under_locks_is_decided_from_the_database() {
    for (other, is_granted) in [(2000 + REFUSED, false), (2000 + MISSING_DATA, true)] {
        let writer = number_writer(100, LONG_TIMEOUT);
        let answers = submit_before_locks(&writer, 2001, &[other], HOLD_TIME).await;
        assert_eq!(answers, [Ok(20010), answer(other)]);
        let calls = [
            Follow,
            Plan(vec![2001]),
            Plan(vec![other]),
            Lock(vec![2]),
            CatchUp,
            Plan(vec![2001, other]),
            Follow,
            Run { from_database: true },
        ];
        assert_eq!(writer.script.calls(), calls);
        let batches = writer.published.lock().unwrap().clone();
        let committed = if is_granted { vec![2001, other] } else { vec![2001] };
        assert_eq!(batches, [committed]);
    }
}

#[actix_web::test]
async fn a_refused_plan_is_decided_from_the_database_and_one_that_lacks_data_may_use_the_snapshot() {
    let refused = vec![Follow, Run { from_database: true }];
    let lacks_data = vec![Run { from_database: false }];
    for (number, then) in [(1000 + REFUSED, refused), (1000 + MISSING_DATA, lacks_data)] {
        let writer = number_writer(100, LONG_TIMEOUT);
        assert_eq!(submit(&writer.handle, number).await, answer(number));
        let planned = [Follow, Plan(vec![number])];
        assert_eq!(writer.script.calls(), [&planned[..], &then].concat());
    }
}

#[actix_web::test]
async fn a_conflict_leads_to_locks_and_a_conflict_under_locks_to_the_database() {
    let planned = Plan(vec![1001]);
    let optimistic = [Follow, planned.clone()];
    let locked = [&optimistic[..], &optimistic, &[Lock(vec![1]), CatchUp, planned]].concat();
    // The second plan is for the pre-inserts, which have no guard that can fail.
    for (conflicts, then) in [(1, vec![]), (3, vec![Follow, Run { from_database: true }])] {
        let mut writer = number_writer(100, LONG_TIMEOUT);
        writer.script.fail_guards(conflicts);
        assert_eq!(submit(&writer.handle, 1001).await, Ok(10010));
        assert_eq!(writer.script.calls(), [&locked[..], &then].concat());
        assert_eq!(writer.count(), 1, "a failed attempt leaves no row");
    }
}

#[actix_web::test]
async fn a_plan_on_a_stale_snapshot_is_made_again_after_reading_the_feed() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    // The plan expects no writer, but there is one.
    writer.script.expect_peers(Revisions::default());
    assert_eq!(submit(&writer.handle, 1001).await, Ok(10010));
    let planned = Plan(vec![1001]);
    assert_eq!(writer.script.calls(), [planned.clone(), Follow, planned]);
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn only_the_command_at_fault_of_a_locked_batch_is_refused() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let answers = submit_before_locks(&writer, 2001, &[2002, 2000 + PANICS_IN_PLAN, 2003], HOLD_TIME).await;
    assert!(matches!(answers[2], Err(Error::Internal { .. })), "{:?}", answers[2]);
    assert_eq!([&answers[..2], &answers[3..]].concat(), granted(&[2001, 2002, 2003]));
    assert_eq!(writer.count(), 3);
    assert_eq!(submit(&writer.handle, 2004).await, Ok(20040), "the writer continues");
}
