//! `/v1/domains`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::domains::{self, Set};
use crate::search::Domain;
use crate::wire::{domains as wire, read_no_parameters};

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let (dimension, caller) = (page.dimension.clone(), context.caller_key());
    let found = domains::list(context.model(), page, &caller);
    let (found, next) = context.while_connected(found).await?;
    context
        .write_page(move || wire::write_list(&dimension, &found, next.as_deref()))
        .await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let found = domains::fetch(context.reader(), domain(&context)?).await?;
    Ok(Reply::json(wire::write_declared(&found)))
}

pub async fn set(mut context: RequestContext) -> Result<Reply> {
    let (domain, query) = (domain(&context)?, context.query.clone());
    let read = context.read_body(move |body| wire::read_set(&domain, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

pub async fn patch(mut context: RequestContext) -> Result<Reply> {
    let (domain, query) = (domain(&context)?, context.query.clone());
    let shown = domains::fetch(context.current_reader(), domain).await?;
    let read = context.read_body(move |body| wire::read_patch(&shown, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

async fn submit(context: &RequestContext, (set, is_dry_run): (Set, bool)) -> Result<Reply> {
    let shown = context.submit_or_foresee(set, is_dry_run).await?;
    Ok(Reply::json(wire::write_declared(&shown)))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let (delete, is_dry_run) = wire::read_delete(&domain(&context)?, &context.query)?;
    context.submit_or_foresee(delete, is_dry_run).await?;
    Ok(Reply::no_content())
}

fn domain(context: &RequestContext) -> Result<Domain> {
    wire::read_domain(&context.text_field("dimension")?, &context.text_field("path")?)
}
