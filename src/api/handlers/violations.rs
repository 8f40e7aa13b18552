//! `/v1/violations`

use super::workloads::visible_project;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::violations::JudgeJob;
use crate::policy::rules;
use crate::wire::violations as wire;
use crate::wire::workloads::read_stored;

/// Many workloads are judged, so none of it runs on the worker, whose other requests would wait.
const SHORT_ROUNDS: u64 = 0;

/// Callers who may not see all projects see their own.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut page = wire::read_list(&context.query)?;
    page.project = visible_project(&context, &rules::VIOLATIONS_LIST, page.project)?;
    let search = async |job: JudgeJob| {
        let search = move |interrupt: &_| job.run(interrupt);
        context.search(SHORT_ROUNDS, search).await
    };
    let (model, settings) = (context.model(), context.settings().workload_search());
    let (found, next) = model
        .violations(|| context.reader(), page, read_stored, &settings, search)
        .await?;
    Ok(Reply::json(wire::write_list(&found, next.as_deref())))
}
