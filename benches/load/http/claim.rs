//! `--scenario claims` and `claims-one-pool`: each claim is for a new consumer, on a random host.

use std::io::Result;
use std::time::Instant;

use serde_json::json;

use super::connection::Connection;
use crate::cloud::{CLAIM_DISK_GB, CLAIM_MEMORY_MB, CLAIM_VCPU, Cloud, Provider};
use crate::random::Random;
use crate::statistics::Statistics;

/// Sends one claim. With `one_pool` the disk is always the first host's.
pub async fn claim(
    connection: &mut Connection,
    cloud: &Cloud,
    random: &mut Random,
    one_pool: bool,
    statistics: &mut Statistics,
) -> Result<()> {
    let (compute, disk) = cloud.claim_target(random, one_pool);
    let body = body(compute, disk);
    let path = format!("/allocations/{}", random.uuid());
    let start = Instant::now();
    let response = connection.put(&path, &body).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}

fn body(compute: &Provider, disk: &Provider) -> Vec<u8> {
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
    let body = json!({
        "allocations": allocations,
        "project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE",
    });
    body.to_string().into_bytes()
}
