//! `/v1/capacity`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::capacity;
use crate::wire::capacity as wire;

pub async fn show(context: RequestContext) -> Result<Reply> {
    let (question, count) = wire::read_show(&context.query)?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let found = capacity::report(context.model(), question, settings, &caller);
    let report = context.while_connected(found).await?;
    context.write_page(move || wire::write_show(&report, count)).await
}
