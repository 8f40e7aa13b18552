//! `/v1/providers`

use std::sync::Arc;

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::providers::{self, DescribeAll, ProviderField, ProviderListQuestion};
use crate::policy::rules::{self, PolicyRule};
use crate::search::Snapshot;
use crate::wire::{providers as wire, read_no_parameters};

pub async fn list(context: RequestContext) -> Result<Reply> {
    let question = wire::read_list(&context.query)?;
    let fields = question.fields.clone();
    if !fields.is_empty() || question.has_filter() {
        return list_of_snapshot(&context, question, fields).await;
    }
    let (found, next) = providers::fetch_list(context.reader(), question.after, question.limit).await?;
    context
        .write_list(move |form| wire::write_list(form, &found, next.as_deref()))
        .await
}

async fn list_of_snapshot(
    context: &RequestContext,
    question: ProviderListQuestion,
    fields: Vec<ProviderField>,
) -> Result<Reply> {
    context.authorize_parts(fields.iter().filter_map(|field| rule_of(*field)))?;
    let (strict, caller) = (context.settings().search.strict_step, context.caller_key());
    let is_of_tables = fields.is_empty() || fields.contains(&ProviderField::Allocations);
    let model = context.model();
    let find = async |snapshot: Arc<Snapshot>| providers::fetch_page(model, snapshot, question, strict, &caller).await;
    if !is_of_tables {
        let find = async |snapshot: Arc<Snapshot>| {
            let page = find(snapshot).await?;
            Ok(move |form| wire::write_parts(form, &page, &fields))
        };
        return context.list_snapshot(find).await;
    }
    let page = async { find(model.snapshot().await?).await };
    let page = context.while_connected(page).await?;
    if !fields.is_empty() {
        return context
            .write_list(move |form| wire::write_parts(form, &page, &fields))
            .await;
    }
    let described = providers::fetch_described(context.current_reader(), page);
    let (described, next) = context.while_connected(described).await?;
    context
        .write_list(move |form| wire::write_list(form, &described, next.as_deref()))
        .await
}

/// The rule of the route of OpenStack with this part of a provider. The state is part of a description.
fn rule_of(field: ProviderField) -> Option<&'static PolicyRule> {
    match field {
        ProviderField::Inventories => Some(&rules::INVENTORIES_LIST),
        ProviderField::Usages => Some(&rules::PROVIDER_USAGES),
        ProviderField::Traits => Some(&rules::PROVIDER_TRAITS_LIST),
        ProviderField::Aggregates => Some(&rules::AGGREGATES_LIST),
        ProviderField::Allocations => Some(&rules::PROVIDER_ALLOCATIONS_LIST),
        ProviderField::State => None,
    }
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
    context.write_long(move || wire::write_written(&described)).await
}

pub async fn set_states(mut context: RequestContext) -> Result<Reply> {
    let (query, caller) = (context.query.clone(), context.caller_key());
    let (wanted, is_dry_run) = context.read_body(move |body| wire::read_states(&query, body)).await?;
    let described = providers::set_states(context.model(), wanted, is_dry_run, &caller).await?;
    context.write_long(move || wire::write_written(&described)).await
}
