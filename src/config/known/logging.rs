//! oslo.log's options: placet logs one fixed line format to stderr or to one file.

use super::Known;

const LEVELS: &str = "the environment variable RUST_LOG, for example RUST_LOG=info,placet::model=debug";
const FORMAT: &str = "the format of a log line is fixed: time in UTC, level, place, message";
const SERVICE_MANAGER: &str = "placet logs to stderr, which a service manager takes to the journal or to syslog";
const ROTATION: &str = "logrotate with copytruncate; placet appends to one file";
const INSTANCES: &str = "placement knows no instances";
const RATE: &str = "no log line is dropped; journald limits rates";

pub(super) const ROWS: &[Known] = &[
    Known::honoured("DEFAULT", "debug", "false"),
    Known::unused("DEFAULT", "log_config_append", LEVELS)
        .formerly(&[("DEFAULT", "log-config"), ("DEFAULT", "log_config")]),
    Known::unused("DEFAULT", "log_date_format", FORMAT),
    Known::optional("DEFAULT", "log_file").formerly(&[("DEFAULT", "logfile")]),
    Known::optional("DEFAULT", "log_dir").formerly(&[("DEFAULT", "logdir")]),
    Known::unused("DEFAULT", "use_syslog", SERVICE_MANAGER),
    Known::unused("DEFAULT", "use_journal", SERVICE_MANAGER),
    Known::unused("DEFAULT", "syslog_log_facility", SERVICE_MANAGER),
    Known::unused("DEFAULT", "use_json", FORMAT),
    Known::unused(
        "DEFAULT",
        "use_stderr",
        "placet logs to stderr unless log_file or log_dir is set",
    ),
    Known::unused("DEFAULT", "log_color", FORMAT),
    Known::unused("DEFAULT", "log_rotate_interval", ROTATION),
    Known::unused("DEFAULT", "log_rotate_interval_type", ROTATION),
    Known::unused("DEFAULT", "max_logfile_count", ROTATION),
    Known::unused("DEFAULT", "max_logfile_size_mb", ROTATION),
    Known::unused("DEFAULT", "log_rotation_type", ROTATION),
    Known::unused("DEFAULT", "logging_context_format_string", FORMAT),
    Known::unused("DEFAULT", "logging_default_format_string", FORMAT),
    Known::unused("DEFAULT", "logging_debug_format_suffix", FORMAT),
    Known::unused("DEFAULT", "logging_exception_prefix", FORMAT),
    Known::unused("DEFAULT", "logging_user_identity_format", FORMAT),
    Known::unused("DEFAULT", "default_log_levels", LEVELS),
    Known::unused("DEFAULT", "publish_errors", "placet sends no notifications"),
    Known::unused("DEFAULT", "instance_format", INSTANCES),
    Known::unused("DEFAULT", "instance_uuid_format", INSTANCES),
    Known::unused("DEFAULT", "rate_limit_interval", RATE),
    Known::unused("DEFAULT", "rate_limit_burst", RATE),
    Known::unused("DEFAULT", "rate_limit_except_level", RATE),
    Known::unused(
        "DEFAULT",
        "fatal_deprecations",
        "placet config show lists what is deprecated or not used",
    ),
    Known::unused(
        "DEFAULT",
        "config_source",
        "--config-file, --config-dir and environment variables",
    ),
    Known::unused("DEFAULT", "shell_completion", "it belongs to Python's command line"),
];
