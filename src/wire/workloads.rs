//! `/v1/workloads`.

mod answer;
mod wish;

use std::collections::HashSet;

use super::query::Query;
use super::schema::NativeSchema;
use super::uuid;
use super::value::Value;
use crate::error::{Error, Result};
use crate::model::allocations::Owner;
use crate::model::workloads::{Adopted, Delete, Level, Page, Put, Wish, WishRule};
use crate::search::Rank;
pub use answer::{ViolationAnswer, write_list, write_one};
pub use wish::read_stored;

const SCHEMAS: &str = include_str!("schemas/workloads.json");
static PUT: NativeSchema = NativeSchema::of_body(SCHEMAS, "put");
static PUT_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "write_parameters");
static DELETE_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "delete_parameters");
static LIST_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "list_parameters");
static NO_PARAMETERS: NativeSchema = NativeSchema::of_query(SCHEMAS, "no_parameters");

/// The most replicas of a workload.
pub const MAX_REPLICAS: u32 = 1_000;
/// The most dimensions that the rules of a workload name.
const MAX_DIMENSIONS: usize = 16;
/// The most workloads of a page.
const MAX_WORKLOADS: usize = 1_000;
/// The type of replicas whose workload names none.
const DEFAULT_TYPE: &str = "INSTANCE";

/// Values for members that a request leaves out, and the caller's rights.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// Whether a refusal may describe workloads of foreign projects.
    pub sees_others: bool,
    /// Of the token.
    pub project: Option<String>,
    /// Of the token.
    pub user: Option<String>,
    pub rank: Option<Rank>,
}

fn bad_request<T>(detail: String) -> Result<T> {
    Err(Error::BadRequest { detail })
}

/// Reads a uuid of the path.
///
/// # Errors
/// [`Error::WorkloadNotFound`] for any other text.
pub fn read_uuid(text: &str) -> Result<String> {
    uuid::canonical(text).ok_or_else(|| Error::WorkloadNotFound { uuid: text.to_owned() })
}

/// Reads the query string of `GET /v1/workloads/{uuid}`, which has no parameters.
///
/// # Errors
/// `InvalidQuery` if there is one.
pub fn read_show(query: &str) -> Result<()> {
    Query::read_native(&NO_PARAMETERS, query).map(drop)
}

/// Reads `GET /v1/workloads`.
///
/// # Errors
/// `InvalidQuery` for other parameters and values.
pub fn read_list(query: &str) -> Result<Page> {
    let query = Query::read_native(&LIST_PARAMETERS, query)?;
    let limit = query.page_limit(MAX_WORKLOADS, "workloads")?;
    Ok(Page {
        project: query.last("project_id").map(str::to_owned),
        name: query.last("name").map(str::to_owned),
        uuids: None,
        after: query.last("after").and_then(uuid::canonical),
        limit,
    })
}

/// Reads `DELETE /v1/workloads/{uuid}`: the generation that the caller knows, and how it is deleted.
///
/// # Errors
/// `InvalidQuery` for other parameters and values.
pub fn read_delete(query: &str) -> Result<(Option<i64>, Delete)> {
    let query = Query::read_native(&DELETE_PARAMETERS, query)?;
    let generation = query.last("generation").map(|text| text.parse().unwrap_or(i64::MAX));
    let is_set = |name: &str| query.last(name) == Some("true");
    let how = Delete {
        is_forced: is_set("force"),
        is_dry_run: is_set("dry_run"),
    };
    Ok((generation, how))
}

/// Reads `PUT /v1/workloads/{uuid}`.
///
/// # Errors
/// The first member that is wrong, by its path.
pub fn read_put(path: &str, query: &str, raw_body: &[u8], defaults: &Defaults) -> Result<Put> {
    let parameters = Query::read_native(&PUT_PARAMETERS, query)?;
    let Some(uuid) = uuid::canonical(path) else {
        return bad_request(format!("'{path}' in the URL is no uuid."));
    };
    let body = PUT.read(raw_body)?;
    let text = |name: &str| Some(body.field(name).text().to_owned()).filter(|text| !text.is_empty());
    let of_token = |name: &str, default: &Option<String>| match text(name).or(default.clone()) {
        Some(text) => Ok(text),
        None => bad_request(format!("{name} is required, because the token has none.")),
    };
    let owner = Owner {
        project: of_token("project_id", &defaults.project)?,
        user: of_token("user_id", &defaults.user)?,
    };
    let stored = wish::body(&body, text("type").as_deref().unwrap_or(DEFAULT_TYPE), defaults.rank);
    let name = body.field("name").text().to_owned();
    check_ends("name", &name)?;
    check_ends("project_id", &owner.project)?;
    let wish = wish::wish(&stored)?;
    if wish.neighbours().contains(&uuid) {
        return bad_request("rules: a workload cannot be near to itself; that is what 'spread' is for.".to_owned());
    }
    strict_rules(&wish)?;
    let dimensions = wish.dimensions().len();
    if dimensions > MAX_DIMENSIONS {
        return bad_request(format!(
            "rules: they name {dimensions} dimensions; the rules of a workload name at most {MAX_DIMENSIONS}."
        ));
    }
    let ids = ids(&body, wish.count())?;
    Ok(Put {
        name,
        owner,
        sees_others: defaults.sees_others,
        generation: match body.field("generation") {
            Value::Null => None,
            generation => Some(generation.integer()),
        },
        wish,
        body: wish::text(&stored),
        read: read_stored,
        ids,
        adopted: adopted(&body)?,
        swaps: swaps(&body)?,
        is_atomic: !matches!(body.field("atomic"), Value::Bool(false)),
        is_retry: false,
        is_dry_run: parameters.last("dry_run") == Some("true"),
        uuid,
    })
}

/// MariaDB ignores the spaces at the end of a text when it compares: two names that differ in them alone are one there.
fn check_ends(member: &str, text: &str) -> Result<()> {
    if text == text.trim() {
        return Ok(());
    }
    bad_request(format!("{member}: '{text}' begins or ends with white space."))
}

/// A rule that may be broken refuses nothing.
fn strict_rules(wish: &Wish) -> Result<()> {
    let is_contradiction = |rule: &WishRule| match rule {
        WishRule::Spread(spread) => spread.strict && spread.level != Level::Hard,
        WishRule::Near(_) => false,
    };
    match wish.rules.iter().flatten().position(is_contradiction) {
        Some(at) => bad_request(format!(
            "rules[{at}].strict: only a rule of level 'hard' refuses what is not safe."
        )),
        None => Ok(()),
    }
}

fn ids(body: &Value, count: u32) -> Result<Option<Vec<String>>> {
    let Some(ids) = body.get("ids").filter(|ids| **ids != Value::Null) else {
        return Ok(None);
    };
    let ids: Vec<String> = ids.items().iter().map(|id| id.text().to_owned()).collect();
    if ids.len() != count as usize {
        return bad_request(format!(
            "ids: there are {}, but the roles have {count} replicas.",
            ids.len()
        ));
    }
    for (at, id) in ids.iter().enumerate() {
        check_ends(&format!("ids[{at}]"), id)?;
    }
    let mut known = HashSet::new();
    match ids.iter().find(|id| !known.insert(id.as_str())) {
        Some(id) => bad_request(format!("ids: '{id}' occurs twice.")),
        None => Ok(Some(ids)),
    }
}

fn adopted(body: &Value) -> Result<Vec<Adopted>> {
    let mut known = HashSet::new();
    let adopted = body.field("adopt").items().iter().enumerate().map(|(at, item)| {
        let text = |name| item.get(name).map(|value| value.text().to_owned());
        let consumer = uuid::canonical(item.field("consumer").text()).unwrap_or_default();
        if !known.insert(consumer.clone()) {
            return bad_request(format!("adopt[{at}].consumer: {consumer} occurs twice."));
        }
        let id = text("id");
        check_ends(&format!("adopt[{at}].id"), id.as_deref().unwrap_or_default())?;
        Ok(Adopted {
            consumer,
            id,
            role: text("role"),
        })
    });
    adopted.collect()
}

fn swaps(body: &Value) -> Result<Vec<[String; 2]>> {
    let mut known = HashSet::new();
    let swaps = body.field("swap").items().iter().enumerate().map(|(at, pair)| {
        let ids: Vec<String> = pair.items().iter().map(|id| id.text().to_owned()).collect();
        let pair: std::result::Result<[String; 2], _> = ids.try_into();
        let Ok(pair) = pair else {
            return bad_request(format!("swap[{at}] has two ids."));
        };
        if !pair.iter().all(|id| known.insert(id.clone())) {
            return bad_request(format!("swap[{at}]: a replica is exchanged once."));
        }
        Ok(pair)
    });
    swaps.collect()
}

#[cfg(test)]
mod tests;
