//! The table of the families of metrics.

/// A row for each family: the name, the type, and the help, which is a sentence without the full stop.
pub const FAMILIES: &str = "\
placet_build_info gauge 1, with the version of placet
placet_panics_total counter Panics, each a defect of placet
placet_log_lines_dropped_total counter Lines of the log that were lost: its reader was too slow, or it could not be \
    written
process_resident_memory_bytes gauge Resident memory in bytes
process_open_fds gauge Open file descriptors
process_max_fds gauge The most file descriptors that may be open
process_start_time_seconds gauge Start of the process since the Unix epoch in seconds
process_threads gauge Threads
process_cpu_seconds_total counter User and system time of the processors in seconds
placet_http_requests_total counter Answered requests by route, method and status
placet_http_request_duration_seconds histogram Time until the head of the answer in seconds, by route and method
placet_http_requests_by_microversion_total counter Answered requests by microversion
placet_http_requests_in_flight gauge Requests that are being answered
placet_http_connections_closed_total counter Connections that were closed for new ones, by what they waited for
placet_candidate_answers_total counter Answers with candidates that were sent to their end
placet_candidates_found_total counter Candidates in these answers
placet_candidate_search_steps_total counter Steps of the searches for candidates: a block of 64 providers, or a \
    choice within a tree
placet_candidates_empty_total counter Searches without a candidate by the cause, or unexplained if there were too \
    many different ones
placet_queue_length gauge Work that waits for a thread, by queue
placet_claims_granted_total counter Consumers that requests other than reshapes gave allocations
placet_claims_refused_total counter Consumers that were refused allocations, by reason
placet_claims_released_total counter Consumers that requests other than reshapes left without allocations
placet_writer_queue_length gauge Writes without an answer
placet_writer_parked gauge Writes that wait for rows which another transaction has locked
placet_writer_held_rows_total counter Rows that another transaction held for longer than a write waits
placet_writer_batch_size histogram Commands in a committed transaction
placet_writer_batch_duration_seconds histogram Time to commit a batch or to give up in seconds, with all attempts
placet_writer_conflicts_total counter Attempts that a commit of another process made fail
placet_writer_retries_total counter Attempts after the first one, by their strategy
placet_leader gauge 1 if this process does the background work of all processes on the database
placet_silent_hosts gauge Hosts or domains that fell silent at once, so that no lease ends, on the leader
placet_snapshot_age_seconds gauge How old the snapshot is at most in seconds
placet_snapshot_valid gauge 1 if the snapshot may be used, 0 while everything must be read again
placet_snapshot_slots gauge The size of the snapshot: its places for providers, by state
placet_snapshot_refresh_duration_seconds histogram Time to read what other processes changed in seconds
placet_snapshot_load_duration_seconds histogram Time to read all tables in seconds, at start and again
placet_snapshot_reloads_total counter How often all tables had to be read again, by reason
placet_database_silence_seconds gauge Time since the database last answered in seconds
placet_database_pool_connections gauge Connections of the pool, by state
placet_database_pool_connections_max gauge The most connections of the pool
placet_database_connections gauge Open connections to the database, those outside of the pool included
placet_database_connect_failures_total counter How often a connection to the database could not be opened
placet_database_statements_total counter Statements that were sent
placet_census_age_seconds gauge Time since the last count of workloads, replicas and violations, or since the start, \
    in seconds
placet_census_duration_seconds gauge Time that the last count took in seconds
placet_workloads gauge Workloads at the last count
placet_workloads_unsafe gauge Workloads at the last count with safe false
placet_workloads_without_quorum gauge Workloads at the last count with quorum_lost true
placet_workloads_unreadable gauge Workloads at the last count that cannot be judged
placet_replicas gauge Replicas of workloads at the last count, placed and pending
placet_leases gauge Hosts that report, by the health of their lease at the last count
placet_violations gauge Violations at the last count, by rule and level as in GET /v1/violations
placet_degraded gauge 1 for each reason for which some requests fail while the process is ready, 0 for all others
placet_providers gauge Resource providers
placet_hosts gauge Root resource providers that share nothing, by state
placet_pools gauge Sharing providers by state; OpenStack's routes propose them in every state
placet_consumers gauge Consumers with allocations
placet_inventory_units gauge Sum of the totals of inventories
placet_inventory_reserved gauge Sum of what inventories reserve
placet_inventory_capacity gauge What claims may use: (total - reserved) * allocation_ratio, rounded down for each \
    provider
placet_inventory_used gauge Sum of the usages
placet_inventory_free gauge What is left of the capacity, for each provider at least 0
placet_inventory_largest_free gauge The largest hole: what is left of the capacity on one provider
placet_inventory_providers gauge Providers with an inventory of the class
placet_aggregate_providers gauge Resource providers of an aggregate
placet_aggregate_inventory_units gauge Sum of the totals of inventories
placet_aggregate_inventory_reserved gauge Sum of what inventories reserve
placet_aggregate_inventory_capacity gauge What claims may use: (total - reserved) * allocation_ratio, rounded down \
    for each provider
placet_aggregate_inventory_used gauge Sum of the usages
placet_aggregate_inventory_free gauge What is left of the capacity, for each provider at least 0
placet_aggregate_inventory_largest_free gauge The largest hole: what is left of the capacity on one provider
placet_aggregate_inventory_providers gauge Providers with an inventory of the class
placet_aggregates_omitted gauge Aggregates with providers beyond [placet] metrics_aggregates
placet_keystone_requests_total counter Requests to Keystone, repeated ones included, by call and outcome
placet_keystone_request_duration_seconds histogram Time until Keystone's answer or its absence in seconds, by call
placet_keystone_look_ups_total counter Look-ups of tokens by how they ended
placet_keystone_cached_tokens gauge Tokens in the cache, with those that have expired and are not removed yet
placet_keystone_evicted_tokens_total counter Tokens that left the cache, by reason
placet_keystone_failing gauge 1 if Keystone could not validate the last token
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FAMILIES;

    const SOURCES: [&str; 5] = [
        include_str!("census.rs"),
        include_str!("cloud.rs"),
        include_str!("keystone.rs"),
        include_str!("process.rs"),
        include_str!("service.rs"),
    ];

    #[test]
    fn each_metric_has_a_row_and_each_row_has_a_metric() {
        let texts = SOURCES.iter().flat_map(|source| source.split('"'));
        let is_metric = |text: &&str| text.starts_with("placet_") || text.starts_with("process_");
        let metrics: BTreeSet<&str> = texts.filter(is_metric).collect();
        let names: Vec<&str> = FAMILIES.lines().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), metrics);
        assert_eq!(names.len(), metrics.len());
        for row in FAMILIES.lines() {
            let kind = row.split(' ').nth(1).expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{row}");
        }
    }
}
