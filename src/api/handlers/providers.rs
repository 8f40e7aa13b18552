//! `/v1/providers`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::providers::{self, DescribeAll};
use crate::wire::{providers as wire, read_no_parameters};

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let (found, next) = providers::fetch_list(context.reader(), page.after, page.limit).await?;
    context
        .write_page(move || wire::write_list(&found, next.as_deref()))
        .await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let found = providers::fetch(context.reader(), context.field("uuid")).await?;
    Ok(Reply::json(wire::write_one(&found)))
}

pub async fn describe(mut context: RequestContext) -> Result<Reply> {
    let (uuid, query) = (context.field("uuid"), context.query.clone());
    let read = context.read_body(move |body| wire::read_describe(&uuid, &query, body));
    let command = read.await?;
    submit(&context, command).await
}

pub async fn patch(mut context: RequestContext) -> Result<Reply> {
    let (uuid, query) = (context.field("uuid"), context.query.clone());
    let shown = providers::fetch(context.current_reader(), uuid).await?;
    let read = context.read_body(move |body| wire::read_patch(&shown, &query, body));
    let command = read.await?;
    submit(&context, command).await
}

async fn submit(context: &RequestContext, (command, is_dry_run): (DescribeAll, bool)) -> Result<Reply> {
    let described = context.submit_or_foresee(command, is_dry_run).await?;
    Ok(Reply::json(described.first().map(wire::write_one).unwrap_or_default()))
}

pub async fn describe_all(mut context: RequestContext) -> Result<Reply> {
    let query = context.query.clone();
    let read = context.read_body(move |body| wire::read_describe_all(&query, body));
    let (command, is_dry_run) = read.await?;
    let described = context.submit_or_foresee(command, is_dry_run).await?;
    context.write_long(move || wire::write_list(&described, None)).await
}

pub async fn set_states(mut context: RequestContext) -> Result<Reply> {
    let (query, caller) = (context.query.clone(), context.caller_key());
    let (wanted, is_dry_run) = context.read_body(move |body| wire::read_states(&query, body)).await?;
    let described = providers::set_states(context.model(), wanted, is_dry_run, &caller).await?;
    context.write_long(move || wire::write_list(&described, None)).await
}
