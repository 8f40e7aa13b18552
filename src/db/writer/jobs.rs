//! Lists of jobs: which jobs are refused, and which are tried again.

use super::batch::{Batch, Decision};
use super::failure::BatchFailure;
use super::job::Job;
use crate::db::boot_instant::BootInstant;
use crate::error::Error;

pub(super) fn commands<B: Batch>(jobs: &[Job<B>]) -> Vec<&B::Command> {
    jobs.iter().map(|job| &job.command).collect()
}

/// Answers all jobs with an error: nothing was committed, or the outcome is unknown.
pub(super) fn refuse<B: Batch>(jobs: Vec<Job<B>>, error: &Error) {
    log::error!(
        "A batch of {} commands was not committed: {}",
        jobs.len(),
        error.for_log()
    );
    for job in jobs {
        job.answer(Decision::Refused(error.clone()));
    }
}

/// Refuses the jobs whose deadline has passed, with `detail`, and returns the rest.
pub(super) fn refuse_expired<B: Batch>(jobs: Vec<Job<B>>, detail: impl Fn(&Job<B>) -> String) -> Vec<Job<B>> {
    let (timely, expired): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.deadline > BootInstant::now());
    for job in expired {
        let detail = detail(&job);
        job.answer(Decision::Refused(Error::Busy { detail }));
    }
    timely
}

/// The refusal of a caller with the most waiting jobs.
pub(super) fn queue_is_full() -> Error {
    Error::Busy {
        detail: "As many writes wait as [placet] queue_size allows, and this caller has most of them; send fewer at \
                 once."
            .to_owned(),
    }
}

/// The detail for a job whose deadline passed in the queue.
pub(super) fn too_slow<B: Batch>(_: &Job<B>) -> String {
    "The database is too slow to keep up.".to_owned()
}

/// Prepares a further attempt: refuses the expired and cancelled jobs, and returns the rest.
pub(super) fn reopen<B: Batch>(jobs: Vec<Job<B>>, failure: &BatchFailure) -> Vec<Job<B>> {
    jobs.iter().for_each(|job| job.gate.reopen());
    let (live, ended): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::is_live);
    if !ended.is_empty() {
        refuse(ended, &failure.timeout_error());
    }
    live
}
