//! `/v1/workloads`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::{Error, Result};
use crate::model::granted;
use crate::model::workloads::{self, Put, Report};
use crate::policy::rules::{self, PolicyRule};
use crate::pools::SMALL_BODY_BYTES;
use crate::wire::{read_no_parameters, workloads as wire};

/// Callers who may not see all projects see their own.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut page = wire::read_list(&context.query)?;
    page.project = visible_project(&context, &rules::WORKLOADS_LIST, page.project)?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let reader = context.reader();
    let listed = workloads::list(context.model(), &reader, page, &settings, &caller);
    let (listed, next) = context.while_connected(listed).await?;
    context
        .write_page(move || wire::write_list(&listed, next.as_deref()))
        .await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let uuid = wire::read_uuid(&context.field("workload_uuid"))?;
    let found = workloads::fetch_with_neighbours(context.reader(), uuid.clone()).await?;
    let project = &found.workload.row.project;
    (context.authorize_project(&rules::WORKLOADS_SHOW, project)).map_err(|refusal| hidden(refusal, &uuid))?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let report = workloads::report(context.model(), found, &settings, &caller);
    let report = context.while_connected(report).await?;
    write(&context, report).await
}

pub async fn update(mut context: RequestContext) -> Result<Reply> {
    let defaults = context.defaults(&rules::WORKLOADS_UPDATE_FOR_OTHERS);
    let (uuid, query) = (context.field("workload_uuid"), context.query.clone());
    let request = context
        .read_body(move |body| wire::read_put(&uuid, &query, body, &defaults))
        .await?;
    put(&context, request).await
}

pub async fn patch(mut context: RequestContext) -> Result<Reply> {
    let defaults = context.defaults(&rules::WORKLOADS_UPDATE_FOR_OTHERS);
    let (uuid, query) = (wire::read_uuid(&context.field("workload_uuid"))?, context.query.clone());
    let stored = workloads::fetch(context.current_reader(), uuid.clone()).await?;
    authorize_owner(&context, &stored.row.project).map_err(|refusal| hidden(refusal, &uuid))?;
    let request = context
        .read_patch(stored.row.body.len(), move |body| {
            wire::read_patch(&stored.row, &query, body, &defaults)
        })
        .await?;
    put(&context, request).await
}

async fn put(context: &RequestContext, request: Put) -> Result<Reply> {
    authorize_owner(context, &request.owner.project)?;
    let (settings, caller) = (context.settings().workload_search(), context.caller_key());
    let report = workloads::put(context.model(), request, &settings, &caller);
    let report = context.while_connected(report).await?;
    let granted = context.log_text(|model| granted::to_workload(model, &report));
    Ok(write(context, report).await?.granted(granted))
}

/// A report of more replicas is written on another thread.
const FEW_REPLICAS: usize = 100;

async fn write(context: &RequestContext, report: Report) -> Result<Reply> {
    if report.replicas.len() > FEW_REPLICAS || report.row.body.len() > SMALL_BODY_BYTES {
        return context.write_long(move || wire::write_one(&report)).await;
    }
    Ok(Reply::json(wire::write_one(&report)))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let (generation, how) = wire::read_delete(&context.query)?;
    let uuid = wire::read_uuid(&context.field("workload_uuid"))?;
    let stored = workloads::fetch(context.current_reader(), uuid.clone()).await?;
    authorize_owner(&context, &stored.row.project).map_err(|refusal| hidden(refusal, &uuid))?;
    let deleted = workloads::delete(context.model(), &uuid, generation, how, &context.caller_key()).await?;
    let released = context.log_text(|model| granted::by_deletion(model, &deleted));
    Ok(Reply::no_content().released(released))
}

/// The project whose workloads the caller sees, if it names `project` or none; `None`: those of all projects.
///
/// # Errors
/// [`Error::Forbidden`] if the caller names a project that it may not see.
pub fn visible_project(context: &RequestContext, rule: &PolicyRule, project: Option<String>) -> Result<Option<String>> {
    if let Some(project) = project {
        context.authorize_project(rule, &project)?;
        return Ok(Some(project));
    }
    let sees_all = context.authorize_project(rule, "").is_ok();
    Ok((!sees_all).then(|| context.caller.project_id.clone().unwrap_or_default()))
}

/// Checks a project other than the token's.
fn authorize_owner(context: &RequestContext, project: &str) -> Result<()> {
    if context.caller.project_id.as_deref() == Some(project) {
        return Ok(());
    }
    context.authorize_project(&rules::WORKLOADS_UPDATE_FOR_OTHERS, project)
}

/// Hides a workload of a foreign project: the caller gets the answer for an unknown uuid.
fn hidden(refusal: Error, uuid: &str) -> Error {
    match refusal {
        Error::Forbidden { .. } => Error::NotFound {
            noun: format!("workload {uuid}"),
        },
        other => other,
    }
}
