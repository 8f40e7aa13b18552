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
    OptionSpec::honoured(
        "DEFAULT",
        "pybasedir",
        "A directory that other values may name as `$pybasedir`.",
    )
    .defaults_to("."),
    OptionSpec::honoured(
        "DEFAULT",
        "state_path",
        "A directory that other values may name as `$state_path`.",
    )
    .defaults_to("$pybasedir"),
];

const LEVELS: &str = "the environment variable RUST_LOG, for example RUST_LOG=info,placet::model=debug";
const FORMAT: &str = "[placet] log_format: text, json or oslo";
const SERVICE_MANAGER: &str = "placet logs to stderr, which a service manager takes to the journal or to syslog";
const ROTATION: &str = "logrotate, with SIGHUP to placet after it renamed the file (docs/logging.md)";
const INSTANCES: &str = "placement knows no instances";
const RATE: &str = "no log line is dropped; journald limits rates";

/// Options that are accepted but not used.
pub const UNUSED: &[OptionSpec] = &[
    OptionSpec::unused("DEFAULT", "log_config_append", LEVELS)
        .formerly(&[("DEFAULT", "log-config"), ("DEFAULT", "log_config")]),
    OptionSpec::unused("DEFAULT", "log_date_format", FORMAT),
    OptionSpec::unused("DEFAULT", "use_syslog use_journal syslog_log_facility", SERVICE_MANAGER),
    OptionSpec::unused("DEFAULT", "use_json", FORMAT),
    OptionSpec::unused(
        "DEFAULT",
        "use_stderr",
        "placet logs to stderr unless log_file or log_dir is set",
    ),
    OptionSpec::unused("DEFAULT", "log_color", FORMAT),
    OptionSpec::unused(
        "DEFAULT",
        "log_rotate_interval log_rotate_interval_type max_logfile_count max_logfile_size_mb log_rotation_type",
        ROTATION,
    ),
    OptionSpec::unused(
        "DEFAULT",
        "logging_context_format_string logging_default_format_string logging_debug_format_suffix \
         logging_exception_prefix logging_user_identity_format",
        FORMAT,
    ),
    OptionSpec::unused("DEFAULT", "default_log_levels", LEVELS),
    OptionSpec::unused("DEFAULT", "publish_errors", "placet sends no notifications"),
    OptionSpec::unused("DEFAULT", "instance_format instance_uuid_format", INSTANCES),
    OptionSpec::unused(
        "DEFAULT",
        "rate_limit_interval rate_limit_burst rate_limit_except_level",
        RATE,
    ),
    OptionSpec::unused(
        "DEFAULT",
        "fatal_deprecations",
        "placet config show lists what is deprecated or not used",
    ),
    OptionSpec::unused(
        "DEFAULT",
        "config_source",
        "--config-file, --config-dir and environment variables",
    ),
    OptionSpec::unused("DEFAULT", "shell_completion", "it belongs to Python's command line"),
];
