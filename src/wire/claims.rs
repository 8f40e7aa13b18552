//! Reads `POST /v1/claims`.

mod answer;

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};

use ::uuid::Uuid;
use answer::write_text;
pub use answer::{refused_consumers, write};

use super::filters::Zero;
use super::query::Query;
use super::schema::NativeSchema;
use super::value::Value;
use super::{allocations, candidates, uuid};
use crate::error::{Error, Result};
use crate::model::allocations::{ConsumerClaim, Expected, Owner, Takeover};
use crate::model::claims::memory::{ClaimId, RepeatableCall};
use crate::model::claims::{ClaimCandidate, ClaimQuery, PlaceRequest, RequestedConsumer, Wanted};
use crate::search::{Purpose, Rank};

const SCHEMAS: &str = include_str!("schemas/claims.json");
static CREATE: NativeSchema = NativeSchema::of_body(SCHEMAS, "create");
static PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "create_parameters");

/// The most consumers of a call.
const MAX_CONSUMERS: usize = 1_000;
/// The most candidates of a consumer.
const MAX_CANDIDATES: usize = 1_000;
/// The most candidates of all consumers of a call together.
const MAX_CANDIDATES_OF_CALL: usize = 20_000;

/// The type of a consumer whose request names none.
const DEFAULT_TYPE: &str = "INSTANCE";

/// Values for members that a request leaves out, and the caller's rights.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub takeover: Takeover,
    /// Of the token.
    pub project: Option<String>,
    /// Of the token.
    pub user: Option<String>,
    pub rank: Option<Rank>,
}

fn bad_request<T>(detail: String) -> Result<T> {
    Err(Error::BadRequest { detail })
}

/// Reads `POST /v1/claims`.
///
/// # Errors
/// The first member that is wrong, by its path.
pub fn read(query: &str, raw_body: &[u8], defaults: &Defaults) -> Result<PlaceRequest> {
    let parameters = Query::read_native(&PARAMETERS, query)?;
    let body = CREATE.read(raw_body)?;
    let id = body.get("id").and_then(|id| uuid::canonical(id.text()));
    let repeatable = id.map(|id| repeatable(id, &body, raw_body, defaults));
    let purpose = purpose(body.get("purpose").map(Value::text));
    let is_atomic = !matches!(body.field("atomic"), Value::Bool(false));
    let consumers = body.into_field("consumers").into_items();
    check_count("consumers", consumers.len(), MAX_CONSUMERS)?;
    let mut reader = Reader {
        defaults,
        uuids: HashSet::new(),
        candidates: 0,
        queries: Vec::new(),
        known_queries: HashMap::new(),
    };
    // The value of a consumer is freed once it is read.
    let consumers = consumers.into_iter().enumerate();
    let consumers: Vec<RequestedConsumer> = consumers
        .map(|(at, consumer)| reader.consumer(&format!("consumers[{at}]"), &consumer))
        .collect::<Result<_>>()?;
    Ok(PlaceRequest {
        consumers,
        queries: reader.queries,
        purpose,
        is_atomic,
        is_dry_run: parameters.last("dry_run") == Some("true"),
        repeatable,
    })
}

/// The purpose of this name, which the schema has checked.
pub fn purpose(name: Option<&str>) -> Purpose {
    name.and_then(Purpose::by_name).unwrap_or_default()
}

/// A body is another call if it differs by more than white space, the order of members, and escapes.
fn repeatable(id: String, body: &Value, raw_body: &[u8], defaults: &Defaults) -> RepeatableCall {
    RepeatableCall {
        id: ClaimId {
            id,
            project: defaults.project.clone().unwrap_or_default(),
        },
        digest: digest(Canonical(body).to_string().as_bytes()),
        digest_of_bytes: digest(raw_body),
        write: write_text,
    }
}

fn digest(bytes: &[u8]) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, bytes).to_string()
}

/// A body as a text that is the same for each order of members.
struct Canonical<'a>(&'a Value);

impl Display for Canonical<'_> {
    fn fmt(&self, text: &mut Formatter<'_>) -> fmt::Result {
        let separator = |at| if at == 0 { "" } else { "," };
        match self.0 {
            Value::Array(items) => {
                text.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(text, "{}{}", separator(at), Canonical(item))?;
                }
                text.write_str("]")
            }
            Value::Object(object) => {
                let mut members: Vec<(&str, &Value)> = object.iter().collect();
                members.sort_unstable_by_key(|(name, _)| *name);
                text.write_str("{")?;
                for (at, (name, value)) in members.into_iter().enumerate() {
                    write!(text, "{}{name:?}:{}", separator(at), Canonical(value))?;
                }
                text.write_str("}")
            }
            Value::Null => text.write_str("null"),
            Value::Bool(truth) => write!(text, "{truth}"),
            Value::Int(number) => write!(text, "{number}"),
            Value::BigInt(digits) => text.write_str(digits),
            Value::Float(number) => write!(text, "{number:?}"),
            Value::String(string) => write!(text, "{string:?}"),
        }
    }
}

fn check_count(path: &str, count: usize, max: usize) -> Result<()> {
    if count <= max {
        return Ok(());
    }
    bad_request(format!("{path} has {count} items; at most {max} are allowed."))
}

/// Reads the consumers of a call.
struct Reader<'a> {
    defaults: &'a Defaults,
    /// The consumers so far.
    uuids: HashSet<String>,
    /// The number of candidates so far.
    candidates: usize,
    queries: Vec<ClaimQuery>,
    /// The indexes of the queries, by their text and rank. The consumers of a gang mostly repeat one.
    known_queries: HashMap<(String, Option<String>), usize>,
}

impl Reader<'_> {
    fn consumer(&mut self, path: &str, consumer: &Value) -> Result<RequestedConsumer> {
        let text = |name| Some(consumer.field(name).text().to_owned()).filter(|text| !text.is_empty());
        let uuid = uuid::canonical(consumer.field("uuid").text()).unwrap_or_default();
        if !self.uuids.insert(uuid.clone()) {
            return bad_request(format!(
                "{path}.uuid: {uuid} occurs twice; a call names each consumer once."
            ));
        }
        let of_token = |name: &str, given: Option<String>, default: &Option<String>| match given.or(default.clone()) {
            Some(text) => Ok(text),
            None => bad_request(format!("{path}.{name} is required, because the token has none.")),
        };
        let owner = Owner {
            project: of_token("project_id", text("project_id"), &self.defaults.project)?,
            user: of_token("user_id", text("user_id"), &self.defaults.user)?,
        };
        let generation = match consumer.field("generation") {
            Value::Null => Expected::New,
            Value::Int(generation) => Expected::Is(*generation),
            other => Expected::Raw(allocations::given_generation(other)),
        };
        let claim = ConsumerClaim {
            consumer: uuid,
            allocations: Vec::new(),
            owner: Some(owner),
            generation,
            takeover: self.defaults.takeover,
            consumer_type: Some(text("type").unwrap_or_else(|| DEFAULT_TYPE.to_owned())),
        };
        let wanted = self.wanted(path, consumer)?;
        Ok(RequestedConsumer { claim, wanted })
    }

    fn wanted(&mut self, path: &str, consumer: &Value) -> Result<Wanted> {
        match (consumer.get("candidates"), consumer.get("query")) {
            (Some(candidates), None) if consumer.get("rank").is_none() => self.candidates(path, candidates.items()),
            (None, Some(query)) => self.query(path, query, consumer.get("rank").map(Value::text)),
            (Some(_), None) => bad_request(format!(
                "{path}.rank is for a query: candidates are tried in the order in which they are given."
            )),
            _ => bad_request(format!("{path} needs either 'candidates' or 'query', and not both.")),
        }
    }

    fn candidates(&mut self, path: &str, candidates: &[Value]) -> Result<Wanted> {
        check_count(&format!("{path}.candidates"), candidates.len(), MAX_CANDIDATES)?;
        self.candidates += candidates.len();
        if self.candidates > MAX_CANDIDATES_OF_CALL {
            return bad_request(format!(
                "{path}.candidates: a call has at most {MAX_CANDIDATES_OF_CALL} candidates of all consumers together."
            ));
        }
        Ok(Wanted::Candidates(candidates.iter().map(candidate).collect()))
    }

    fn query(&mut self, path: &str, query: &Value, rank: Option<&str>) -> Result<Wanted> {
        let key = (format!("{query:?}"), rank.map(str::to_owned));
        if let Some(known) = self.known_queries.get(&key) {
            return Ok(Wanted::Query(*known));
        }
        if has_rank(query) {
            return bad_request(format!("{path}.query: 'rank' stands beside 'query', not in it."));
        }
        let request = match query {
            Value::String(text) => candidates::read_query(text, Zero::Refused),
            object => candidates::read_pairs(pairs(object), Zero::Refused),
        };
        let request = request.map_err(|error| error.in_member(&format!("{path}.query")))?;
        if request.limit.is_some() {
            return bad_request(format!(
                "{path}.query: 'limit' has no meaning here: one candidate is claimed."
            ));
        }
        self.queries.push(ClaimQuery {
            request,
            rank: rank.map_or(self.defaults.rank, Rank::by_name),
        });
        self.known_queries.insert(key, self.queries.len() - 1);
        Ok(Wanted::Query(self.queries.len() - 1))
    }
}

/// Whether a query has the parameter `rank`, which is a member of the consumer.
fn has_rank(query: &Value) -> bool {
    match query {
        Value::String(text) => Query::parse(text).is_ok_and(|query| query.last("rank").is_some()),
        object => object.get("rank").is_some(),
    }
}

/// The parameters of a query that is an object: a list is a repeated parameter.
pub fn pairs(query: &Value) -> Vec<(String, String)> {
    let texts = |value: &Value| match value {
        Value::Array(items) => items.iter().map(|item| item.text().to_owned()).collect(),
        text => vec![text.text().to_owned()],
    };
    let members = query.members();
    members
        .flat_map(|(name, value)| texts(value).into_iter().map(move |text| (name.to_owned(), text)))
        .collect()
}

fn candidate(candidate: &Value) -> ClaimCandidate {
    let uuids = |providers: &Value| providers.items().iter().map(|uuid| uuid.text().to_owned()).collect();
    let mappings = candidate.get("mappings").map(|mappings| {
        let members = mappings.members();
        members
            .map(|(suffix, providers)| (suffix.to_owned(), uuids(providers)))
            .collect()
    });
    ClaimCandidate {
        allocations: allocations::by_provider(candidate.field("allocations")),
        mappings,
    }
}

#[cfg(test)]
mod tests;
