//! `/v1/limits`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::limits::{self, Set};
use crate::wire::{limits as wire, read_no_parameters};

pub async fn list(context: RequestContext) -> Result<Reply> {
    let page = wire::read_list(&context.query)?;
    let (found, next) = limits::fetch_list(context.reader(), page).await?;
    context
        .write(found.len(), move || wire::write_list(&found, next.as_deref()))
        .await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let found = limits::fetch(context.reader(), context.field("class")).await?;
    Ok(Reply::json(wire::write_one(&found)))
}

pub async fn set(mut context: RequestContext) -> Result<Reply> {
    let (class, query) = (context.field("class"), context.query.clone());
    let read = context.read_body(move |body| wire::read_set(&class, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

pub async fn patch(mut context: RequestContext) -> Result<Reply> {
    let (class, query) = (context.field("class"), context.query.clone());
    let shown = limits::fetch(context.current_reader(), class).await?;
    let read = context.read_body(move |body| wire::read_patch(&shown, &query, body));
    let set = read.await?;
    submit(&context, set).await
}

async fn submit(context: &RequestContext, (set, is_dry_run): (Set, bool)) -> Result<Reply> {
    let limit = context.submit_or_foresee(set, is_dry_run).await?;
    Ok(Reply::json(wire::write_one(&limit)))
}
