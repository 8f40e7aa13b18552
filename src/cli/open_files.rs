//! The process's limit of open files (`RLIMIT_NOFILE`). A client's connection counts as one file, and a connection to
//! an SQLite database as two.

use std::thread::available_parallelism;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::api::{METRICS_CONNECTIONS, spare_connections};
use crate::config::Options;

/// Open files of an HTTP worker, besides its connections.
const FILES_OF_A_WORKER: u64 = 8;
/// Open files of a connection to the database.
const FILES_OF_A_READER: u64 = 2;
/// All further open files: the log, the writer's connections, the runtime's own.
const OTHER_FILES: u64 = 50;

/// Raises the soft limit to the hard limit. Returns how many client connections placet accepts: `max_connections`, or a
/// smaller number that fits below the limit, with a warning.
pub fn client_connections(options: &Options) -> usize {
    let wanted = options.placet.max_connections;
    let Some(limit) = raise_limit() else {
        return wanted;
    };
    let readers = u64::from(options.placement_database.connections()) * FILES_OF_A_READER;
    let workers = match options.placet.workers {
        0 => available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let has_port = options.placet.metrics && options.placet.metrics_bind.is_some();
    let of_metrics = if has_port { METRICS_CONNECTIONS as u64 } else { 0 };
    let spare = spare_connections(wanted.div_ceil(workers)) as u64;
    let of_workers = (FILES_OF_A_WORKER + of_metrics + spare).saturating_mul(workers as u64);
    let reserved = OTHER_FILES + readers + of_workers;
    let fitting = limit.saturating_sub(reserved).max(limit / 2);
    match usize::try_from(fitting) {
        Ok(fitting) if fitting < wanted => {
            log::warn!(
                "The limit of open files is {limit}, so placet accepts at most {fitting} client connections and not \
                 [placet] max_connections = {wanted}: raise the limit (`ulimit -Hn`, LimitNOFILE= of systemd) to {}, or \
                 lower max_connections",
                wanted as u64 + reserved
            );
            fitting
        }
        _ => wanted,
    }
}

/// Raises the soft limit to the hard limit, and returns the limit in force; `None` if there is none.
fn raise_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if current == maximum || setrlimit(Resource::Nofile, raised).is_ok() {
        maximum
    } else {
        current
    }
}
