//! `/v1/types`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::types::{self, Set};
use crate::wire::{read_no_parameters, types as wire};

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let (found, next) = types::fetch_list(context.reader(), page).await?;
    context
        .write_page(move || wire::write_list(&found, next.as_deref()))
        .await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let found = types::fetch(context.reader(), name(&context)?).await?;
    Ok(Reply::json(wire::write_one(&found)))
}

pub async fn set(mut context: RequestContext) -> Result<Reply> {
    let (name, query) = (name(&context)?, context.query.clone());
    let read = context.read_body(move |body| wire::read_set(&name, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

pub async fn patch(mut context: RequestContext) -> Result<Reply> {
    let (name, query) = (name(&context)?, context.query.clone());
    let shown = types::fetch(context.current_reader(), name).await?;
    let read = context.read_body(move |body| wire::read_patch(&shown, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

async fn submit(context: &RequestContext, (set, is_dry_run): (Set, bool)) -> Result<Reply> {
    let shown = context.submit_or_foresee(set, is_dry_run).await?;
    Ok(Reply::json(wire::write_one(&shown)))
}

pub async fn delete(context: RequestContext) -> Result<Reply> {
    let (delete, is_dry_run) = wire::read_delete(name(&context)?, &context.query)?;
    context.submit_or_foresee(delete, is_dry_run).await?;
    Ok(Reply::no_content())
}

fn name(context: &RequestContext) -> Result<String> {
    wire::read_name(context.text_field("name")?)
}
