//! `/reshaper`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::wire::reshaper as wire;

pub async fn reshape(call: Call) -> Result<Reply> {
    let reshape = wire::read_post(call.version, &call.body)?;
    call.model().submit(reshape).await?;
    Ok(Reply::no_content())
}
