//! The service: requests, searches, claims, the writer, the snapshot and the database.

use super::text::{Kind, Page};
use crate::api::http::connections::closed::Wait;
use crate::api::http::statistics::HttpStatistics;
use crate::api::readiness::{Degradation, Readiness};
use crate::model::statistics::{ClaimStatistics, ModelNumbers, PoolState, ReloadReason, WriterStatistics};
use crate::pools::Pools;

pub fn write_http(page: &mut Page, http: &HttpStatistics) {
    let routes = http.routes();
    page.family(
        "placet_http_requests_total",
        Kind::Counter,
        "Answered requests by route, method and status",
    );
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
    page.family(
        "placet_http_request_duration_seconds",
        Kind::Histogram,
        "Time until the head of the answer in seconds, by route and method",
    );
    for numbers in &routes {
        page.histogram(&[("route", numbers.route), ("method", numbers.method)], &numbers.times);
    }
    page.family(
        "placet_http_requests_by_microversion_total",
        Kind::Counter,
        "Answered requests by microversion",
    );
    for (version, count) in http.versions() {
        page.sample(&[("microversion", version.as_str())], count);
    }
    let in_flight = "Requests that are being answered";
    page.one(
        "placet_http_requests_in_flight",
        Kind::Gauge,
        in_flight,
        http.in_flight(),
    );
    page.family(
        "placet_http_connections_closed_total",
        Kind::Counter,
        "Connections that were closed for new ones, by what they waited for",
    );
    for (wait, name) in Wait::ALL {
        page.sample(&[("waited_for", name)], http.closed.count(wait));
    }
    let candidates = &http.candidates;
    let mut counter = |name, help, value| page.one(name, Kind::Counter, help, value);
    counter(
        "placet_candidate_answers_total",
        "Answers with candidates that were sent to their end",
        candidates.answers.value(),
    );
    counter(
        "placet_candidates_found_total",
        "Candidates in these answers",
        candidates.found.value(),
    );
    counter(
        "placet_candidate_search_steps_total",
        "Steps of the searches for candidates: a block of 64 providers, or a choice within a tree",
        candidates.steps.value(),
    );
}

pub fn write_pools(page: &mut Page, pools: &Pools) {
    page.family(
        "placet_queue_length",
        Kind::Gauge,
        "Work that waits for a thread, by queue",
    );
    for (queue, pool) in [
        ("searches", &pools.searches),
        ("attempts", &pools.attempts),
        ("answers", &pools.answers),
        ("bodies", &pools.bodies),
    ] {
        page.sample(&[("queue", queue)], pool.waiting());
    }
}

pub fn write_model(page: &mut Page, numbers: &ModelNumbers) {
    write_claims(page, &numbers.claims);
    write_writer(page, &numbers.writer, numbers.unanswered);
    write_snapshot(page, numbers);
    write_database(page, &numbers.pool);
}

pub fn write_degraded(page: &mut Page, readiness: &Readiness) {
    page.family(
        "placet_degraded",
        Kind::Gauge,
        "1 for each reason for which some requests fail while the process is ready, 0 for all others",
    );
    for (reason, name) in Degradation::ALL {
        page.sample(&[("reason", name)], u8::from(readiness.degraded.contains(&reason)));
    }
}

fn write_claims(page: &mut Page, claims: &ClaimStatistics) {
    page.one(
        "placet_claims_granted_total",
        Kind::Counter,
        "Consumers that requests other than reshapes gave allocations",
        claims.granted.value(),
    );
    page.family(
        "placet_claims_refused_total",
        Kind::Counter,
        "Consumers that were refused allocations, by reason",
    );
    for (reason, count) in claims.refused() {
        page.sample(&[("reason", reason)], count);
    }
    page.one(
        "placet_claims_released_total",
        Kind::Counter,
        "Consumers that requests other than reshapes left without allocations",
        claims.released.value(),
    );
}

fn write_writer(page: &mut Page, writer: &WriterStatistics, unanswered: usize) {
    page.one(
        "placet_writer_queue_length",
        Kind::Gauge,
        "Writes without an answer",
        unanswered,
    );
    let parked = "Writes that wait for rows which another transaction has locked";
    page.one("placet_writer_parked", Kind::Gauge, parked, writer.parked.value());
    let held = "Rows that another transaction held for longer than a write waits";
    page.one(
        "placet_writer_held_rows_total",
        Kind::Counter,
        held,
        writer.held_rows.value(),
    );
    page.family(
        "placet_writer_batch_size",
        Kind::Histogram,
        "Commands in a committed transaction",
    );
    page.histogram(&[], &writer.batch_sizes.read());
    let times = "Time to commit a batch or to give up in seconds, with all attempts";
    page.family("placet_writer_batch_duration_seconds", Kind::Histogram, times);
    page.histogram(&[], &writer.batch_times.read());
    let conflicts = "Attempts that a commit of another process made fail";
    page.one(
        "placet_writer_conflicts_total",
        Kind::Counter,
        conflicts,
        writer.conflicts.value(),
    );
    page.family(
        "placet_writer_retries_total",
        Kind::Counter,
        "Attempts after the first one, by their strategy",
    );
    for (strategy, retries) in [
        ("optimistic", &writer.optimistic_retries),
        ("locked", &writer.locked_retries),
        ("from_database", &writer.database_retries),
    ] {
        page.sample(&[("strategy", strategy)], retries.value());
    }
}

fn write_snapshot(page: &mut Page, numbers: &ModelNumbers) {
    let statistics = &numbers.snapshot_statistics;
    let mut gauge = |name, help, value: f64| page.one(name, Kind::Gauge, help, value);
    gauge(
        "placet_snapshot_age_seconds",
        "How old the snapshot is at most in seconds",
        numbers.snapshot_age.as_secs_f64(),
    );
    gauge(
        "placet_snapshot_valid",
        "1 if the snapshot may be used, 0 while everything must be read again",
        f64::from(u8::from(numbers.is_snapshot_valid)),
    );
    page.family(
        "placet_snapshot_slots",
        Kind::Gauge,
        "The size of the snapshot: its places for providers, by state",
    );
    let used = numbers.snapshot.len();
    page.sample(&[("state", "used")], used);
    page.sample(&[("state", "free")], numbers.snapshot.slots() - used);
    page.family(
        "placet_snapshot_refresh_duration_seconds",
        Kind::Histogram,
        "Time to read what other processes changed in seconds",
    );
    page.histogram(&[], &statistics.refreshes.read());
    page.family(
        "placet_snapshot_load_duration_seconds",
        Kind::Histogram,
        "Time to read all tables in seconds, at start and again",
    );
    page.histogram(&[], &statistics.loads.read());
    page.family(
        "placet_snapshot_reloads_total",
        Kind::Counter,
        "How often all tables had to be read again, by reason",
    );
    for ((_, reason), count) in ReloadReason::ALL.into_iter().zip(&statistics.reloads) {
        page.sample(&[("reason", reason)], count.value());
    }
}

fn write_database(page: &mut Page, pool: &PoolState) {
    page.one(
        "placet_database_silence_seconds",
        Kind::Gauge,
        "Time since the database last answered in seconds",
        pool.silence.as_secs_f64(),
    );
    page.family(
        "placet_database_pool_connections",
        Kind::Gauge,
        "Connections of the pool, by state",
    );
    page.sample(&[("state", "idle")], pool.idle);
    page.sample(&[("state", "busy")], pool.connections.saturating_sub(pool.idle));
    let max = "The most connections of the pool";
    page.one("placet_database_pool_connections_max", Kind::Gauge, max, pool.max);
    let open = "Open connections to the database, those outside of the pool included";
    page.one("placet_database_connections", Kind::Gauge, open, pool.open);
    let failures = "How often a connection to the database could not be opened";
    page.one(
        "placet_database_connect_failures_total",
        Kind::Counter,
        failures,
        pool.failures,
    );
    page.one(
        "placet_database_statements_total",
        Kind::Counter,
        "Statements that were sent",
        pool.statements,
    );
}
