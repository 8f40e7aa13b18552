//! `--scenario claims`: each client claims for a new consumer, on a random host.

use std::io::Result;
use std::time::Instant;

use serde_json::json;

use crate::cloud::{Cloud, Dice, Provider};
use crate::tally::Tally;
use crate::wire::Connection;

/// What every claim takes; the amounts fit everywhere, many times.
pub const VCPU: i32 = 1;
pub const MEMORY_MB: i32 = 512;
pub const DISK_GB: i32 = 1;

/// One claim; `one_pool`: the disk is that of the first host, whichever host it is.
pub async fn claim(
    wire: &mut Connection,
    cloud: &Cloud,
    dice: &mut Dice,
    one_pool: bool,
    tally: &mut Tally,
) -> Result<()> {
    let (compute, disk) = place(cloud, dice, one_pool);
    let body = body(compute, disk);
    let path = format!("/allocations/{}", dice.uuid());
    let since = Instant::now();
    let answer = wire.put(&path, &body).await?;
    tally.answer(&answer);
    if answer.is_good() {
        tally.done(since);
    }
    Ok(())
}

pub fn place<'a>(cloud: &'a Cloud, dice: &mut Dice, one_pool: bool) -> (&'a Provider, &'a Provider) {
    let host = dice.pick(&cloud.hosts);
    let disk = if one_pool { &cloud.hosts[0].disk } else { &host.disk };
    (dice.pick(&host.compute), disk)
}

fn body(compute: &Provider, disk: &Provider) -> Vec<u8> {
    let allocations = if compute.uuid == disk.uuid {
        json!({ &compute.uuid: {"resources": {"VCPU": VCPU, "MEMORY_MB": MEMORY_MB, "DISK_GB": DISK_GB}} })
    } else {
        json!({
            &compute.uuid: {"resources": {"VCPU": VCPU, "MEMORY_MB": MEMORY_MB}},
            &disk.uuid: {"resources": {"DISK_GB": DISK_GB}},
        })
    };
    let body = json!({
        "allocations": allocations,
        "project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE",
    });
    body.to_string().into_bytes()
}
