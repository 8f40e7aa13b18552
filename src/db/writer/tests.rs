//! Tests of the writer with a batch that inserts numbers into a table. Some numbers make the batch fail in various
//! ways.

mod fairness;
mod held_rows;
mod large;
mod large_faults;
mod number_writer;
mod pessimistic;
mod pipeline;
mod preinserts;
mod relay;
mod script;
mod suspension;
mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;

use super::{Batch, BatchChange, BatchCommand, BatchPlan, Decision, Executed, LockSet, RowNames};
use crate::db::engines::dialect;
use crate::db::tests::support::Kind;
use crate::db::{Commit, DbConnection, DbResult, WriteError};
use crate::error::{Error, Result};
use number_writer::{LOCK_TIMEOUT, NumberWriter, caller, number_writer, submit};
use script::Script;

// Numbers that make the running batch fail.
/// Is inserted twice, which the table refuses.
const DUPLICATE: i64 = -1;
const PANICS: i64 = -2;
/// Is committed, but cannot be published.
const UNPUBLISHABLE: i64 = -3;
/// The server rolls back the transaction of this number, once.
const ROLLED_BACK: i64 = -4;
/// Takes longer than the caller waits, as on a paused database.
const HANGS: i64 = -5;
/// The machine is suspended during the command, for the writer's thread.
const SUSPENDS: i64 = -6;

/// Violates a constraint each time, like a name that the database takes for an existing name.
const CONSTRAINED: i64 = -7;

/// A number of `-n * ROWS`, or a little less, counts as `n` rows.
const ROWS: i64 = 1000;

/// Inserts numbers; each batch is published into `published`.
struct Numbers {
    published: Arc<Mutex<Vec<Vec<i64>>>>,
    is_invalid: Arc<AtomicBool>,
    was_rolled_back: bool,
    script: Arc<Script>,
}

impl BatchCommand for i64 {
    fn is_plannable(&self) -> bool {
        script::is_plannable(*self)
    }

    fn rows(&self) -> usize {
        if script::has_large_rows(*self) {
            return 1000;
        }
        usize::try_from(-*self / ROWS).unwrap_or(0)
    }

    fn new_rows(&self) -> RowNames {
        script::rows_of(&[self])
    }
}

impl BatchChange for Vec<i64> {
    fn encode(&self) -> String {
        format!("{self:?}")
    }
}

impl Batch for Numbers {
    type Command = i64;
    type Answer = i64;
    type Change = Vec<i64>;

    fn plan(&mut self, _: &mut DbConnection, commands: &[&i64]) -> DbResult<Option<BatchPlan<Self>>> {
        self.script.plan(commands)
    }

    fn speculate(&mut self, change: &Vec<i64>, _: &Commit, commands: &[&i64]) -> Option<BatchPlan<Self>> {
        self.script.speculate(change, commands)
    }

    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&i64],
        from_database: bool,
    ) -> std::result::Result<Executed<Self>, WriteError> {
        self.script.record(script::Call::Run { from_database });
        let is_written = |number: &&&i64| !script::is_refused(***number) && !self.script.is_blocked(***number);
        for number in commands.iter().filter(is_written) {
            assert!(**number != PANICS, "a defect");
            if **number == ROLLED_BACK && !std::mem::replace(&mut self.was_rolled_back, true) {
                conn.batch_execute("ROLLBACK")?;
            }
            if **number == CONSTRAINED {
                let message = Box::new("a unique index".to_owned());
                let error = diesel::result::Error::DatabaseError(DatabaseErrorKind::UniqueViolation, message);
                return Err(WriteError::Constraint(error));
            }
            if **number == HANGS {
                std::thread::sleep(5 * SHORT_TIMEOUT);
            }
            if **number == SUSPENDS {
                suspension::suspend();
            }
            let times = if **number == DUPLICATE { 2 } else { 1 };
            for _ in 0..times {
                diesel::sql_query(format!("INSERT INTO numbers (n) VALUES ({number})")).execute(conn)?;
            }
        }
        let is_blocked = |number: i64| self.script.is_blocked(number);
        let is_granted = |number: &&&i64| !script::is_refused(***number) && !is_blocked(***number);
        let written: Vec<i64> = commands.iter().filter(is_granted).map(|number| **number).collect();
        let decision = |number: &&i64| match script::answer(**number) {
            _ if is_blocked(**number) => Decision::Held,
            Ok(answer) => Decision::Granted(answer),
            Err(refusal) => Decision::Refused(refusal),
        };
        Ok(Executed {
            decisions: commands.iter().map(decision).collect(),
            change: (!written.is_empty()).then_some(written),
        })
    }

    fn publish(&mut self, _: Option<&mut DbConnection>, change: Vec<i64>, commit: &Commit) {
        assert!(!change.contains(&UNPUBLISHABLE), "a defect");
        self.script.committed(commit);
        // If the answer comes too early, the caller has time to notice.
        std::thread::sleep(Duration::from_millis(5));
        self.published.lock().unwrap().push(change);
    }

    fn follow(&mut self, _: &mut DbConnection) -> DbResult<()> {
        self.script.record(script::Call::Follow);
        Ok(())
    }

    fn expected_peers(&self) -> Option<crate::db::change_feed::Revisions> {
        self.script.expected_peers()
    }

    fn lock(&mut self, conn: &mut DbConnection, lock_set: &LockSet) -> DbResult<()> {
        if self.script.lock(lock_set) {
            Ok(())
        } else {
            conn.batch_execute("ROLLBACK")
        }
    }

    fn catch_up(&mut self, _: &mut DbConnection) -> DbResult<bool> {
        Ok(self.script.catch_up())
    }

    fn reconnected(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn named_rows(&self, commands: &[&i64]) -> RowNames {
        script::rows_of(commands)
    }

    fn find_held(&mut self, _: &mut DbConnection, rows: &RowNames) -> DbResult<RowNames> {
        Ok(self.script.held_among(rows))
    }

    fn note_held(&mut self, rows: &RowNames) {
        self.script.note_held(rows);
    }

    fn provider_name(&self, uuid: &str) -> Option<String> {
        Some(format!("host{uuid}"))
    }

    fn needs(&self, number: &i64, rows: &RowNames) -> bool {
        !script::has_choice(*number) && rows.providers.contains(&script::provider(*number).to_string())
    }

    fn invalidate(&mut self) {
        self.is_invalid.store(true, Ordering::Release);
    }
}

const LONG_TIMEOUT: Duration = Duration::from_secs(20);
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

#[actix_web::test]
async fn commands_that_wait_together_share_a_transaction() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let numbers: Vec<i64> = (1..=20).collect();
    let answers = writer.submit_while_locked(&numbers, SHORT_TIMEOUT).await;
    assert_eq!(
        answers,
        numbers.iter().map(|number| Ok(number * 10)).collect::<Vec<_>>()
    );
    let batches = writer.published.lock().unwrap().clone();
    assert!(
        batches.len() <= 2,
        "the first may be a batch of its own, the others are one: {batches:?}"
    );
    assert_eq!(writer.count(), 20);
}

#[actix_web::test]
async fn only_the_command_at_fault_is_refused() {
    for at_fault in [DUPLICATE, PANICS] {
        let mut writer = number_writer(100, LONG_TIMEOUT);
        let answers = writer
            .submit_while_locked(&[1, 2, at_fault, 3, 4, 5], SHORT_TIMEOUT)
            .await;
        for (number, answer) in [1, 2, at_fault, 3, 4, 5].iter().zip(&answers) {
            match (*number == at_fault, answer) {
                (true, Err(Error::Internal { .. })) => {}
                (false, Ok(granted)) => assert_eq!(*granted, number * 10),
                other => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(writer.count(), 5);
        assert_eq!(submit(&writer.handle, 9).await, Ok(90), "the writer continues");
    }
}

#[actix_web::test]
async fn a_command_that_violates_a_constraint_again_and_again_is_refused_before_the_timeout() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let began = Instant::now();
    let refused = submit(&writer.handle, CONSTRAINED).await;
    assert!(matches!(refused, Err(Error::Internal { .. })), "{refused:?}");
    assert!(began.elapsed() < LONG_TIMEOUT / 4, "{:?}", began.elapsed());
    assert_eq!(submit(&writer.handle, 1).await, Ok(10));
    assert_eq!(writer.count(), 1);
}

#[actix_web::test]
async fn commands_whose_timeout_passes_during_a_lock_are_refused_and_not_committed() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let answers = writer.submit_while_locked(&[1, 2, 3], 4 * SHORT_TIMEOUT).await;
    for answer in answers {
        assert!(
            matches!(answer, Err(Error::Unavailable { .. } | Error::Busy { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(submit(&writer.handle, 4).await, Ok(40));
    assert_eq!(writer.count(), 1, "a refused command is not committed later");
}

#[actix_web::test]
async fn a_cancelled_command_is_never_committed() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let cancelled = submit(&writer.handle, HANGS).await;
    assert!(matches!(cancelled, Err(Error::Unavailable { .. })), "{cancelled:?}");
    // The writer still runs the command, and looks at its gate before COMMIT.
    actix_web::rt::time::sleep(4 * SHORT_TIMEOUT).await;
    assert_eq!(submit(&writer.handle, 1).await, Ok(10));
    assert_eq!(writer.count(), 1, "its caller was answered that nothing was done");
}

#[actix_web::test]
async fn the_timeout_bounds_waiting_and_retries_together() {
    let timeout = Duration::from_secs(8);
    let mut writer = number_writer(100, timeout);
    writer.lock();
    let began = Instant::now();
    let submit = |number: i64| {
        let handle = writer.handle.clone();
        actix_web::rt::spawn(async move { (submit(&handle, number).await, began.elapsed()) })
    };
    let first = submit(1);
    actix_web::rt::time::sleep(timeout / 2).await;
    let second = submit(2);
    assert!(first.await.unwrap().0.is_err());
    let (refused, after) = second.await.unwrap();
    assert!(refused.is_err(), "the lock is held");
    assert!(
        after < 7 * timeout / 4,
        "the timeout began again with the first attempt: {after:?}"
    );
    dialect::rollback(&mut writer.conn).unwrap();
}

#[actix_web::test]
async fn a_commit_that_cannot_be_published_is_granted_and_invalidates_the_snapshot() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    assert_eq!(submit(&writer.handle, 1).await, Ok(10));
    assert!(!writer.is_invalid.load(Ordering::Acquire));
    let answer = submit(&writer.handle, UNPUBLISHABLE).await;
    assert_eq!(answer, Ok(UNPUBLISHABLE * 10), "it is committed");
    assert!(writer.is_invalid.load(Ordering::Acquire));
    assert_eq!(writer.count(), 2);
}

/// Galera rolls back if a second node committed first. The outcome is not in doubt, and no part of the batch is
/// committed alone.
#[actix_web::test]
async fn a_batch_that_the_server_rolled_back_before_commit_is_tried_again() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) != Kind::Mariadb {
        return;
    }
    assert_eq!(
        writer.submit_while_locked(&[1, ROLLED_BACK, 2], SHORT_TIMEOUT).await,
        [Ok(10), Ok(ROLLED_BACK * 10), Ok(20)]
    );
    assert_eq!(writer.count(), 3);
    assert!(!writer.is_invalid.load(Ordering::Acquire), "no fence is needed");
}
