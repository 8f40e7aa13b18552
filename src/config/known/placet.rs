//! placet's own options. What each means, its unit and bounds: [`super::super::options::Placet`].

use super::Known;

pub(super) const ROWS: &[Known] = &[
    Known::honoured("placet", "bind", "127.0.0.1:8778"),
    Known::honoured("placet", "url_prefix", ""),
    Known::honoured("placet", "allow_noauth2_anywhere", "false"),
    Known::honoured("placet", "max_body_size", "33554432"),
    Known::honoured("placet", "shutdown_timeout", "30"),
    Known::honoured("placet", "commit_timeout", "10"),
    Known::honoured("placet", "queue_size", "1024"),
    Known::honoured("placet", "workers", "0"),
    Known::honoured("placet", "max_connections", "10000"),
    Known::honoured("placet", "strict_step_size", "false"),
    Known::honoured("placet", "max_candidates", "100000"),
    Known::honoured("placet", "comparison_interval", "300"),
    Known::honoured("placet", "slave_routes", ""),
    Known::honoured("placet", "stale_reads_seconds", "0"),
];
