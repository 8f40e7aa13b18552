//! `/resource_providers`.

use super::output::{digits, json, quote};
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

/// How providers are shown in one version, where the service is mounted at one place. What is the same for all of them is
/// made once.
struct Form {
    nested: bool,
    /// What stands before each uuid in the links, and after the last.
    links: Vec<Vec<u8>>,
    end: Vec<u8>,
}

impl Form {
    fn new(version: Version, prefix: &str) -> Form {
        let mut url = json(&format!("{prefix}/resource_providers/"));
        url.pop();
        let shown = LINKS.iter().filter(|(_, first)| version >= *first);
        let shown = shown.map(|(rel, _)| (*rel, format!("/{rel}")));
        let (mut links, mut before) = (Vec::new(), r#","links":["#.to_owned());
        let mut after = String::new();
        for (rel, path) in std::iter::once(("self", String::new())).chain(shown) {
            let lead = format!(r#"{before}{{"rel":"{rel}","href":"#);
            links.push([lead.as_bytes(), &url].concat());
            (before, after) = (format!(r#"{path}"}},"#), format!(r#"{path}"}}]"#));
        }
        Form {
            nested: version >= NESTED_PROVIDERS,
            links,
            end: after.into_bytes(),
        }
    }

    fn write(&self, out: &mut Vec<u8>, provider: &Provider) {
        out.extend_from_slice(br#"{"uuid":"#);
        let begin = out.len() + 1;
        quote(out, &provider.uuid);
        let uuid = begin..out.len() - 1;
        out.extend_from_slice(br#","name":"#);
        quote(out, &provider.name);
        out.extend_from_slice(br#","generation":"#);
        digits(out, provider.generation);
        for link in &self.links {
            out.extend_from_slice(link);
            out.extend_from_within(uuid.clone());
        }
        out.extend_from_slice(&self.end);
        if self.nested {
            out.extend_from_slice(br#","parent_provider_uuid":"#);
            match &provider.parent {
                Some(parent) => quote(out, parent),
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(br#","root_provider_uuid":"#);
            quote(out, &provider.root);
        }
        out.push(b'}');
    }
}

/// Writes one provider; `prefix` is where the service is mounted.
pub fn write_one(version: Version, prefix: &str, provider: &Provider) -> Vec<u8> {
    let mut out = Vec::new();
    Form::new(version, prefix).write(&mut out, provider);
    out
}

/// A list of providers, written piece by piece: what was written is forgotten.
pub struct List {
    form: Form,
    left: std::vec::IntoIter<Provider>,
    /// What stands before the next item.
    lead: &'static str,
}

impl List {
    pub fn new(version: Version, prefix: &str, providers: Vec<Provider>) -> List {
        List {
            form: Form::new(version, prefix),
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
            out.extend_from_slice(self.lead.as_bytes());
            self.form.write(out, &provider);
            self.lead = ",";
        }
        true
    }
}

#[cfg(test)]
mod tests;
