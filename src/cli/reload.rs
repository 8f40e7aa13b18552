//! The part of SIGHUP in `cli`: opens the log file again and sets the log level. `api` adds the policy.

use super::logging::{self, LiveLog};
use crate::config::{self, ConfigSources};

/// Reads the configuration again, and applies the options that may change. An unusable configuration changes nothing,
/// but the log file is opened again, because the file was probably renamed.
pub fn run(sources: &ConfigSources, log: &LiveLog) {
    let loaded = config::load(sources);
    let reopened = log.reload(loaded.as_ref().ok().map(|configuration| &configuration.options.default));
    if let Err(error) = &loaded {
        log::error!("SIGHUP: the configuration cannot be used, and stays as it was: {error}");
    }
    match reopened {
        Ok(()) => log::info!(
            "SIGHUP: the log file was opened again, and the log level is {}; all other options need a restart",
            log::max_level().as_str().to_lowercase()
        ),
        Err(error) => log::error!("SIGHUP: {error}; the log goes on in the former file"),
    }
    if let Ok(configuration) = &loaded
        && let Err(error) = logging::log_options(configuration)
    {
        log::error!("SIGHUP: {error}");
    }
}
