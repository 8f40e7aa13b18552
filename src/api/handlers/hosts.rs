//! `/v1/hosts`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::hosts;
use crate::policy::rules;
use crate::wire::hosts::{self as wire, HostReporter};
use crate::wire::read_no_parameters;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let question = wire::read_list(&context.query)?;
    let page = hosts::fetch_list(context.model(), question);
    let page = context.while_connected(page).await?;
    context.write(page.hosts.len(), move || wire::write_list(&page)).await
}

pub async fn show(context: RequestContext) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let found = hosts::fetch(context.model(), context.field("uuid")).await?;
    Ok(Reply::json(wire::write_one(&found)))
}

pub async fn report(mut context: RequestContext) -> Result<Reply> {
    let (uuid, query) = (context.field("uuid"), context.query.clone());
    let reporter = HostReporter {
        user: context.user(),
        may_report_all: context.authorize_project(&rules::HOSTS_REPORT_FOR_OTHERS, "").is_ok(),
    };
    let read = context.read_body(move |body| wire::read_report(&uuid, &query, body, reporter));
    let (report, is_dry_run) = read.await?;
    let reported = hosts::report(context.model(), &context.caller_key(), report, is_dry_run).await?;
    Ok(Reply::json(wire::write_reported(&reported)))
}
