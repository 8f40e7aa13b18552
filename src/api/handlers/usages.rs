//! `/usages`, `/resource_providers/{uuid}/usages` and `/v1/usages`

use std::sync::Arc;

use super::workloads::visible_project;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::usages::sums::{PageOfSums, UsageKey};
use crate::model::usages::{self, sums};
use crate::policy::rules::{self, PolicyRule};
use crate::search::Snapshot;
use crate::wire::usages as wire;
use crate::wire::usages::sums as native;

pub async fn of_provider(context: RequestContext) -> Result<Reply> {
    let found = usages::fetch_of_provider(context.reader(), context.field("uuid")).await?;
    let reply = context.write(found.usages.len(), move || wire::write_provider(&found));
    Ok(reply.await?.modified(None))
}

/// From the version with consumer types on, usages are grouped by type.
pub async fn total(context: RequestContext) -> Result<Reply> {
    let (query, types) = wire::read_total(context.version, &context.query)?;
    let reader = context.reader();
    let reply = match types {
        None => {
            let found = usages::fetch_total(reader, query).await?;
            context.write(found.len(), move || wire::write_total(&found)).await?
        }
        Some(types) => {
            let found = usages::fetch_by_type(reader, query, types).await?;
            context.write(found.len(), move || wire::write_by_type(&found)).await?
        }
    };
    Ok(reply.modified(None))
}

/// The rules of the routes with amounts of providers.
const SUMS_OVER_PROVIDERS: [&PolicyRule; 3] = [
    &rules::PROVIDERS_LIST,
    &rules::INVENTORIES_LIST,
    &rules::PROVIDER_USAGES,
];

/// The rule of the route with the keys.
fn rule_of(by: &UsageKey) -> Option<&'static PolicyRule> {
    match by {
        UsageKey::Aggregate => Some(&rules::AGGREGATES_LIST),
        UsageKey::Domain(_) => Some(&rules::DOMAINS_LIST),
        UsageKey::ResourceClass | UsageKey::Root | UsageKey::Project | UsageKey::Type => None,
    }
}

/// Sums over consumers go over the caller's projects. Sums over providers need the rules of the routes with the same
/// amounts.
pub async fn list(context: RequestContext) -> Result<Reply> {
    let mut question = native::read_list(&context.query)?;
    let write = |(found, next): PageOfSums| move |form| native::write_list(form, &found, next.as_deref());
    if question.by.is_of_consumers() {
        question.project = visible_project(&context, &rules::USAGES_LIST, question.project)?;
        let sums = sums::over_consumers(context.model(), context.reader(), question);
        return context.write_list(write(context.while_connected(sums).await?)).await;
    }
    context.authorize_parts(SUMS_OVER_PROVIDERS)?;
    context.authorize_parts(rule_of(&question.by))?;
    let (model, caller) = (context.model(), context.caller_key());
    let find = async |snapshot: Arc<Snapshot>| {
        let sums = sums::over_providers(model, snapshot, question, &caller);
        sums.await.map(write)
    };
    context.list_snapshot(find).await
}
