//! What OpenStack Placement itself registers.

use super::Known;

const MADE_STRICT: &str = "placet always commits durably and checks what it writes";
const TRACE: &str = "the environment variable RUST_LOG=placet::db=trace shows the SQL";

pub(super) const ROWS: &[Known] = &[
    Known::honoured("api", "auth_strategy", "keystone").formerly(&[("DEFAULT", "auth_strategy")]),
    Known::honoured("placement", "randomize_allocation_candidates", "false"),
    Known::honoured(
        "placement",
        "incomplete_consumer_project_id",
        "00000000-0000-0000-0000-000000000000",
    ),
    Known::honoured(
        "placement",
        "incomplete_consumer_user_id",
        "00000000-0000-0000-0000-000000000000",
    ),
    Known::unused(
        "placement",
        "allocation_conflict_retry_count",
        "claims are decided in order, without conflicts inside a process; [placet] commit_timeout bounds the rest",
    ),
    Known::honoured("placement", "max_allocation_candidates", "-1"),
    Known::honoured("placement", "allocation_candidates_generation_strategy", "depth-first"),
    Known::optional("placement_database", "connection").secret(),
    Known::unused(
        "placement_database",
        "connection_parameters",
        "write them into the URL of connection",
    ),
    Known::unused("placement_database", "sqlite_synchronous", MADE_STRICT),
    Known::optional("placement_database", "slave_connection").secret(),
    Known::unused("placement_database", "mysql_sql_mode", MADE_STRICT),
    Known::honoured("placement_database", "connection_recycle_time", "3600"),
    Known::optional("placement_database", "max_pool_size"),
    Known::honoured("placement_database", "max_retries", "10"),
    Known::honoured("placement_database", "retry_interval", "10"),
    Known::optional("placement_database", "max_overflow"),
    Known::unused("placement_database", "connection_debug", TRACE),
    Known::unused("placement_database", "connection_trace", TRACE),
    Known::optional("placement_database", "pool_timeout"),
    Known::honoured("placement_database", "sync_on_startup", "false"),
    Known::unused(
        "workarounds",
        "optimize_for_wide_provider_trees",
        "candidates are always generated lazily, and equal children are not tried again",
    ),
    // The directory of a Python package has no counterpart: where other values name it, the working directory
    // stands in. It and state_path count only inside other values.
    Known::honoured("DEFAULT", "pybasedir", "."),
    Known::honoured("DEFAULT", "state_path", "$pybasedir"),
    Known::unused("DEFAULT", "tempdir", "placet writes no temporary files"),
    Known::honoured("DEFAULT", "log_options", "true"),
];
