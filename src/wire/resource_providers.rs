//! Parses the requests to `/resource_providers`, and serializes the answers. A list is written in chunks.

use std::iter;
use std::sync::Arc;
use std::vec::IntoIter;

use super::output::{Link, Out, WordTemplate, json};
use super::provider_texts::ProviderTexts;
use super::query::Query;
use super::steps::Steps;
use super::value::Json;
use super::{filters, uuid};
use crate::error::Result;
use crate::model::resource_providers::{Create, NewParent, Provider, Update};
use crate::search::{ProviderQuery, Slot, Snapshot};
use crate::version::{self, NESTED_PROVIDERS, REPARENT, Version};

const SCHEMAS: &str = include_str!("schemas/resource_providers.json");
static POST: Steps = Steps::of_body(SCHEMAS, "post");
static PUT: Steps = Steps::of_body(SCHEMAS, "put");
static LIST: Steps = Steps::of_query(SCHEMAS, "list");

/// The links of a provider, except `self`, each with the first version of the link.
const LINKS: [(&str, Version); 5] = [
    ("inventories", Version::MIN),
    ("usages", Version::MIN),
    ("aggregates", version::AGGREGATES),
    ("traits", version::TRAITS),
    ("allocations", version::ALLOCATIONS_LINK),
];

/// Reads `POST /resource_providers`. A provider without a uuid gets a random uuid.
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

/// The spelling of a parent's uuid is kept.
fn parent(value: &Json) -> Option<String> {
    Some(value.text()).filter(|uuid| !uuid.is_empty()).map(str::to_owned)
}

/// Reads the query string of `GET /resource_providers`.
pub fn read_list(version: Version, query: &str) -> Result<ProviderQuery> {
    let query = Query::read(&LIST, version, query)?;
    let text = |name| query.last(name).map(str::to_owned);
    Ok(ProviderQuery {
        members: filters::member_of(version, &query, "")?,
        traits: filters::required(version, &query, "")?,
        // An empty name does not filter.
        name: text("name").filter(|name| !name.is_empty()),
        uuid: text("uuid"),
        in_tree: text("in_tree"),
        resources: query.last("resources").map_or(Ok(Vec::new()), filters::resources)?,
    })
}

/// The format of providers in a version and under a path prefix. The fields common to all providers are made once.
struct ProviderFormat {
    nested: bool,
    links: WordTemplate,
}

/// The fields of a provider, ready to be written: texts are in quotes.
struct ProviderFields<'a> {
    uuid: &'a [u8],
    name: &'a [u8],
    generation: i64,
    /// `None` for a root.
    parent: Option<&'a [u8]>,
    root: &'a [u8],
}

impl ProviderFormat {
    fn new(version: Version, prefix: &str) -> ProviderFormat {
        let visible = LINKS.iter().filter(|(_, first)| version >= *first);
        let paths = visible.map(|(rel, _)| (*rel, format!("/{rel}")));
        let links = iter::once(("self", String::new()))
            .chain(paths)
            .map(|(rel, path)| Link {
                rel,
                // A DEL in the place of the uuid: no header and no URL prefix has a DEL, and JSON has no escape for it.
                href: format!("{prefix}/resource_providers/\x7f{path}"),
            });
        let text = json(&links.collect::<Vec<_>>());
        ProviderFormat {
            nested: version >= NESTED_PROVIDERS,
            links: WordTemplate::of(&text, b"\x7f"),
        }
    }

    fn write(&self, out: &mut Vec<u8>, provider: &ProviderFields<'_>) {
        out.put(br#"{"uuid":"#);
        out.put(provider.uuid);
        out.put(br#","name":"#);
        out.put(provider.name);
        out.put(br#","generation":"#);
        out.digits(provider.generation);
        let uuid = &provider.uuid[1..provider.uuid.len() - 1];
        out.put(br#","links":"#);
        self.links.fill(out, uuid);
        if self.nested {
            out.put(br#","parent_provider_uuid":"#);
            out.put(provider.parent.unwrap_or(b"null"));
            out.put(br#","root_provider_uuid":"#);
            out.put(provider.root);
        }
        out.put(b"}");
    }
}

/// Writes a single provider. `prefix` is the path prefix of the service.
pub fn write_one(version: Version, prefix: &str, provider: &Provider) -> Vec<u8> {
    let quoted = |text: &str| json(&text);
    let (uuid, name, root) = (quoted(&provider.uuid), quoted(&provider.name), quoted(&provider.root));
    let parent = provider.parent.as_deref().map(quoted);
    let fields = ProviderFields {
        uuid: &uuid,
        name: &name,
        generation: provider.generation,
        parent: parent.as_deref(),
        root: &root,
    };
    let mut out = Vec::new();
    ProviderFormat::new(version, prefix).write(&mut out, &fields);
    out
}

/// A list of providers, written in chunks.
pub struct List {
    format: ProviderFormat,
    snapshot: Arc<Snapshot>,
    remaining: IntoIter<Slot>,
    /// The text before the next item.
    lead: &'static str,
}

impl List {
    pub fn new(version: Version, prefix: &str, snapshot: Arc<Snapshot>, found: Vec<Slot>) -> List {
        List {
            format: ProviderFormat::new(version, prefix),
            snapshot,
            remaining: found.into_iter(),
            lead: r#"{"resource_providers":["#,
        }
    }

    /// Writes the next items until `out` has at least `length` bytes. Returns false at the end of the list.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> bool {
        while out.len() < length {
            let Some(slot) = self.remaining.next() else {
                // An empty list also needs the opening text.
                let lead = if self.lead == "," { "" } else { self.lead };
                out.put(lead.as_bytes());
                out.put(b"]}");
                return false;
            };
            out.put(self.lead.as_bytes());
            self.write_next(out, slot);
            self.lead = ",";
        }
        true
    }

    fn write_next(&self, out: &mut Vec<u8>, slot: Slot) {
        let snapshot = &*self.snapshot;
        let texts = ProviderTexts::of(snapshot, slot);
        let fields = ProviderFields {
            uuid: texts.own_uuid(slot),
            name: texts.own_name(slot),
            generation: snapshot.generation(slot),
            parent: snapshot
                .cached_parent(slot)
                .map(|parent| ProviderTexts::uuid(snapshot, parent)),
            root: ProviderTexts::uuid(snapshot, snapshot.cached_root(slot)),
        };
        self.format.write(out, &fields);
    }
}

#[cfg(test)]
mod tests;
