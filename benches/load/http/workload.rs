//! `--scenario workloads`: PUT /v1/workloads/{uuid} creates workloads of one role, by the default rule.

use std::io::Result;
use std::time::Instant;

use clap::Args;

use super::connection::Connection;
use crate::cloud::{CLAIM_DISK_GB, CLAIM_MEMORY_MB, CLAIM_VCPU};
use crate::random::Random;
use crate::statistics::Statistics;

/// What `workloads` creates.
#[derive(Args, Clone)]
pub struct Options {
    /// Replicas of a workload, each of which takes what a claim takes
    #[arg(long, default_value_t = 5)]
    replicas: usize,
}

/// Creates one workload. It completes if all its replicas are placed.
pub async fn create(
    connection: &mut Connection,
    options: &Options,
    random: &mut Random,
    statistics: &mut Statistics,
) -> Result<()> {
    let uuid = random.uuid();
    let body = format!(
        r#"{{"generation":null,"name":"{uuid}","project_id":"bench","user_id":"bench","roles":[{{"name":"member","count":{},"query":"resources=VCPU:{CLAIM_VCPU},MEMORY_MB:{CLAIM_MEMORY_MB},DISK_GB:{CLAIM_DISK_GB}"}}]}}"#,
        options.replicas
    );
    let start = Instant::now();
    let response = connection
        .put(&format!("/v1/workloads/{uuid}"), body.as_bytes())
        .await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}
