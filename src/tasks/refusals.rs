//! A background thread: explains searches without a candidate, for the log, the metrics and `GET /v1/refusals`.

use std::time::Duration;

use super::background::Background;
use crate::model::refusals::RefusalExplainer;

/// The least pause between two looks at the notes. Equal queries in between have one explanation.
const INTERVAL: Duration = Duration::from_secs(1);
/// The pause as a multiple of the processor time of the explanations before. So the thread takes a fifth of a core at
/// most.
const PAUSE_FACTOR: u32 = 4;

/// Starts the thread.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(explainer: RefusalExplainer) -> std::io::Result<Background> {
    let interrupt = explainer.interrupt();
    Background::start("placet-refusals", INTERVAL, interrupt, move |stopped| {
        explainer.begin();
        let mut pause = INTERVAL;
        while stopped.sleep(pause) {
            let took = explainer.explain_notes(|line| log::info!("{line}"));
            pause = INTERVAL.max(took * PAUSE_FACTOR);
        }
    })
}
