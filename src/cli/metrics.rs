//! `[placet] metrics…`: who may read the metrics, on which port, and the numbers of the process that they show.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::{CommandError, option_file};
use crate::api::{HttpStatistics, Metrics, MetricsAccess, ProcessCounters};
use crate::config::Options;
use crate::statistics::Counter;

/// The metrics of the process. `dropped_log_lines` is counted by the log.
pub fn metrics(
    options: &Options,
    access: MetricsAccess,
    http: Arc<HttpStatistics>,
    panics: Arc<Counter>,
    dropped_log_lines: Arc<Counter>,
) -> Metrics {
    if matches!(access, MetricsAccess::Closed) {
        log::info!(
            "/metrics is refused, because every client of the API could read it: set [placet] metrics_token_file or \
             metrics_bind"
        );
    }
    Metrics {
        access,
        has_own_port: options.placet.metrics_bind.is_some(),
        max_aggregates: options.placet.metrics_aggregates,
        http,
        process: ProcessCounters {
            started: SystemTime::now(),
            panics,
            dropped_log_lines,
        },
        scrape: Default::default(),
    }
}

/// The clients that may read the metrics. The metrics say how full the cloud is. So on a port whose clients must
/// authenticate they are refused, unless they have a token of their own.
///
/// # Errors
/// The file of the token cannot be used: every scrape would be refused.
pub fn access(options: &Options) -> Result<MetricsAccess, CommandError> {
    if !options.placet.metrics {
        return Ok(MetricsAccess::Off);
    }
    Ok(match options.placet.metrics_token_file.clone() {
        Some(file) => {
            read_token(&file).map_err(CommandError::File)?;
            // Read for each scrape, so that a new token counts at once.
            MetricsAccess::Token(Box::new(move || {
                read_token(&file)
                    .inspect_err(|reason| log::warn!("{reason}. So /metrics is refused"))
                    .ok()
            }))
        }
        None if options.placet.metrics_bind.is_some() || options.believes_every_token() => MetricsAccess::Open,
        None => MetricsAccess::Closed,
    })
}

fn read_token(path: &Path) -> Result<String, String> {
    let source = "write the token into it that a scrape sends";
    option_file::read_token("placet", "metrics_token_file", path, source)
}
