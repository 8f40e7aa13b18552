//! `--scenario claims`, `claims-one-pool` and `claims-together`: each claim is for a new consumer, on a random host.

use std::io::Result;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::connection::Connection;
use crate::cloud::{CLAIM_DISK_GB, CLAIM_MEMORY_MB, CLAIM_VCPU, Cloud, Provider};
use crate::random::Random;
use crate::statistics::Statistics;

/// Consumers of one request of `claims-together`.
const CONSUMERS_TOGETHER: usize = 1000;

/// Sends one claim for these providers of compute and of disk.
pub async fn claim(
    connection: &mut Connection,
    (compute, disk): (&Provider, &Provider),
    random: &mut Random,
    statistics: &mut Statistics,
) -> Result<()> {
    let body = body(compute, disk).to_string().into_bytes();
    let path = format!("/allocations/{}", random.uuid());
    let start = Instant::now();
    let response = connection.put(&path, &body).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}

/// Sends one POST /allocations with the claims of many consumers.
pub async fn claim_together(
    connection: &mut Connection,
    cloud: &Cloud,
    random: &mut Random,
    statistics: &mut Statistics,
) -> Result<()> {
    let mut claims = Map::new();
    for _ in 0..CONSUMERS_TOGETHER {
        let (compute, disk) = cloud.claim_target(random, false);
        claims.insert(random.uuid().to_string(), body(compute, disk));
    }
    let body = Value::from(claims).to_string().into_bytes();
    let start = Instant::now();
    let response = connection.post("/allocations", &body).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}

fn body(compute: &Provider, disk: &Provider) -> Value {
    let mut resources = json!({"VCPU": CLAIM_VCPU, "MEMORY_MB": CLAIM_MEMORY_MB});
    let allocations = if compute.uuid == disk.uuid {
        resources["DISK_GB"] = CLAIM_DISK_GB.into();
        json!({ &compute.uuid: {"resources": resources} })
    } else {
        json!({
            &compute.uuid: {"resources": resources},
            &disk.uuid: {"resources": {"DISK_GB": CLAIM_DISK_GB}},
        })
    };
    json!({
        "allocations": allocations,
        "project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE",
    })
}
