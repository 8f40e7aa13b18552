//! `/allocation_candidates`

use std::sync::Arc;

use super::call::Call;
use super::pieces::{About, PIECE, Source};
use super::reply::Reply;
use crate::error::Result;
use crate::model::Shown;
use crate::search;
use crate::wire::allocation_candidates as wire;

/// Where the request or the deployment has a limit, answers up to this length are whole before the first byte goes: that
/// is a thousand hosts with everything that clouds tell of them, of which schedulers ask. So whatever goes wrong with
/// them is a refusal, and not a broken connection. Bytes bound the memory, where a number of candidates does not: one of
/// many groups is some kilobytes, and a limit may be any number.
const WHOLE: usize = 4 * 1024 * 1024;

pub async fn list(call: Call) -> Result<Reply> {
    let request = wire::read_list(call.version, &call.query)?;
    let settings = call.settings().search();
    let Shown { snapshot, stale } = call.model().shown(&request, call.settings().stale_reads).await?;
    let (version, query) = (call.version, call.query.clone());
    let bounded = request.limit.is_some() || settings.max.is_some();
    let begin = {
        let settings = settings.clone();
        move || {
            let found = search::candidates(Arc::clone(&snapshot), &request, &settings, ())?.select();
            let mut answer = wire::Answer::new(version, snapshot, &request, found);
            let source: Source = Box::new(move |out, length| {
                let more = answer.write(out, length)?;
                if !more && answer.is_cut() {
                    log::warn!(
                        "More than {} candidates for {query:?}: the answer ends there; ask with a limit, or raise \
                         [placet] max_candidates",
                        settings.ceiling
                    );
                }
                Ok(more)
            });
            Ok(source)
        }
    };
    let whole = if bounded { WHOLE } else { PIECE };
    let about = About {
        what: format!("/allocation_candidates?{}", call.query),
        advice: " Ask with a limit, so that it is found before it is sent.",
    };
    let reply = call.stream(about, settings.interrupt, whole, begin).await?;
    Ok(reply.modified(None).stale(stale))
}
