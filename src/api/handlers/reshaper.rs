//! `/reshaper`

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::error::Result;
use crate::model::granted;
use crate::wire::reshaper as wire;

pub async fn reshape(mut context: RequestContext) -> Result<Reply> {
    let version = context.version;
    let read = move |body: &[u8]| wire::read_post(version, body);
    let ((), granted) = context.submit_grant(read, granted::by_reshape).await?;
    Ok(Reply::no_content().granted(granted))
}
