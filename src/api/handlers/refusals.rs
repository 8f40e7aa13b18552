//! `/v1/refusals`

use super::workloads::visible_project;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::policy::rules;
use crate::wire::refusals as wire;

/// Callers who may not see all projects see their own. Reasons name hosts and their room, so only callers who may
/// explain a query see the reasons.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut filter = wire::read_list(&context.query)?;
    filter.project = visible_project(&context, &rules::REFUSALS_LIST, filter.project)?;
    let shows_reasons = context.authorize_parts([&rules::EXPLAIN_SHOW]).is_ok();
    let refusals = context.model().refusals.list(&filter);
    context
        .write_page(move || wire::write_list(&refusals, shows_reasons))
        .await
}
