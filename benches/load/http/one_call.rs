//! `--scenario one-call`: POST /v1/claims places new consumers, by queries or by lists of hosts in order of preference.

use std::io::Result;
use std::time::Instant;

use clap::Args;

use super::connection::Connection;
use crate::cloud::{CLAIM_DISK_GB, CLAIM_MEMORY_MB, CLAIM_VCPU, Cloud, Provider};
use crate::random::Random;
use crate::statistics::Statistics;

/// What each consumer of `one-call` asks for.
#[derive(Args, Clone)]
pub struct Options {
    /// Consumers of one call, all of which are placed or none
    #[arg(long, default_value_t = 1)]
    consumers: usize,
    /// Candidates of each consumer, on random hosts; 0 sends a query instead
    #[arg(long, default_value_t = 0)]
    candidates: usize,
    /// The rank of the query
    #[arg(long)]
    rank: Option<String>,
}

/// Sends one call. It completes if all its consumers are placed.
pub async fn place(
    connection: &mut Connection,
    cloud: &Cloud,
    options: &Options,
    random: &mut Random,
    statistics: &mut Statistics,
) -> Result<()> {
    let body = body(cloud, options, random);
    let start = Instant::now();
    let response = connection.post("/v1/claims", body.as_bytes()).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}

/// Written as text: a tree of values for ten candidates would take the server's CPU time.
fn body(cloud: &Cloud, options: &Options, random: &mut Random) -> String {
    let consumers: Vec<String> = (0..options.consumers)
        .map(|_| {
            let wanted = if options.candidates == 0 {
                query(options.rank.as_deref())
            } else {
                candidates(cloud, options.candidates, random)
            };
            format!(
                r#"{{"uuid":"{}","generation":null,"project_id":"bench","user_id":"bench",{wanted}}}"#,
                random.uuid()
            )
        })
        .collect();
    format!(r#"{{"consumers":[{}]}}"#, consumers.join(","))
}

fn query(rank: Option<&str>) -> String {
    let rank = rank.map_or_else(String::new, |rank| format!(r#","rank":"{rank}""#));
    format!(r#""query":"resources=VCPU:{CLAIM_VCPU},MEMORY_MB:{CLAIM_MEMORY_MB},DISK_GB:{CLAIM_DISK_GB}"{rank}"#)
}

/// In the form of `GET /allocation_candidates`.
fn candidates(cloud: &Cloud, number: usize, random: &mut Random) -> String {
    let candidates: Vec<String> = (0..number)
        .map(|_| candidate(cloud.claim_target(random, false)))
        .collect();
    format!(r#""candidates":[{}]"#, candidates.join(","))
}

fn candidate((compute, disk): (&Provider, &Provider)) -> String {
    let share =
        |provider: &Provider, resources: &str| format!(r#""{}":{{"resources":{{{resources}}}}}"#, provider.uuid);
    let compute_resources = format!(r#""VCPU":{CLAIM_VCPU},"MEMORY_MB":{CLAIM_MEMORY_MB}"#);
    let disk_resources = format!(r#""DISK_GB":{CLAIM_DISK_GB}"#);
    let (allocations, uuids) = if compute.uuid == disk.uuid {
        let all = share(compute, &format!("{compute_resources},{disk_resources}"));
        (all, format!(r#""{}""#, compute.uuid))
    } else {
        let (of_compute, of_disk) = (share(compute, &compute_resources), share(disk, &disk_resources));
        let uuids = format!(r#""{}","{}""#, compute.uuid, disk.uuid);
        (format!("{of_compute},{of_disk}"), uuids)
    };
    format!(r#"{{"allocations":{{{allocations}}},"mappings":{{"":[{uuids}]}}}}"#)
}
