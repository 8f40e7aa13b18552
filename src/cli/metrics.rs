//! `[placet] metrics…`: who may read the metrics, on which port, and the numbers of the process that they show.

use std::sync::Arc;

use crate::api::{HttpStatistics, Metrics, MetricsAccess, PanicCount, ProcessCounters, ReadToken};
use crate::config::Options;
use crate::statistics::Counter;

/// The metrics of the process. `dropped_log_lines` is counted by the log.
pub fn metrics(
    options: &Options,
    http: Arc<HttpStatistics>,
    panics: PanicCount,
    dropped_log_lines: Arc<Counter>,
) -> Metrics {
    let counters = ProcessCounters {
        panics,
        dropped_log_lines,
    };
    let access = access(options);
    if matches!(access, MetricsAccess::Closed) {
        log::info!(
            "/metrics is refused, because every client of the API could read it: set [placet] metrics_token_file or \
             metrics_bind"
        );
    }
    Metrics::new(
        access,
        options.placet.metrics_bind.is_some(),
        options.placet.metrics_aggregates,
        http,
        counters,
    )
}

/// The metrics say how full the cloud is. So on a port whose clients must authenticate they are refused, unless they have
/// a token of their own.
fn access(options: &Options) -> MetricsAccess {
    if !options.placet.metrics {
        return MetricsAccess::Off;
    }
    match options.placet.metrics_token_file.clone() {
        // Read for each scrape, so that a new token counts at once.
        Some(file) => MetricsAccess::Token(read_token(move || std::fs::read_to_string(&file))),
        None if options.placet.metrics_bind.is_some() || options.believes_every_token() => MetricsAccess::Open,
        None => MetricsAccess::Closed,
    }
}

fn read_token(read: impl Fn() -> std::io::Result<String> + Send + Sync + 'static) -> ReadToken {
    Box::new(move || match read() {
        Ok(token) => Some(token.trim().to_owned()),
        Err(error) => {
            log::warn!("[placet] metrics_token_file cannot be read, so /metrics is refused: {error}");
            None
        }
    })
}
