//! `[DEFAULT]`: OpenStack Placement's options and oslo.log's. placet logs to stderr or to one file, in one of three
//! formats.

use std::path::PathBuf;

use crate::config::option_spec::OptionSpec;

options! {
    /// `[DEFAULT]`: logging.
    DefaultSection in "DEFAULT" {
        /// Whether a starting service logs its configuration, secrets masked, at debug level.
        log_options: bool = true;
        /// Log at debug level, unless the environment variable `RUST_LOG` says otherwise.
        debug: bool = false;
        /// The file to which a service logs instead of stderr. All commands but the service log to stderr.
        log_file: Option<PathBuf>, formerly "DEFAULT" "logfile";
        /// The directory of the log file. Without `log_file` the name is `placet.log`.
        log_dir: Option<PathBuf>, formerly "DEFAULT" "logdir";
    }
}

impl DefaultSection {
    /// The file for the log; `None` for stderr.
    pub fn log_path(&self) -> Option<PathBuf> {
        match (&self.log_dir, &self.log_file) {
            (None, file) => file.clone(),
            (Some(dir), None) => Some(dir.join("placet.log")),
            (Some(dir), Some(file)) => Some(dir.join(file)),
        }
    }
}

/// Options for use inside further options' values only, as `$state_path`.
///
/// The directory of a Python package has no counterpart in placet: the working directory stands in for it.
pub const SUBSTITUTED: &[OptionSpec] = &[
    OptionSpec::honoured("DEFAULT", "pybasedir", PYBASEDIR).defaults_to("."),
    OptionSpec::honoured("DEFAULT", "state_path", STATE_PATH).defaults_to("$pybasedir"),
];
const PYBASEDIR: &str = "A directory that other values may name as `$pybasedir`.";
const STATE_PATH: &str = "A directory that other values may name as `$state_path`.";
