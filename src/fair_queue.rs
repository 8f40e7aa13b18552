//! A queue of jobs that is fair between callers: the queue of each pool (`pools/pool.rs`), and the two queues of the
//! writer (`db/writer/queue.rs`). Pure: the users have the threads and the lock.
//!
//! The caller with the fewest running jobs is served next, and among equals the caller that was served longest ago. The
//! number of running jobs of a caller is limited. If the queue is full, the caller with the most waiting jobs loses its
//! newest job: only the caller that filled the queue is refused.

use std::collections::{HashMap, VecDeque};

use crate::caller::CallerKey;

/// A job's number, unique in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobId(u64);

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// The most running jobs of all callers.
    pub running: usize,
    /// The most running jobs of a caller.
    pub running_per_caller: usize,
    /// The most waiting jobs of all callers, without the jobs that may begin.
    pub waiting: usize,
}

/// The waiting jobs of all callers, and the number of running jobs.
pub struct FairQueue<J> {
    limits: QueueLimits,
    callers: HashMap<CallerKey, Jobs<J>>,
    /// The callers with waiting jobs. The caller that was served longest ago comes first.
    order: VecDeque<CallerKey>,
    waiting: usize,
    running: usize,
    next_id: u64,
}

/// The jobs of a caller.
struct Jobs<J> {
    waiting: VecDeque<(JobId, J)>,
    running: usize,
}

/// The caller that a full queue refuses when a job of `newcomer` comes: the caller with the most waiting jobs, and
/// among equals the newcomer. `waiting` has the number of each caller with waiting jobs.
pub fn refused_caller<'a>(
    waiting: impl Iterator<Item = (&'a CallerKey, usize)>,
    newcomer: &'a CallerKey,
) -> &'a CallerKey {
    waiting
        .map(|(caller, jobs)| (caller, jobs + usize::from(caller == newcomer)))
        .chain([(newcomer, 1)])
        .max_by_key(|(caller, jobs)| (*jobs, *caller == newcomer))
        .map_or(newcomer, |(caller, _)| caller)
}

/// The surplus of more than `max` jobs with these callers, in the order of arrival: each time the newest job of the
/// caller with the most. The places of the jobs, descending.
pub fn surplus<'a>(callers: impl Iterator<Item = &'a CallerKey>, max: usize) -> Vec<usize> {
    let mut places: HashMap<&CallerKey, Vec<usize>> = HashMap::new();
    let mut count = 0;
    for (at, caller) in callers.enumerate() {
        places.entry(caller).or_default().push(at);
        count = at + 1;
    }
    let newest_of_most = (max..count).filter_map(|_| {
        let most = places
            .values_mut()
            .max_by_key(|places| (places.len(), places.last().copied()))?;
        most.pop()
    });
    let mut surplus: Vec<usize> = newest_of_most.collect();
    // A caller that removes the jobs in this order moves no job of a later place.
    surplus.sort_unstable_by(|one, other| other.cmp(one));
    surplus
}

impl<J> FairQueue<J> {
    pub fn new(limits: QueueLimits) -> FairQueue<J> {
        FairQueue {
            limits,
            callers: HashMap::new(),
            order: VecDeque::new(),
            waiting: 0,
            running: 0,
            next_id: 0,
        }
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many jobs of this caller wait.
    pub fn waiting_of(&self, caller: &CallerKey) -> usize {
        self.callers.get(caller).map_or(0, |jobs| jobs.waiting.len())
    }

    /// Whether a further job of this caller has to wait for earlier jobs of the caller.
    pub fn is_saturated_by(&self, caller: &CallerKey) -> bool {
        self.unfinished(caller) >= self.limits.running_per_caller
    }

    /// How many jobs of this caller wait or run.
    fn unfinished(&self, caller: &CallerKey) -> usize {
        self.callers
            .get(caller)
            .map_or(0, |jobs| jobs.running + jobs.waiting.len())
    }

    /// Whether a further job of this caller would have to wait, and the queue is full.
    fn is_full_for(&self, caller: &CallerKey) -> bool {
        self.waiting >= self.limits.waiting && !self.begins_at_once(caller)
    }

    /// Whether there is a thread for a further job of this caller.
    fn begins_at_once(&self, caller: &CallerKey) -> bool {
        if self.running >= self.limits.running || self.is_saturated_by(caller) {
            return false;
        }
        let per_caller = self.limits.running_per_caller;
        // The jobs whose only wait is for a thread to take them.
        let may_begin = |jobs: &Jobs<J>| jobs.waiting.len().min(per_caller.saturating_sub(jobs.running));
        let beginning: usize = self.callers.values().map(may_begin).sum();
        self.running + beginning < self.limits.running
    }

    /// Adds a job. A full queue refuses a job, of this caller or of a second caller, which the result has too.
    pub fn push(&mut self, caller: &CallerKey, job: J) -> (JobId, Option<J>) {
        let id = self.new_id();
        let mut refused = None;
        if self.is_full_for(caller) {
            let waiting = self.callers.iter().map(|(caller, jobs)| (caller, jobs.waiting.len()));
            let refused_caller = refused_caller(waiting, caller).clone();
            if refused_caller == *caller {
                return (id, Some(job));
            }
            refused = self.take_newest(&refused_caller);
        }
        self.jobs_to_wait(caller).push_back((id, job));
        (id, refused)
    }

    /// Returns a job that was taken: the next of its caller. A full queue has a place for the job, too.
    pub fn put_back(&mut self, caller: &CallerKey, job: J) {
        let id = self.new_id();
        self.jobs_to_wait(caller).push_front((id, job));
    }

    fn new_id(&mut self) -> JobId {
        self.next_id += 1;
        JobId(self.next_id)
    }

    /// The waiting jobs of the caller, which are about to get a further job.
    fn jobs_to_wait(&mut self, caller: &CallerKey) -> &mut VecDeque<(JobId, J)> {
        let jobs = self.callers.entry(caller.clone()).or_insert_with(|| Jobs {
            waiting: VecDeque::new(),
            running: 0,
        });
        if jobs.waiting.is_empty() {
            self.order.push_back(caller.clone());
        }
        self.waiting += 1;
        &mut jobs.waiting
    }

    /// Whether a job may begin now.
    pub fn has_next(&self) -> bool {
        self.next_caller().is_some()
    }

    /// The place in `order` of the caller whose job is next.
    fn next_caller(&self) -> Option<usize> {
        let running = |caller: &CallerKey| self.callers.get(caller).map_or(0, |jobs| jobs.running);
        self.least(running)
            .filter(|at| running(&self.order[*at]) < self.limits.running_per_caller)
    }

    /// The first place in `order` of a caller with the least weight.
    fn least(&self, weight: impl Fn(&CallerKey) -> usize) -> Option<usize> {
        let weight = |at: &usize| weight(&self.order[*at]);
        // No weight is below zero.
        let first_without = (0..self.order.len()).find(|at| weight(at) == 0);
        first_without.or_else(|| (0..self.order.len()).min_by_key(weight))
    }

    /// The next job to run, and the job's caller, until [`Self::finish`]. `None` if no job may begin now.
    pub fn next(&mut self) -> Option<(CallerKey, J)> {
        let (caller, job) = self.pop(self.next_caller()?)?;
        self.callers.get_mut(&caller)?.running += 1;
        self.running += 1;
        Some((caller, job))
    }

    /// The next job of a caller with the least weight, and among equals of the caller that was served longest ago. The
    /// job does not count as running.
    pub fn take(&mut self, weight: impl Fn(&CallerKey) -> usize) -> Option<J> {
        let (caller, job) = self.pop(self.least(weight)?)?;
        self.forget_if_idle(&caller);
        Some(job)
    }

    /// Takes the oldest job of the caller at this place in `order`.
    fn pop(&mut self, at: usize) -> Option<(CallerKey, J)> {
        let caller = self.order.remove(at)?;
        let jobs = self.callers.get_mut(&caller)?;
        let (_, job) = jobs.waiting.pop_front()?;
        self.waiting -= 1;
        if !jobs.waiting.is_empty() {
            self.order.push_back(caller.clone());
        }
        Some((caller, job))
    }

    /// A job of the caller ended.
    pub fn finish(&mut self, caller: &CallerKey) {
        if let Some(jobs) = self.callers.get_mut(caller) {
            jobs.running -= 1;
            self.running -= 1;
        }
        self.forget_if_idle(caller);
    }

    /// Takes a job out of the queue, if the job still waits.
    pub fn remove(&mut self, caller: &CallerKey, id: JobId) -> Option<J> {
        let jobs = self.callers.get_mut(caller)?;
        let at = jobs.waiting.iter().position(|(waiting, _)| *waiting == id)?;
        let (_, job) = jobs.waiting.remove(at)?;
        self.note_removed(caller);
        Some(job)
    }

    fn take_newest(&mut self, caller: &CallerKey) -> Option<J> {
        let (_, job) = self.callers.get_mut(caller)?.waiting.pop_back()?;
        self.note_removed(caller);
        Some(job)
    }

    fn note_removed(&mut self, caller: &CallerKey) {
        self.waiting -= 1;
        if self.callers.get(caller).is_some_and(|jobs| jobs.waiting.is_empty()) {
            self.order.retain(|waiting| waiting != caller);
        }
        self.forget_if_idle(caller);
    }

    fn forget_if_idle(&mut self, caller: &CallerKey) {
        let is_idle = |jobs: &Jobs<J>| jobs.running == 0 && jobs.waiting.is_empty();
        if self.callers.get(caller).is_some_and(is_idle) {
            self.callers.remove(caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QueueLimits = QueueLimits {
        running: 4,
        running_per_caller: 2,
        waiting: 4,
    };

    fn caller(name: &str) -> CallerKey {
        CallerKey::of_user(name, "project")
    }

    /// A queue with these jobs, each a letter of its caller and a digit.
    fn queue(jobs: &[&'static str]) -> FairQueue<&'static str> {
        let mut queue = FairQueue::new(LIMITS);
        for job in jobs {
            let (_, refused) = queue.push(&caller(&job[..1]), *job);
            assert_eq!(refused, None, "{job}");
        }
        queue
    }

    fn begun(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.next()).map(|(_, job)| job).collect()
    }

    #[test]
    fn callers_are_served_in_turn_and_each_one_in_order() {
        let mut queue = queue(&["a1", "a2", "a3", "b1"]);
        assert_eq!(begun(&mut queue), ["a1", "b1", "a2"]);
        assert_eq!(queue.waiting(), 1, "a caller has at most two running jobs");
        queue.finish(&caller("b"));
        assert_eq!(queue.next(), None);
        queue.finish(&caller("a"));
        assert_eq!(begun(&mut queue), ["a3"]);
    }

    #[test]
    fn the_caller_with_the_fewest_running_jobs_is_next() {
        let mut queue = queue(&["a1", "a2"]);
        assert_eq!(queue.next().map(|(_, job)| job), Some("a1"));
        queue.push(&caller("b"), "b1");
        assert_eq!(begun(&mut queue), ["b1", "a2"]);
    }

    #[test]
    fn a_full_queue_refuses_the_caller_that_filled_it() {
        let mut queue = queue(&["a1", "a2", "b1", "b2"]);
        assert_eq!(begun(&mut queue), ["a1", "b1", "a2", "b2"]);
        for job in ["a3", "a4", "a5", "a6"] {
            assert_eq!(queue.push(&caller("a"), job).1, None);
        }
        assert_eq!(queue.push(&caller("a"), "a7").1, Some("a7"));
        assert_eq!(queue.push(&caller("c"), "c1").1, Some("a6"));
        assert_eq!(queue.push(&caller("c"), "c2").1, Some("a5"));
        assert_eq!(
            queue.push(&caller("c"), "c3").1,
            Some("c3"),
            "no caller has more waiting jobs"
        );
        assert_eq!(queue.waiting(), 4);
    }

    #[test]
    fn a_job_that_may_begin_at_once_is_not_refused() {
        let mut queue = FairQueue::new(QueueLimits { waiting: 0, ..LIMITS });
        for job in ["a1", "a2", "b1", "b2"] {
            assert_eq!(queue.push(&caller(&job[..1]), job).1, None, "{job}");
        }
        assert_eq!(queue.push(&caller("a"), "a3").1, Some("a3"), "a caller has two threads");
        assert_eq!(begun(&mut queue).len(), 4);
        assert_eq!(queue.push(&caller("c"), "c1").1, Some("c1"), "there are four threads");
    }

    #[test]
    fn a_removed_job_leaves_its_place_to_others() {
        let mut queue = queue(&["a1", "a2", "b1"]);
        let (id, _) = queue.push(&caller("c"), "c1");
        assert_eq!(queue.remove(&caller("c"), id), Some("c1"));
        assert_eq!(queue.remove(&caller("c"), id), None);
        assert_eq!(queue.waiting(), 3);
        assert_eq!(queue.push(&caller("c"), "c2").1, None);
        assert_eq!(begun(&mut queue), ["a1", "b1", "c2", "a2"]);
    }

    #[test]
    fn a_job_that_was_put_back_is_the_next_of_its_caller() {
        let mut queue = queue(&["a1", "b1", "a2", "a3"]);
        assert_eq!(queue.take(|_| 0), Some("a1"));
        queue.put_back(&caller("a"), "a1");
        assert_eq!(queue.waiting(), 4, "a full queue has a place");
        let taken: Vec<_> = std::iter::from_fn(|| queue.take(|_| 0)).collect();
        assert_eq!(taken, ["b1", "a1", "a2", "a3"]);
        assert!(!queue.has_next() && queue.callers.is_empty());
    }

    #[test]
    fn the_surplus_is_of_the_callers_with_most() {
        let callers = ["a", "a", "b", "a", "b"].map(caller);
        assert_eq!(surplus(callers.iter(), 5), [0; 0]);
        assert_eq!(surplus(callers.iter(), 3), [4, 3]);
        assert_eq!(surplus(callers.iter(), 0), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn callers_without_jobs_are_forgotten() {
        let mut queue = queue(&["a1", "b1"]);
        assert_eq!(begun(&mut queue).len(), 2);
        queue.finish(&caller("a"));
        queue.finish(&caller("b"));
        assert!(queue.callers.is_empty() && queue.order.is_empty());
    }
}
