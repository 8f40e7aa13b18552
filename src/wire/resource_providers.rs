//! `/resource_providers`.

use serde::Serialize;

use super::output::{Link, append, json, since};
use super::query::Query;
use super::schema::Steps;
use super::value::Value;
use super::{filters, uuid};
use crate::error::Result;
use crate::model::resource_providers::{Create, NewParent, Provider, Update};
use crate::search::ProviderQuery;
use crate::version::{self, NESTED_PROVIDERS, REPARENT, Version};

const SCHEMAS: &str = include_str!("schemas/resource_providers.json");
static POST: Steps = Steps::of_body(SCHEMAS, "post");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");
static LIST: Steps = Steps::of_query(SCHEMAS, "list");

/// The links of a provider beside the one to itself, and since when they are shown.
const LINKS: [(&str, Version); 5] = [
    ("inventories", Version::MIN),
    ("usages", Version::MIN),
    ("aggregates", version::AGGREGATES),
    ("traits", version::TRAITS),
    ("allocations", version::ALLOCATIONS_LINK),
];

/// Reads `POST /resource_providers`. A provider without a uuid gets a random one.
pub fn read_create(version: Version, body: &[u8]) -> Result<Create> {
    let body = POST.read(version, body)?;
    Ok(Create {
        uuid: uuid::canonical(body.field("uuid").text()).unwrap_or_else(|| ::uuid::Uuid::new_v4().to_string()),
        name: body.field("name").text().to_owned(),
        parent: parent(body.field("parent_provider_uuid")),
    })
}

/// Reads `PUT /resource_providers/{uuid}`.
pub fn read_update(version: Version, uuid: &str, body: &[u8]) -> Result<Update> {
    let body = PUT.read(version, body)?;
    Ok(Update {
        uuid: uuid.to_owned(),
        name: body.field("name").text().to_owned(),
        parent: body
            .get("parent_provider_uuid")
            .map_or(NewParent::Keep, |value| NewParent::Set(parent(value))),
        may_reparent: version >= REPARENT,
    })
}

/// A parent is looked up as it is spelled.
fn parent(value: &Value) -> Option<String> {
    Some(value.text()).filter(|uuid| !uuid.is_empty()).map(str::to_owned)
}

/// Reads the query string of `GET /resource_providers`.
pub fn read_list(version: Version, query: &str) -> Result<ProviderQuery> {
    let query = Query::read(&LIST, version, query)?;
    let text = |name| query.last(name).map(str::to_owned);
    Ok(ProviderQuery {
        members: filters::member_of(version, &query, "")?,
        traits: filters::required(version, &query, "")?,
        // An empty name asks for none in particular.
        name: text("name").filter(|name| !name.is_empty()),
        uuid: text("uuid"),
        in_tree: text("in_tree"),
        resources: query.last("resources").map_or(Ok(Vec::new()), filters::resources)?,
    })
}

#[derive(Serialize)]
struct One<'a> {
    uuid: &'a str,
    name: &'a str,
    generation: i64,
    links: Vec<Link<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_provider_uuid: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_provider_uuid: Option<&'a str>,
}

fn one<'a>(version: Version, prefix: &str, provider: &'a Provider) -> One<'a> {
    let url = format!("{prefix}/resource_providers/{}", provider.uuid);
    let links = LINKS.iter().filter(|(_, first)| version >= *first);
    let links = links.map(|(rel, _)| Link {
        rel,
        href: format!("{url}/{rel}"),
    });
    One {
        uuid: &provider.uuid,
        name: &provider.name,
        generation: provider.generation,
        links: std::iter::once(Link {
            rel: "self",
            href: url.clone(),
        })
        .chain(links)
        .collect(),
        parent_provider_uuid: since(version, NESTED_PROVIDERS, provider.parent.as_deref()),
        root_provider_uuid: since(version, NESTED_PROVIDERS, &provider.root),
    }
}

/// Writes one provider; `prefix` is where the service is mounted.
pub fn write_one(version: Version, prefix: &str, provider: &Provider) -> Vec<u8> {
    json(&one(version, prefix, provider))
}

/// A list of providers, written piece by piece: what was written is forgotten.
pub struct List {
    version: Version,
    prefix: String,
    left: std::vec::IntoIter<Provider>,
    /// What stands before the next item.
    lead: &'static str,
}

impl List {
    pub fn new(version: Version, prefix: &str, providers: Vec<Provider>) -> List {
        List {
            version,
            prefix: prefix.to_owned(),
            left: providers.into_iter(),
            lead: r#"{"resource_providers":["#,
        }
    }

    /// Writes on until `out` has that `length`, or a little more. False where that was all.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> bool {
        while out.len() < length {
            let Some(provider) = self.left.next() else {
                // The list of nobody has its beginning too.
                let lead = if self.lead == "," { "" } else { self.lead };
                out.extend_from_slice(lead.as_bytes());
                out.extend_from_slice(b"]}");
                return false;
            };
            append(out, self.lead, &one(self.version, &self.prefix, &provider));
            self.lead = ",";
        }
        true
    }
}

#[cfg(test)]
mod tests;
