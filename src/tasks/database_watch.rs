//! Watches whether the database answers, and logs a line at the begin and at the end of a silence.
//!
//! Every statement of the process shows that the database answers, so a busy process sends no probes. After a second
//! without an answer the probe's thread sends a probe. The probe hangs with the database, and the watch goes on.
//!
//! The watch also finds a standstill of this process, and logs a line: during a standstill the database was not asked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::background::{Background, Stopped};
use crate::model::DatabaseState;

/// The silence after which a probe is sent.
const PROBE_AFTER: Duration = Duration::from_secs(1);
/// The time between two looks at the silence.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Starts the threads. A silence longer than `limit` is logged. When the watch stops, it does not wait for a probe.
///
/// # Errors
/// If a thread cannot be started.
pub fn start(database: DatabaseState, limit: Duration) -> std::io::Result<Background> {
    let (probes, requested) = sync_channel(0);
    let probed = database.clone();
    std::thread::Builder::new()
        .name("placet-probe".to_owned())
        .spawn(move || probe(&probed, &requested))?;
    Background::start(
        "placet-watch",
        WATCH_INTERVAL,
        || {},
        move |stopped| watch(&database, limit, stopped, &probes),
    )
}

/// The thread that sends a probe for each request.
fn probe(database: &DatabaseState, requested: &Receiver<()>) {
    while requested.recv().is_ok() {
        // A panic must not end the thread.
        match catch_unwind(AssertUnwindSafe(|| database.probe())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::debug!("The database did not answer a probe: {}", error.for_log()),
            Err(_) => log::error!("A probe of the database met a defect of placet"),
        }
    }
}

/// The thread that watches.
fn watch(database: &DatabaseState, limit: Duration, stopped: &Stopped, probes: &SyncSender<()>) {
    let mut silent_since: Option<Instant> = None;
    // The time before this thread is no standstill.
    let _ = database.beat();
    while stopped.sleep(WATCH_INTERVAL) {
        if let Some(stood_still) = database.beat() {
            log::warn!(
                "This process stood still for {:.0} s: it was stopped, or its machine was suspended or had no processor \
                 for it",
                stood_still.as_secs_f64()
            );
            silent_since = silent_since.map(|since| since + stood_still);
        }
        let silence = database.silence();
        if silence >= PROBE_AFTER {
            // Without a waiting receiver, the last probe hangs.
            let _ = probes.try_send(());
        }
        match silent_since {
            None if silence > limit => {
                log::warn!(
                    "The database has not answered for {:.0} s: see /health/ready",
                    silence.as_secs_f64()
                );
                silent_since = Instant::now().checked_sub(silence);
            }
            Some(since) if silence <= limit => {
                let silent = since.elapsed().saturating_sub(silence);
                log::info!("The database answers again, after {:.0} s", silent.as_secs_f64());
                silent_since = None;
            }
            _ => {}
        }
    }
}
