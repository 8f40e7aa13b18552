//! `/reshaper`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::granted;
use crate::wire::reshaper as wire;

pub async fn reshape(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let reshape = context.read_body(move |body| wire::read_post(version, body)).await?;
    let granted = context.log_text(|model| Some(granted::by_reshape(model, &reshape)));
    context.submit(reshape).await?;
    Ok(Reply::no_content().granted(granted))
}
