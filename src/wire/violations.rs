//! `/v1/violations`.

use serde::Serialize;

use super::output::json;
use super::query::Query;
use super::schema::NativeSchema;
use super::uuid;
use super::workloads::ViolationAnswer;
use crate::error::{Error, ReasonCode, Result};
use crate::model::pages::PAGE_TIME;
use crate::model::violations::{Filter, Page, Violated};
use crate::model::workloads::Level;

static LIST: NativeSchema = NativeSchema::of_query(include_str!("schemas/violations.json"), "list_parameters");

/// The most workloads of a page.
const MAX_WORKLOADS: usize = 1_000;
const NAMESPACE: &str = "placet.";
/// What may be broken: the codes of reasons without [`NAMESPACE`].
pub const RULES: [(&str, ReasonCode); 14] = [
    ("spread", ReasonCode::Spread),
    ("together", ReasonCode::Together),
    ("apart", ReasonCode::Apart),
    ("one_a_host", ReasonCode::OneAHost),
    ("where", ReasonCode::Condition),
    ("state", ReasonCode::State),
    ("domain", ReasonCode::Domain),
    ("required", ReasonCode::Traits),
    ("member_of", ReasonCode::Aggregates),
    ("root_required", ReasonCode::RootTraits),
    ("units", ReasonCode::Units),
    ("no_inventory", ReasonCode::NoInventory),
    ("class_not_found", ReasonCode::ClassNotFound),
    ("no_candidate", ReasonCode::NoCandidate),
];

/// Reads the query string of `GET /v1/violations`.
///
/// # Errors
/// `InvalidQuery` for other parameters and values.
pub fn read_list(query: &str) -> Result<Page> {
    let query = Query::read_native(&LIST, query)?;
    let limit = query.page_limit(MAX_WORKLOADS, "workloads with their violations")?;
    let uuid = |name: &str| query.last(name).and_then(uuid::canonical);
    let of_code = query.last("code").and_then(|code| code.strip_prefix(NAMESPACE));
    let of_rule = query.last("rule");
    if of_code.is_some() && of_rule.is_some() {
        return Err(Error::BadRequest {
            detail: "rule and code: both say the same, so a request has one of them.".to_owned(),
        });
    }
    let code = of_code.or(of_rule).and_then(|rule| {
        let known = RULES.iter().find(|(name, _)| *name == rule);
        known.map(|(_, code)| *code)
    });
    Ok(Page {
        project: query.last("project_id").map(str::to_owned),
        filter: Filter {
            workload: uuid("workload"),
            provider: uuid("provider"),
            code,
            level: query.last("level").map(|level| match level {
                "soft" => Level::Soft,
                "prefer" => Level::Prefer,
                _ => Level::Hard,
            }),
        },
        after: uuid("after"),
        limit,
        time: PAGE_TIME,
    })
}

#[derive(Serialize)]
struct List<'a> {
    violations: Vec<One<'a>>,
    next: Option<&'a str>,
}

#[derive(Serialize)]
struct One<'a> {
    workload: &'a str,
    name: &'a str,
    project_id: &'a str,
    #[serde(flatten)]
    violation: ViolationAnswer<'a>,
}

/// Writes a page of violations. `next` is the uuid of the workload after which the next page begins.
pub fn write_list(found: &[Violated], next: Option<&str>) -> Vec<u8> {
    let violations = found.iter().flat_map(|Violated { row, violations }| {
        violations.iter().map(|violation| One {
            workload: &row.uuid,
            name: &row.name,
            project_id: &row.project,
            violation: ViolationAnswer::from(violation),
        })
    });
    json(&List {
        violations: violations.collect(),
        next,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_the_schema_names_is_a_code() {
        for (name, code) in RULES {
            assert_eq!(read_list(&format!("rule={name}")).unwrap().filter.code, Some(code));
            assert_eq!(code.name(), format!("placet.{name}"));
            let by_code = read_list(&format!("code={}", code.name())).unwrap();
            assert_eq!(by_code.filter.code, Some(code));
        }
        assert!(read_list("code=spread").is_err() && read_list("code=placet.spread&rule=spread").is_err());
        assert!(read_list("rule=no_room").is_err());
        assert!(read_list("limit=1001").is_err() && read_list("limit=0").is_err());
        assert_eq!(read_list("").unwrap().limit, MAX_WORKLOADS);
    }
}
