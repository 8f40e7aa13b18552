//! `/v1/capacity`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::capacity::{self, loss};
use crate::policy::rules;
use crate::wire::capacity as wire;

pub async fn show(context: RequestContext) -> Result<Reply> {
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    if let Some(domain) = wire::read_without(&context.query)? {
        context.authorize_parts([&rules::ALLOCATIONS_LIST, &rules::PROVIDER_ALLOCATIONS_LIST])?;
        let found = loss::loss(context.model(), domain, settings, &caller);
        let report = context.while_connected(found).await?;
        return context.write_page(move || wire::write_loss(&report)).await;
    }
    let (question, count) = wire::read_show(&context.query)?;
    let found = capacity::report(context.model(), question, settings, &caller);
    let report = context.while_connected(found).await?;
    context.write_page(move || wire::write_show(&report, count)).await
}
