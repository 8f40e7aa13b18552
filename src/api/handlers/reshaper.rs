//! `/reshaper`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::wire::reshaper as wire;

pub async fn reshape(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    context.submit_body(move |body| wire::read_post(version, body)).await?;
    Ok(Reply::no_content())
}
