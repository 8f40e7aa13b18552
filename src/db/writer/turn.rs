//! Batches that wait for their turn where other processes write too: what all of them change is locked, then everybody who was
//! before is followed, and only then is a plan made, which nobody can overtake there.
//!
//! Without it each of several processes decides while another one writes, and all but one of them have decided in vain.
//!
//! A turn should be short, for others wait for it. So new consumers and their allocations are written before it, which stands
//! in nobody's way; who comes while that is done shares the turn. In the turn the plan is made again, and its rest written.

use super::plan::{Planned, write_new_rows};
use super::{Attempt, BATCH_MAX, Batch, Job, Writer, Written, commands, contain, in_time, ready};
use crate::db::dialect;
use crate::db::failure::Failure;
use crate::db::together::{self, How, Part};
use crate::error::Result;

/// So often is it looked who has come. Who was answered after the last turn is back by then; to look more often is in vain,
/// and costs a statement each time.
const LOOKS: usize = 3;

impl<B: Batch> Writer<B> {
    pub(super) fn in_turn(&mut self, jobs: &mut Vec<Job<B>>) -> Attempt<Vec<Result<B::Answer>>> {
        self.connected()?;
        if std::mem::take(&mut self.behind) {
            // There was more to read than can be read within the transaction.
            self.follow()?;
        }
        let conn = ready(&mut self.conn)?;
        dialect::begin_write(conn)?;
        let written = contain(|| self.write_in_turn(jobs));
        self.end(jobs, written)
    }

    fn write_in_turn(&mut self, jobs: &mut Vec<Job<B>>) -> Attempt<Written<B>> {
        let done = self.write_beforehand(jobs)?;
        let conn = ready(&mut self.conn)?;
        self.batch.take_turn(conn)?;
        if !self.batch.catch_up(conn)? {
            return Err(Failure::Behind);
        }
        match self.batch.plan(conn, &commands(jobs))? {
            Planned::Plan(plan) => {
                // What was done may rest on what is no longer so.
                let parts = together::rest(plan.parts, &done).ok_or(Failure::Undecided)?;
                let prepared = self.prepare(&plan.change, parts, plan.now, None)?;
                prepared.write(ready(&mut self.conn)?, How::within(self.at_once))?;
                Ok((plan.answers.into_iter().map(Ok).collect(), Some(plan.change)))
            }
            // The locks of a decision on the database come in another order than those of a turn.
            Planned::Refused | Planned::Unknown => Err(Failure::Undecided),
        }
    }

    /// Writes the rows that the jobs make, and those of whoever comes meanwhile, and answers them.
    fn write_beforehand(&mut self, jobs: &mut Vec<Job<B>>) -> Attempt<Vec<Part>> {
        let (mut done, mut seen) = (Vec::new(), 0);
        for _ in 0..LOOKS {
            self.let_join(jobs);
            if jobs.len() == seen {
                break;
            }
            let conn = ready(&mut self.conn)?;
            if let Planned::Plan(plan) = self.batch.plan(conn, &commands(&jobs[seen..]))? {
                done.extend(write_new_rows(conn, plan, How::within(self.at_once))?);
            }
            seen = jobs.len();
        }
        Ok(done)
    }

    /// Takes what has come to wait meanwhile; what cannot share the turn is for the next one.
    fn let_join(&mut self, jobs: &mut Vec<Job<B>>) {
        let room = BATCH_MAX.saturating_sub(jobs.len() + self.aside.len());
        let came = in_time(self.queue.try_iter().take(room).collect());
        for job in came {
            match self.batch.may_join(&job.command) {
                true => jobs.push(job),
                false => self.aside.push(job),
            }
        }
    }
}
