//! `/reshaper`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::wire::reshaper as wire;

pub async fn reshape(context: RequestContext) -> Result<Reply> {
    let reshape = wire::read_post(context.version, &context.body)?;
    context.model().submit(reshape).await?;
    Ok(Reply::no_content())
}
