//! What a workload wants, as JSON: read from a request, and stored in the form in which it is read again.

use std::collections::HashSet;

use serde::{Serialize, Serializer};

use super::{MAX_REPLICAS, bad_request};
use crate::error::Result;
use crate::model::claims::ClaimQuery;
use crate::model::workloads::{Level, Mode, NearKind, NearRule, Role, SpreadRule, Wish, WishRule};

use crate::search::Rank;
use crate::wire::filters::Zero;
use crate::wire::output::json;
use crate::wire::value::Value;
use crate::wire::{candidates, claims, json as reader, uuid};

/// The host as a dimension.
const HOST: &str = "host";

/// The members of a request that are stored, with what it left out. `rank` is that of roles that name none.
pub fn body(request: &Value, consumer_type: &str, rank: Option<Rank>) -> Value {
    let rank_name = Rank::ALL.iter().find(|(_, known)| Some(*known) == rank);
    let roles = request.field("roles").items().iter().map(|role| {
        let rank = rank_name.filter(|_| role.get("rank").is_none());
        let rank = rank.map(|(name, _)| ("rank".to_owned(), Value::String((*name).into())));
        let members = role.members().map(|(name, value)| (name.to_owned(), value.clone()));
        Value::Object(members.chain(rank).collect())
    });
    let quorum = !matches!(request.field("quorum"), Value::Bool(false));
    let members = [
        ("type".to_owned(), Value::String(consumer_type.into())),
        ("quorum".to_owned(), Value::Bool(quorum)),
        ("roles".to_owned(), Value::Array(roles.collect())),
        ("rules".to_owned(), request.field("rules").clone()),
    ];
    Value::Object(members.into_iter().collect())
}

/// The text that is stored.
pub fn text(body: &Value) -> String {
    String::from_utf8_lossy(&json(&Json(body))).into_owned()
}

/// Reads what was stored.
///
/// # Errors
/// As for a request: an older version may have stored what this one does not read.
pub fn read_stored(text: &str) -> Result<Wish> {
    wish(&reader::read(text.as_bytes(), |_| Ok(()))?)
}

/// Reads a body that [`body`] made.
///
/// # Errors
/// The first member that is wrong, by its path.
pub fn wish(body: &Value) -> Result<Wish> {
    let mut names = HashSet::new();
    let roles = body.field("roles").items().iter().enumerate().map(|(at, role)| {
        let role = self::role(&format!("roles[{at}]"), role)?;
        if !names.insert(role.name.clone()) {
            return bad_request(format!("roles[{at}].name: '{}' occurs twice.", role.name));
        }
        Ok(role)
    });
    let roles: Vec<Role> = roles.collect::<Result<_>>()?;
    let count: u64 = roles.iter().map(|role| u64::from(role.count)).sum();
    if count > MAX_REPLICAS.into() {
        return bad_request(format!(
            "roles: {count} replicas; a workload has at most {MAX_REPLICAS}."
        ));
    }
    let rules = match body.field("rules") {
        Value::Null => None,
        rules => {
            let rules = rules.items().iter().enumerate();
            let rules = rules.map(|(at, it)| rule(&format!("rules[{at}]"), it));
            Some(rules.collect::<Result<Vec<_>>>()?)
        }
    };
    Ok(Wish {
        roles,
        rules,
        quorum: *body.field("quorum") != Value::Bool(false),
        consumer_type: body.field("type").text().to_owned(),
    })
}

fn role(path: &str, role: &Value) -> Result<Role> {
    let query = role.field("query");
    let request = match query {
        Value::String(text) => candidates::read_query(text, Zero::Nothing),
        object => candidates::read_pairs(claims::pairs(object), Zero::Nothing),
    };
    let place = format!("{path}.query");
    let request = request.map_err(|error| error.in_member(&place))?;
    if request.limit.is_some() {
        return bad_request(format!("{place}: 'limit' has no meaning here."));
    }
    let payload = role.field("payload");
    if !is_kept(payload) {
        return bad_request(format!(
            "{path}.payload: a number is no JSON, or beyond 64 bits, so it would not be kept. Write it as a text."
        ));
    }
    let definition = Value::Array([query.clone(), payload.clone()].into());
    Ok(Role {
        name: role.field("name").text().to_owned(),
        count: u32::try_from(role.field("count").integer()).unwrap_or(u32::MAX),
        query: ClaimQuery {
            request,
            rank: role.get("rank").and_then(|rank| Rank::by_name(rank.text())),
        },
        definition: text(&definition).into(),
    })
}

/// Whether all numbers can be stored and read again: whole ones of 64 bits, and floats that are finite.
fn is_kept(value: &Value) -> bool {
    match value {
        Value::BigInt(_) => false,
        Value::Float(number) => number.is_finite(),
        Value::Array(items) => items.iter().all(is_kept),
        Value::Object(members) => members.iter().all(|(_, value)| is_kept(value)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::String(_) => true,
    }
}

fn rule(path: &str, rule: &Value) -> Result<WishRule> {
    let foreign = |names: &[&str], kind: &str| match names.iter().find(|name| rule.get(name).is_some()) {
        Some(name) => bad_request(format!("{path}.{name} does not belong to a rule '{kind}'.")),
        None => Ok(()),
    };
    let level = match rule.field("level").text() {
        "soft" => Level::Soft,
        "prefer" => Level::Prefer,
        _ => Level::Hard,
    };
    let kind = match rule.field("rule").text() {
        "spread" => {
            foreign(&["workload", "dimension"], "spread")?;
            return spread(path, rule, level).map(WishRule::Spread);
        }
        "together" => NearKind::Together,
        _ => NearKind::Apart,
    };
    foreign(&["dimensions", "mode", "strict"], rule.field("rule").text())?;
    let Some(workload) = rule.get("workload").and_then(|it| uuid::canonical(it.text())) else {
        return bad_request(format!("{path}.workload is required: the uuid of the other workload."));
    };
    let dimension = rule.get("dimension").map_or(HOST, Value::text).to_owned();
    Ok(WishRule::Near(NearRule {
        level,
        kind,
        workload,
        dimension,
    }))
}

fn spread(path: &str, rule: &Value, level: Level) -> Result<SpreadRule> {
    let dimensions: Vec<String> = rule
        .field("dimensions")
        .items()
        .iter()
        .map(|name| name.text().to_owned())
        .collect();
    if dimensions.is_empty() {
        return bad_request(format!(
            "{path}.dimensions is required: at least one, such as 'fault' or 'host'."
        ));
    }
    let mut known = HashSet::new();
    if let Some(name) = dimensions.iter().find(|name| !known.insert(name.as_str())) {
        return bad_request(format!("{path}.dimensions: '{name}' occurs twice."));
    }
    let mode = match rule.field("mode").text() {
        "max-difference" => Mode::MaxDifference,
        "quorum-safe" => Mode::QuorumSafe,
        "one-each" => Mode::OneEach,
        _ => Mode::Adaptive,
    };
    Ok(SpreadRule {
        level,
        mode,
        dimensions,
        strict: *rule.field("strict") == Value::Bool(true),
    })
}

/// Serialises a value that was read.
pub struct Json<'a>(pub &'a Value);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(it) => serializer.serialize_bool(*it),
            Value::Int(it) => serializer.serialize_i64(*it),
            Value::BigInt(_) | Value::Float(_) => serializer.serialize_f64(self.0.float().unwrap_or_default()),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Json)),
            Value::Object(members) => serializer.collect_map(members.iter().map(|(name, it)| (name, Json(it)))),
        }
    }
}
