//! A transaction of the writer: what is done in it, how it ends, and that its change is shown.

use diesel::QueryResult;

use super::plan::Basis;
use super::{Attempt, Batch, Job, Ran, Way, Writer, commands, contain, ready};
use crate::db::dialect::AtOnce;
use crate::db::failure::Failure;
use crate::db::identity::{Commit, Identity};
use crate::db::queue::Permit;
use crate::db::together::How;
use crate::db::{DbConnection, dialect};
use crate::error::Result;

/// What was decided and written, before its COMMIT; with no change there is nothing to commit.
pub(super) type Written<B> = (Vec<Result<<B as Batch>::Answer>>, Option<<B as Batch>::Change>);

/// How a transaction ended.
pub(super) enum Ended {
    /// COMMIT was not sent, so it did not happen.
    Failed(Failure),
    /// What COMMIT was answered.
    Sent(QueryResult<()>),
}

impl<B: Batch> Writer<B> {
    /// Tries to commit the jobs. Those who share the transaction, or follow it at once, are among them afterwards; who of them
    /// has been answered is not.
    pub(super) fn transaction(&mut self, jobs: &mut Vec<Job<B>>, way: Way) -> Attempt<Vec<Result<B::Answer>>> {
        let commands = commands(jobs);
        let may_be_planned = way < Way::OnDatabase && commands.iter().all(|command| B::may_be_planned(command));
        if may_be_planned && self.batch.needs_turn(&commands, way == Way::InTurn) {
            return self.in_turn(jobs);
        }
        let written = match self.basis(&commands, may_be_planned)? {
            Basis::Plan(plan, expected) if self.may_go_ahead(jobs) => {
                return self.go_ahead(jobs, plan, expected.as_ref());
            }
            Basis::Plan(plan, expected) => {
                let prepared = self.prepare(&plan.change, plan.parts, plan.now, expected.as_ref())?;
                let conn = ready(&mut self.conn)?;
                let how = How::beginning(self.at_once);
                if how != How::Beginning {
                    dialect::begin_write(conn)?;
                }
                let answers = plan.answers.into_iter().map(Ok).collect();
                contain(|| prepared.write(conn, how).map(|()| (answers, Some(plan.change))))
            }
            Basis::Followed { refused } => {
                let on_database = refused || way == Way::OnDatabase;
                let conn = ready(&mut self.conn)?;
                dialect::begin_write(conn)?;
                contain(|| write(&mut self.batch, &mut self.identity, conn, &commands, on_database))
            }
        };
        self.end(jobs, written)
    }

    /// Ends the transaction in which something was written, or in which that failed.
    pub(super) fn end(
        &mut self,
        jobs: &[Job<B>],
        written: Option<Attempt<Written<B>>>,
    ) -> Attempt<Vec<Result<B::Answer>>> {
        let conn = ready(&mut self.conn)?;
        let (answers, change) = match written.unwrap_or(Err(Failure::Panicked)) {
            Ok((answers, Some(change))) => (answers, change),
            Ok((answers, None)) => {
                dialect::abandon(conn)?;
                return Ok(answers);
            }
            Err(failure) => return self.settle(Ended::Failed(failure)).map(|_| Vec::new()),
        };
        let ended = commit(conn, jobs.iter().map(|job| &job.permit), self.at_once);
        let commit = self.settle(ended)?;
        self.publish(change, &commit);
        Ok(answers)
    }

    /// What became of a transaction that ended: it was committed, or it did not happen, and nothing of it is left.
    pub(super) fn settle(&mut self, ended: Ended) -> Attempt<Commit> {
        match ended {
            Ended::Failed(failure) => {
                self.roll_back();
                return Err(failure);
            }
            Ended::Sent(Err(error)) if dialect::was_undone(&error) => return Err(Failure::Overtaken),
            Ended::Sent(Err(error)) if dialect::found_no_room(&error) => {
                // There is none for a fence either.
                self.roll_back();
                return Err(error.into());
            }
            Ended::Sent(Err(error)) => self.settle_doubt(error)?,
            Ended::Sent(Ok(())) => {}
        }
        Ok(self.identity.committed())
    }

    fn roll_back(&mut self) {
        let is_undone = |conn| dialect::rollback(conn).is_ok();
        if !self.conn.as_mut().is_some_and(is_undone) {
            self.conn = None;
        }
    }

    pub(super) fn publish(&mut self, change: B::Change, commit: &Commit) {
        let shown = contain(|| self.batch.publish(change, commit));
        let why = match (shown, self.conn.as_mut()) {
            (Some(true), _) => return,
            (Some(false), Some(conn)) => match contain(|| self.batch.read_back(conn)) {
                Some(Ok(())) => return,
                Some(Err(error)) => error.to_string(),
                None => "a defect".to_owned(),
            },
            (Some(false), None) => "its connection is in use".to_owned(),
            (None, _) => "a defect".to_owned(),
        };
        log::warn!("A committed change could not be read back, answers wait until it is: {why}");
        self.batch.doubt();
    }
}

/// The rest of a transaction before its COMMIT. The writer's own row is the first that it locks.
fn write<B: Batch>(
    batch: &mut B,
    identity: &mut Identity,
    conn: &mut DbConnection,
    commands: &[&B::Command],
    on_database: bool,
) -> Attempt<Written<B>> {
    if !identity.raise_revision(conn)? {
        return Err(Failure::Displaced);
    }
    match batch.run(conn, commands, on_database)? {
        Ran::Lost => Err(Failure::Overtaken),
        Ran::Decided { answers, change: None } => Ok((answers, None)),
        Ran::Decided {
            answers,
            change: Some(change),
        } => {
            identity.record(conn, &batch.describe(&change))?;
            Ok((answers, Some(change)))
        }
    }
}

/// Sends COMMIT, unless a caller gave up what would be committed.
pub(super) fn commit<'a>(
    conn: &mut DbConnection,
    mut permits: impl Iterator<Item = &'a Permit>,
    at_once: AtOnce,
) -> Ended {
    match permits.all(Permit::may_commit) {
        true => Ended::Sent(dialect::commit_quickly(conn, at_once)),
        false => Ended::Failed(Failure::GivenUp),
    }
}
