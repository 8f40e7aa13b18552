//! `/v1/claims`

use std::collections::BTreeSet;

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::claims::{self, PlaceAnswer, PlaceRequest};
use crate::model::granted;
use crate::policy::rules;
use crate::search::SearchSettings;
use crate::wire::claims as wire;

pub async fn create(mut context: RequestContext) -> Result<Reply> {
    let defaults = context.defaults(&rules::CLAIMS_CREATE_FOR_OTHERS);
    let query = context.query.clone();
    let request = context
        .read_body(move |body| wire::read(&query, body, &defaults))
        .await?;
    let request = context.read_value(request);
    authorize_projects(&context, &request)?;
    let settings = SearchSettings {
        max: None,
        ceiling: usize::MAX,
        ..context.settings().shuffled_search()
    };
    let caller = context.caller_key();
    let placed = claims::place(context.model(), request.clone(), &settings, &caller);
    match context.while_connected(placed).await? {
        PlaceAnswer::Placed(placed) => {
            let (amounts, is_dry_run) = (placed.amounts(), request.is_dry_run);
            let granted = context.log_text(|model| granted::by_call(model, &placed).filter(|_| !is_dry_run));
            let reply = context.write(amounts, move || wire::write(&request, &placed)).await?;
            Ok(reply.granted(granted))
        }
        PlaceAnswer::Repeated(answer) => Ok(Reply::json(answer.into_bytes())),
    }
}

/// Checks each project other than the token's.
fn authorize_projects(context: &RequestContext, request: &PlaceRequest) -> Result<()> {
    let owners = request
        .consumers
        .iter()
        .filter_map(|consumer| consumer.claim.owner.as_ref());
    let projects: BTreeSet<&str> = owners.map(|owner| owner.project.as_str()).collect();
    let mut others = projects
        .into_iter()
        .filter(|project| context.caller.project_id.as_deref() != Some(*project));
    others.try_for_each(|project| context.authorize_project(&rules::CLAIMS_CREATE_FOR_OTHERS, project))
}
