//! `/traits` and `/resource_providers/{uuid}/traits`

use super::call::Call;
use super::reply::Reply;
use crate::error::Result;
use crate::model::traits::{self, Clear, Delete, ProviderTraits};
use crate::wire::traits as wire;

pub async fn list(call: Call) -> Result<Reply> {
    let filter = wire::read_list(call.version, &call.query)?;
    let found = call.reader().ask(move |conn| traits::list(conn, &filter)).await?;
    let newest = found.iter().map(|it| it.modified).max();
    Ok(Reply::json(wire::write_list(&found)).modified(newest))
}

pub async fn show(call: Call) -> Result<Reply> {
    let name = call.field("name").to_owned();
    let found = call.reader().ask(move |conn| traits::show(conn, &name)).await?;
    Ok(Reply::no_content().modified(found.modified))
}

pub async fn ensure(call: Call) -> Result<Reply> {
    let ensure = wire::read_ensure(call.version, call.field("name"))?;
    let url = call.location(&format!("/traits/{}", ensure.name));
    let ensured = call.model().submit(ensure).await?;
    Ok(Reply::created(ensured.created).location(url).modified(ensured.since))
}

pub async fn delete(call: Call) -> Result<Reply> {
    call.model()
        .submit(Delete {
            name: call.field("name").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

pub async fn list_of_provider(call: Call) -> Result<Reply> {
    let uuid = call.field("uuid").to_owned();
    let found = call.reader().traits(uuid).await?;
    Ok(shown(&found))
}

/// Unlike elsewhere, the body is judged before the provider is looked for.
pub async fn replace_of_provider(call: Call) -> Result<Reply> {
    let replace = wire::read_replace(call.version, call.field("uuid"), &call.body)?;
    Ok(shown(&call.model().submit(replace).await?))
}

pub async fn clear_of_provider(call: Call) -> Result<Reply> {
    call.model()
        .submit(Clear {
            provider: call.field("uuid").to_owned(),
        })
        .await?;
    Ok(Reply::no_content())
}

fn shown(found: &ProviderTraits) -> Reply {
    let newest = found.traits.iter().map(|it| it.modified).max();
    Reply::json(wire::write_provider(found)).modified(newest)
}
