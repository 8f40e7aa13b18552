//! Batches that are decided before their transaction begins, on what is in memory alone.

use std::cmp::Ordering;

use chrono::NaiveDateTime;
use diesel::result::Error as DbError;

use super::{Attempt, Batch, Writer, contain, ready};
use crate::db::failure::Failure;
use crate::db::followed::{self, Revisions};
use crate::db::together::{self, How, Part};
use crate::db::{DbConnection, fault};

/// What became of a plan.
pub enum Planned<B: Batch + ?Sized> {
    Plan(Plan<B>),
    /// Something is refused, and no refusal may rest on what is in memory.
    Refused,
    /// More has to be known than is in memory.
    Unknown,
}

/// A batch that was decided before its transaction began.
pub struct Plan<B: Batch + ?Sized> {
    /// An answer for each command.
    pub answers: Vec<B::Answer>,
    pub change: B::Change,
    /// What is to be written, all of it guarded.
    pub parts: Vec<Part>,
    /// The time of the rows.
    pub now: NaiveDateTime,
}

/// What a transaction writes, and what that rests on.
pub(super) enum Basis<B: Batch> {
    /// A plan; where nobody was followed before it, everybody is still where they are expected to be.
    Plan(Plan<B>, Option<Revisions>),
    /// What others committed is known, so that `run` can decide.
    Followed { refused: bool },
}

impl<B: Batch> Writer<B> {
    /// A plan for the commands, if they may be planned; without one, what others committed is followed.
    pub(super) fn basis(&mut self, commands: &[&B::Command], may_be_planned: bool) -> Attempt<Basis<B>> {
        self.connected()?;
        let expected = self.batch.quiet().filter(|_| may_be_planned && !self.behind);
        if expected.is_none() {
            self.follow()?;
            self.behind = false;
        }
        if !may_be_planned {
            return Ok(Basis::Followed { refused: false });
        }
        let conn = ready(&mut self.conn)?;
        let planned = contain(|| self.batch.plan(conn, commands)).ok_or(Failure::Panicked)??;
        let refused = match planned {
            Planned::Plan(plan) => return Ok(Basis::Plan(plan, expected)),
            Planned::Refused => true,
            Planned::Unknown => false,
        };
        if expected.is_some() {
            self.follow()?;
        }
        Ok(Basis::Followed { refused })
    }

    /// The next revision, for a plan with these parts, which come to this change.
    pub(super) fn prepare(
        &mut self,
        change: &B::Change,
        planned: Vec<Part>,
        now: NaiveDateTime,
        expected: Option<&Revisions>,
    ) -> Attempt<Prepared> {
        let body = contain(|| self.batch.describe(change)).ok_or(Failure::Panicked)?;
        let (raise, record) = self.identity.raise_and_record(body);
        let mut parts: Vec<Part> = expected.map(followed::nobody_moved).into_iter().collect();
        let raised = parts.len();
        parts.extend(std::iter::once(raise).chain(planned).chain([record]));
        Ok(Prepared { parts, now, raised })
    }
}

/// A plan that is ready to be written, all of it together: others are where they are expected, the revision raised, what the
/// plan writes, and the row that tells of it.
pub(super) struct Prepared {
    parts: Vec<Part>,
    now: NaiveDateTime,
    /// Which part raises the revision.
    raised: usize,
}

impl Prepared {
    pub fn write(&self, conn: &mut DbConnection, how: How) -> Attempt<()> {
        match together::run(conn, self.now, &self.parts, how) {
            Ok(None) => Ok(()),
            Ok(Some(failed)) => Err(match failed.cmp(&self.raised) {
                Ordering::Less => Failure::Behind,
                Ordering::Equal => Failure::Displaced,
                Ordering::Greater => Failure::Overtaken,
            }),
            Err(error) => Err(failure(error)),
        }
    }
}

/// Writes those parts of a plan that make rows nobody else has, and answers them.
pub(super) fn write_new_rows<B: Batch>(conn: &mut DbConnection, plan: Plan<B>, how: How) -> Attempt<Vec<Part>> {
    let parts: Vec<Part> = plan.parts.into_iter().filter(Part::is_of_new_rows).collect();
    match parts.is_empty() || together::run(conn, plan.now, &parts, how).map_err(failure)?.is_none() {
        true => Ok(parts),
        false => Err(Failure::Overtaken),
    }
}

fn failure(error: DbError) -> Failure {
    match fault::is_constraint(&error) {
        // Who was to be made is there.
        true => Failure::Overtaken,
        false => error.into(),
    }
}
