//! `/v1/candidates`

use super::allocation_candidates;
use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::wire::candidates as wire;

pub async fn list(context: RequestContext) -> Result<Reply> {
    let query = wire::read_list(&context.query)?;
    allocation_candidates::answer(context, query, "/v1/candidates").await
}
