//! `/allocation_candidates`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::search;
use crate::wire::allocation_candidates as wire;

pub async fn list(call: Call) -> Result<Reply> {
    let request = wire::read_list(call.version, &call.query)?;
    let settings = call.settings().search();
    let snapshot = call.model().snapshot().await?;
    let version = call.version;
    call.compute(move || {
        let found = search::candidates(&snapshot, &request, &settings, ())?.found();
        Ok(Reply::json(wire::write(version, &snapshot, &request, &found)).modified(None))
    })
    .await
}
