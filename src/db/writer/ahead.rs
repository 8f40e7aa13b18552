//! Batches that follow each other without a pause: while one is committed the next is decided behind it, and while that one is
//! written the callers of the first are answered.
//!
//! What is decided behind a commit that then fails is forgotten, and its commands wait for their turn as if nothing had been.
//! Nothing else rests on this: a plan is guarded, whatever it was decided on.

use std::time::Instant;

use super::hand::Order;
use super::plan::Plan;
use super::transaction::Ended;
use super::{Attempt, BATCH_MAX, Batch, HOUSEKEEPING, Job, PAUSE, Writer, commands, contain, in_time};
use crate::db::Commit;
use crate::db::failure::Failure;
use crate::db::followed::{Mark, Revisions};
use crate::error::Result;

/// How many are worth another thread: to tell it and to hear of it takes as long as to decide and to answer for some.
const WORTH: usize = 6;

/// A batch that is being written.
struct UnderWay<B: Batch> {
    answers: Vec<B::Answer>,
    change: B::Change,
    /// What it will be, if it happens.
    commit: Commit,
}

/// A batch that was decided behind another one.
struct Next<B: Batch> {
    jobs: Vec<Job<B>>,
    plan: Plan<B>,
    expected: Revisions,
}

impl<B: Batch> Writer<B> {
    /// Whether a plan for these is worth another thread, and all have time enough.
    pub(super) fn may_go_ahead(&self, jobs: &[Job<B>]) -> bool {
        self.hand.is_some() && self.at_once.writes && jobs.len() >= WORTH && !self.hurried
    }

    /// Commits a plan for `jobs`, and plans for those who come to wait meanwhile, as long as somebody does. The answers, or
    /// the failure, are those of the last ones, who are the `jobs` then: all others have been answered.
    pub(super) fn go_ahead(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        plan: Plan<B>,
        expected: Option<&Revisions>,
    ) -> Attempt<Vec<Result<B::Answer>>> {
        let mut under_way = self.hand_over(jobs, plan, expected)?;
        loop {
            let next = self.decide_behind(&under_way);
            let (ended, was_plain) = self.take_back();
            let next = self.unless_outdated(next, was_plain);
            let commit = ended?;
            let answers = under_way.answers.into_iter().map(Ok);
            let Some(next) = next else {
                self.publish(under_way.change, &commit);
                return Ok(answers.collect());
            };
            self.successors += 1;
            let following = self.hand_over(&next.jobs, next.plan, Some(&next.expected));
            self.publish(under_way.change, &commit);
            let answered = std::mem::replace(jobs, next.jobs);
            answered
                .into_iter()
                .zip(answers)
                .for_each(|(job, answer)| job.answer(answer));
            under_way = following?;
        }
    }

    fn hand_over(&mut self, jobs: &[Job<B>], plan: Plan<B>, expected: Option<&Revisions>) -> Attempt<UnderWay<B>> {
        let prepared = self.prepare(&plan.change, plan.parts, plan.now, expected)?;
        let hand = self.hand.as_ref().ok_or(Failure::Overtaken)?;
        let conn = self.conn.take().ok_or(Failure::Overtaken)?;
        let order = Order {
            conn,
            prepared,
            permits: jobs.iter().map(|job| job.permit.clone()).collect(),
            at_once: self.at_once,
        };
        if let Err(unsent) = hand.give(order) {
            self.conn = Some(unsent.conn);
            self.do_without();
            return Err(Failure::Overtaken);
        }
        Ok(UnderWay {
            answers: plan.answers,
            change: plan.change,
            commit: self.identity.under_way(),
        })
    }

    /// The connection, what became of what was handed over, and whether COMMIT said so itself.
    fn take_back(&mut self) -> (Attempt<Commit>, bool) {
        let Some(hand) = &mut self.hand else {
            return (Err(Failure::Overtaken), false);
        };
        let (conn, ended) = hand.take_back();
        if conn.is_none() {
            self.do_without();
        }
        self.conn = conn;
        let was_plain = matches!(ended, Ended::Sent(Ok(())));
        (self.settle(ended), was_plain)
    }

    fn do_without(&mut self) {
        log::error!(
            "The thread that wrote plans met a defect: the writer writes them itself, more slowly, until placet is started again"
        );
        self.hand = None;
    }

    /// What was decided behind a commit, where that was plain: after a doubt the database may be another one. Nor does anybody
    /// wait in it for longer than there is time.
    fn unless_outdated(&mut self, next: Option<Next<B>>, was_plain: bool) -> Option<Next<B>> {
        let next = next?;
        if was_plain && !self.is_in_haste(&next.jobs) {
            return Some(next);
        }
        self.aside.extend(next.jobs);
        None
    }

    /// A plan for those who wait when the batch under way is about to be committed, decided as if it were.
    fn decide_behind(&mut self, under_way: &UnderWay<B>) -> Option<Next<B>> {
        let commits = self.hand.as_mut().is_some_and(|hand| hand.commits());
        if !commits || self.has_other_work() {
            return None;
        }
        let mut expected = self.batch.quiet()?;
        let jobs = self.take_plannable();
        let commands = commands(&jobs);
        let mut needs_turn = || contain(|| self.batch.needs_turn(&commands, false)).unwrap_or(true);
        let is_for_later = jobs.len() < WORTH || needs_turn() || self.is_in_haste(&jobs);
        let planned = match is_for_later {
            true => None,
            false => contain(|| self.batch.foresee(&under_way.change, &under_way.commit, &commands)).flatten(),
        };
        let Some(plan) = planned else {
            self.aside.extend(jobs);
            return None;
        };
        let Commit {
            writer,
            revision,
            token,
        } = under_way.commit.clone();
        expected.writers.insert(writer, Mark { revision, token });
        Some(Next { jobs, plan, expected })
    }

    /// Whether somebody else's turn has come, or something is to be done that needs the connection.
    fn has_other_work(&self) -> bool {
        let is_house_due = self.kept_house.elapsed() >= HOUSEKEEPING;
        self.behind || self.others_wait || !self.aside.is_empty() || is_house_due
    }

    /// Those who wait and may be planned; others are the next ones.
    fn take_plannable(&mut self) -> Vec<Job<B>> {
        let came = in_time(self.queue.try_iter().take(BATCH_MAX).collect());
        let (plannable, others) = came.into_iter().partition(|job| B::may_be_planned(&job.command));
        self.aside = others;
        plannable
    }

    /// Whether the session would have to lose patience for the sake of somebody (`patience.rs`).
    fn is_in_haste(&self, jobs: &[Job<B>]) -> bool {
        let enough = Instant::now() + self.database.lock_timeout();
        jobs.iter().any(|job| job.deadline + PAUSE < enough)
    }
}
