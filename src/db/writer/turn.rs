//! Batches that wait for their turn where other processes write too: what all of them change is locked first, then everybody
//! who was before is followed, and only then is a plan made, which nobody can overtake there.
//!
//! Without it each of several processes decides while another one writes, and all but one of them have decided in vain.
//! While a batch waits for its turn its company grows, for whoever comes meanwhile can share it.

use super::plan::Planned;
use super::{Attempt, BATCH_MAX, Batch, Job, Writer, Written, commands, contain, in_time, ready};
use crate::db::dialect;
use crate::db::failure::Failure;
use crate::db::together::How;
use crate::error::Result;

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
        let conn = ready(&mut self.conn)?;
        self.batch.take_turn(conn)?;
        if !self.batch.catch_up(conn)? {
            return Err(Failure::Behind);
        }
        self.let_join(jobs);
        let commands = commands(jobs);
        let conn = ready(&mut self.conn)?;
        match self.batch.plan(conn, &commands)? {
            Planned::Plan(plan) => {
                let prepared = self.prepare(&plan.change, plan.parts, plan.now, None)?;
                prepared.write(ready(&mut self.conn)?, How::within(self.at_once))?;
                Ok((plan.answers.into_iter().map(Ok).collect(), Some(plan.change)))
            }
            // The locks of a decision on the database come in another order than those of a turn.
            Planned::Refused | Planned::Unknown => Err(Failure::Undecided),
        }
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
