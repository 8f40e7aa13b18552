//! `/v1/explain`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::explain::report;
use crate::policy::rules;
use crate::wire::explain as wire;

pub async fn show(context: RequestContext) -> Result<Reply> {
    let may_claim = context.authorize_parts([&rules::CLAIMS_CREATE]).is_ok();
    let question = wire::read_show(&context.query, may_claim)?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let found = report::report(context.model(), question, settings, &caller);
    let explained = context.while_connected(found).await?;
    context.write_page(move || wire::write_show(&explained)).await
}
