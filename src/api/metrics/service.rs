//! The service: requests, searches, claims, the writer, the snapshot and the database.

use super::text::MetricsPage;
use crate::api::http::connections::closed::WaitCause;
use crate::api::http::statistics::HttpStatistics;
use crate::api::readiness::{Degradation, Readiness};
use crate::model::statistics::{ClaimStatistics, ModelNumbers, PoolState, ReloadReason, WriterStatistics};
use crate::pools::Pools;
use crate::statistics::Counter;

pub fn write_http(page: &mut MetricsPage, http: &HttpStatistics) {
    let routes = http.routes();
    page.family("placet_http_requests_total");
    for numbers in &routes {
        for (status, count) in &numbers.statuses {
            let labels = [
                ("route", numbers.route),
                ("method", numbers.method),
                ("status", status.as_str()),
            ];
            page.sample(&labels, count);
        }
    }
    page.family("placet_http_request_duration_seconds");
    for numbers in &routes {
        page.histogram(&[("route", numbers.route), ("method", numbers.method)], &numbers.times);
    }
    page.by(
        "microversion",
        "placet_http_requests_by_microversion_total",
        http.versions(),
    );
    page.one("placet_http_requests_in_flight", http.in_flight());
    let closed = WaitCause::ALL.map(|(wait, name)| (name, http.closed.count(wait)));
    page.by("waited_for", "placet_http_connections_closed_total", closed);
    let candidates = &http.candidates;
    page.one("placet_candidate_answers_total", candidates.answers.value());
    page.one("placet_candidates_found_total", candidates.found.value());
    page.one("placet_candidate_search_steps_total", candidates.steps.value());
}

pub fn write_pools(page: &mut MetricsPage, pools: &Pools) {
    let waiting = [
        ("searches", pools.searches.waiting()),
        ("attempts", pools.attempts.waiting()),
        ("answers", pools.answers.waiting()),
        ("bodies", pools.bodies.waiting()),
    ];
    page.by("queue", "placet_queue_length", waiting);
}

pub fn write_model(page: &mut MetricsPage, numbers: &ModelNumbers) {
    page.by(
        "reason",
        "placet_candidates_empty_total",
        numbers.refusals.empty.counts(),
    );
    write_claims(page, &numbers.claims);
    write_writer(page, &numbers.writer, numbers.unanswered);
    page.one("placet_leader", u8::from(numbers.is_leader));
    page.one("placet_silent_hosts", numbers.silent_hosts);
    write_snapshot(page, numbers);
    write_database(page, &numbers.pool);
}

pub fn write_degraded(page: &mut MetricsPage, readiness: &Readiness) {
    let degraded = Degradation::ALL.map(|(reason, name)| (name, u8::from(readiness.degraded.contains(&reason))));
    page.by("reason", "placet_degraded", degraded);
}

fn write_claims(page: &mut MetricsPage, claims: &ClaimStatistics) {
    page.one("placet_claims_granted_total", claims.granted.value());
    page.by("reason", "placet_claims_refused_total", claims.refused());
    page.one("placet_claims_released_total", claims.released.value());
}

fn write_writer(page: &mut MetricsPage, writer: &WriterStatistics, unanswered: usize) {
    page.one("placet_writer_queue_length", unanswered);
    page.one("placet_writer_parked", writer.parked.value());
    page.one("placet_writer_held_rows_total", writer.held_rows.value());
    page.one_histogram("placet_writer_batch_size", &writer.batch_sizes.read());
    page.one_histogram("placet_writer_batch_duration_seconds", &writer.batch_times.read());
    page.one("placet_writer_conflicts_total", writer.conflicts.value());
    let retries = [
        ("optimistic", writer.optimistic_retries.value()),
        ("locked", writer.locked_retries.value()),
        ("from_database", writer.database_retries.value()),
    ];
    page.by("strategy", "placet_writer_retries_total", retries);
}

fn write_snapshot(page: &mut MetricsPage, numbers: &ModelNumbers) {
    let statistics = &numbers.snapshot_statistics;
    page.one("placet_snapshot_age_seconds", numbers.snapshot_age.as_secs_f64());
    page.one("placet_snapshot_valid", u8::from(numbers.is_snapshot_valid));
    let used = numbers.snapshot.len();
    let slots = [("used", used), ("free", numbers.snapshot.slots() - used)];
    page.by("state", "placet_snapshot_slots", slots);
    page.one_histogram("placet_snapshot_refresh_duration_seconds", &statistics.refreshes.read());
    page.one_histogram("placet_snapshot_load_duration_seconds", &statistics.loads.read());
    let reasons = ReloadReason::ALL.into_iter().map(|(_, reason)| reason);
    let counts = statistics.reloads.iter().map(Counter::value);
    page.by("reason", "placet_snapshot_reloads_total", reasons.zip(counts));
}

fn write_database(page: &mut MetricsPage, pool: &PoolState) {
    page.one("placet_database_silence_seconds", pool.silence.as_secs_f64());
    let busy = pool.connections.saturating_sub(pool.idle);
    page.by(
        "state",
        "placet_database_pool_connections",
        [("idle", pool.idle), ("busy", busy)],
    );
    page.one("placet_database_pool_connections_max", pool.max);
    page.one("placet_database_connections", pool.open);
    page.one("placet_database_connect_failures_total", pool.failures);
    page.one("placet_database_statements_total", pool.statements);
}
