//! `--scenario report`: the periodic task of nova-compute for its host.
//!
//! It reads the tree, aggregates, traits, allocations and inventories, and writes inventories with one changed value.

use std::io::Result;
use std::time::Instant;

use serde_json::Value;

use super::connection::{Connection, Response};
use crate::statistics::Statistics;

pub async fn report(connection: &mut Connection, host: &str, compute: &str, statistics: &mut Statistics) -> Result<()> {
    read(connection, &format!("/resource_providers?in_tree={host}"), statistics).await?;
    for resource in ["aggregates", "traits", "allocations"] {
        read(
            connection,
            &format!("/resource_providers/{host}/{resource}"),
            statistics,
        )
        .await?;
    }
    let path = format!("/resource_providers/{compute}/inventories");
    let current = read(connection, &path, statistics).await?;
    let start = Instant::now();
    let response = connection.put(&path, &changed(&current.body)).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(())
}

async fn read(connection: &mut Connection, path: &str, statistics: &mut Statistics) -> Result<Response> {
    let start = Instant::now();
    let response = connection.get(path, true).await?;
    statistics.record_response(&response);
    if response.is_success() {
        statistics.record_completed(start);
    }
    Ok(response)
}

/// The inventories with the lowest bit of the reserved memory flipped. A GET's body has the form of a PUT's.
fn changed(current: &[u8]) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(current).unwrap_or_default();
    if let Some(Value::Number(reserved)) = body.pointer("/inventories/MEMORY_MB/reserved") {
        let other = reserved.as_i64().unwrap_or_default() ^ 1;
        body["inventories"]["MEMORY_MB"]["reserved"] = other.into();
    }
    body.to_string().into_bytes()
}
