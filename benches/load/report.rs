//! `--scenario report`: what nova-compute asks and tells of its host in a period: the tree, its inventories, aggregates,
//! traits and allocations, and inventories that changed.

use std::io::Result;
use std::time::Instant;

use serde_json::Value;

use crate::tally::Tally;
use crate::wire::{Answer, Connection};

pub async fn report(wire: &mut Connection, host: &str, compute: &str, tally: &mut Tally) -> Result<()> {
    read(wire, &format!("/resource_providers?in_tree={host}"), tally).await?;
    for what in ["aggregates", "traits", "allocations"] {
        read(wire, &format!("/resource_providers/{host}/{what}"), tally).await?;
    }
    let path = format!("/resource_providers/{compute}/inventories");
    let known = read(wire, &path, tally).await?;
    let since = Instant::now();
    let answer = wire.put(&path, &changed(&known.body)).await?;
    tally.answer(&answer);
    if answer.is_good() {
        tally.done(since);
    }
    Ok(())
}

async fn read(wire: &mut Connection, path: &str, tally: &mut Tally) -> Result<Answer> {
    let since = Instant::now();
    let answer = wire.get(path, true).await?;
    tally.answer(&answer);
    if answer.is_good() {
        tally.done(since);
    }
    Ok(answer)
}

/// The inventories as they are, with a little more or less reserved: the body of a GET has the form of a PUT's.
fn changed(known: &[u8]) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(known).unwrap_or_default();
    if let Some(Value::Number(reserved)) = body.pointer("/inventories/MEMORY_MB/reserved") {
        let other = reserved.as_i64().unwrap_or_default() ^ 1;
        body["inventories"]["MEMORY_MB"]["reserved"] = other.into();
    }
    body.to_string().into_bytes()
}
