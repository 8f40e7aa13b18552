//! `placet serve` with its log. The first lines say what starts, and the last line of a failed start says why.

use std::sync::Arc;

use super::command_line::CommandLine;
use super::{CommandError, config_check, logging, reload, serve, version};
use crate::config::{self, ConfigSources, DefaultSection, Options};
use crate::db::engines::built_in;

/// Starts the log, and serves until a signal to stop.
///
/// # Errors
/// Every reason why the service does not start, or ends. The log has the reason, too.
pub fn run(sources: &ConfigSources, line: &CommandLine) -> Result<u8, CommandError> {
    let configuration = config::load(sources).map_err(|error| {
        let failure = CommandError::from(error);
        if let Some((options, format)) = config::log_options(sources)
            && let Ok((_log, _flush)) = logging::start(&options, format)
        {
            log_failure(&failure, &options, sources, line);
        }
        failure
    })?;
    let options = &configuration.options;
    let (log, flush) = logging::start(&options.default, options.placet.log_format)?;
    log_versions(options);
    let hangup_sources = sources.clone();
    let on_hangup = Arc::new(move || reload::run(&hangup_sources, &log));
    let served = serve::run(&configuration, on_hangup, flush.dropped_lines(), line);
    if let Err(failure) = &served {
        log_failure(failure, &options.default, sources, line);
    }
    served.map(|()| 0)
}

/// The first lines, which a report of a defect needs.
fn log_versions(options: &Options) {
    log::info!(
        "placet {}, commit: {}, databases: {}",
        env!("CARGO_PKG_VERSION"),
        version::commit(),
        built_in::engines()
    );
    let connection = options.placement_database.connection.as_ref();
    let data = connection.map(|url| serve::data_location(url.reveal()));
    log::info!(
        "database: {}; auth_strategy: {}",
        data.as_deref().unwrap_or("none is configured"),
        options.api.auth_strategy
    );
}

/// Logs a reason that stderr has, too. Does nothing if stderr is the log.
fn log_failure(failure: &CommandError, options: &DefaultSection, sources: &ConfigSources, line: &CommandLine) {
    if options.log_path().is_some() {
        log::error!("{}", line.in_message(&config_check::with_others(failure, sources)));
    }
}
