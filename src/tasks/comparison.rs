//! A background thread that compares the snapshot with the tables, because the change feed has no record of a foreign
//! writer's changes.

use std::time::Duration;

use super::background::{Background, Stopped};
use super::failures::Failures;
use super::rounds::Rounds;
use crate::model::Model;
use crate::model::comparisons::compare;
use crate::model::snapshot::comparison::SLICE_PROVIDERS;

/// Starts the thread. `interval` is the duration of one round over all providers; zero disables the comparison.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(model: Model, interval: Duration) -> std::io::Result<Background> {
    Background::start(
        "placet-compare",
        interval,
        || {},
        move |stopped| work(&model, interval, stopped),
    )
}

fn work(model: &Model, interval: Duration, stopped: &Stopped) {
    let (mut rounds, mut failures) = (Rounds::new(interval), Failures::default());
    while stopped.sleep(rounds.pause(model.provider_count())) {
        match compare(model, rounds.after, SLICE_PROVIDERS) {
            Ok(result) => {
                failures.end_round();
                for over in rounds.record(&result) {
                    log::warn!(
                        "Provider {} is over capacity: {} of {} are used, of {} that it has",
                        over.provider,
                        over.used,
                        over.class,
                        over.capacity
                    );
                }
            }
            Err(error) => {
                let error = error.for_log();
                if failures.note("", error.clone()) {
                    log::warn!("The snapshot could not be compared with the tables; this is tried again: {error}");
                }
                failures.end_round();
            }
        }
    }
}
