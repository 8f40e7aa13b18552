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
    let (version, query) = (call.version, call.query.clone());
    call.compute(move || {
        let found = search::candidates(&snapshot, &request, &settings, ())?.found()?;
        if found.cut {
            log::warn!(
                "More than {} candidates for {query:?}: the answer ends there; ask with a limit, or raise [placet] \
                 max_candidates",
                settings.ceiling
            );
        }
        Ok(Reply::json(wire::write(version, &snapshot, &request, &found)).modified(None))
    })
    .await
}
