//! `/v1/`: the operations of the native API.

use crate::api::http::reply::Reply;
use crate::api::http::request_context::RequestContext;
use crate::api::openapi;
use crate::api::route::{Family, Route};
use crate::error::Result;
use crate::wire::read_no_parameters;
use crate::wire::v1::{self as wire, Operation};

/// `GET /v1/`: every operation of the native API, in the order of the route table.
pub async fn show(context: RequestContext, routes: &'static [Route]) -> Result<Reply> {
    read_no_parameters(&context.query)?;
    let native = routes.iter().filter(|route| route.family == Family::Native);
    let operations: Vec<Operation> = native.map(operation).collect();
    let description = format!("{}{}", context.prefix(), openapi::URL);
    Ok(Reply::json(wire::write(&operations, &description)))
}

fn operation(route: &'static Route) -> Operation {
    Operation {
        method: route.method.as_str(),
        path: route.path,
        summary: openapi::summary(route),
        rule: route.rule.map(|rule| rule.name),
    }
}
