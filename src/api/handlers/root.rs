//! `/`: the versions that are served.

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::wire::root as wire;

/// `GET /`. The link is relative, so it is right under any base URL.
pub async fn show(_: RequestContext) -> Result<Reply> {
    Ok(Reply::json(wire::write()).modified(None))
}
