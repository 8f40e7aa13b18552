//! Parses the query of `GET /v1/violations`, serializes the answer, and describes the noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bad_request;
use super::native::{Name, Named, Noun, NounOperation, PageLimit, Uuid, read_query};
use super::output::json;
use super::workloads::ViolationAnswer;
use crate::error::{ReasonCode, Result};
use crate::model::pages::PAGE_TIME;
use crate::model::violations::{Filter, Page, Violated, ViolationPage};
use crate::model::workloads::Level;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "violations",
    about: "Which rules of workloads are broken now, and which providers are used above a limit. What breaks a rule \
        stays where it is, until it is moved or leaves.",
    fields: &[],
    operations: &[NounOperation::new::<ListParameters>(
        "GET /v1/violations",
        "List which rules of workloads are broken",
        "Worked out when it is asked for, as in `GET /v1/workloads/{workload_uuid}`. A page judges at most `limit` \
            workloads (1000 by default), ordered by uuid, after the workload `after`; it ends earlier once it has \
            10000 violations or 4 MiB of them, or after 2 seconds. So a page may be empty, and the last one has the \
            `next` null. Without `project_id`, callers who may not see all projects see their own. Usage above the \
            capacity is `placet.no_room` of level hard, and above the normal limit soft: `requested` is the usage, \
            `free` the limit. It is listed for each workload with allocations of the class there. If there is none, \
            it is listed without a workload, at most 1000 on the first page, for callers who see all projects.",
    )
    .answer::<ViolationList>()
    .refusals(&["BadRequest", "DuplicateQueryKey", "Forbidden", "Busy"])],
};

/// A kind of violations: the code of the reasons, by the name without the namespace.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ViolationKind(ReasonCode);

/// A kind of violations, by the whole code.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Code(ReasonCode);

macro_rules! rules {
    ($($name:literal: $code:ident,)*) => {
        impl Named for ViolationKind {
            const NAMES: &'static [(&'static str, ViolationKind)] = &[
                $(($name, ViolationKind(ReasonCode::$code)),)*
                ("capacity", ViolationKind(ReasonCode::NoRoom)),
            ];
        }

        impl Named for Code {
            const NAMES: &'static [(&'static str, Code)] = &[
                $((concat!("placet.", $name), Code(ReasonCode::$code)),)*
                ("placet.no_room", Code(ReasonCode::NoRoom)),
            ];
        }
    };
}

rules! {
    "spread": Spread,
    "together": Together,
    "apart": Apart,
    "within": Within,
    "min": Min,
    "one_a_host": OneAHost,
    "where": Condition,
    "state": State,
    "domain": Domain,
    "required": Traits,
    "member_of": Aggregates,
    "root_required": RootTraits,
    "units": Units,
    "no_inventory": NoInventory,
    "class_not_found": ClassNotFound,
    "no_candidate": NoCandidate,
}

/// All kinds of violations with their names.
pub fn rules() -> impl Iterator<Item = (&'static str, ReasonCode)> {
    ViolationKind::NAMES.iter().map(|(name, rule)| (*name, rule.0))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Only violations of this workload.
    workload: Option<Uuid>,
    /// Only violations by replicas on this host, or with allocations of this provider.
    provider: Option<Uuid>,
    /// Only violations of rules of this kind: `spread`, `within`, `together` or `apart`; or of a condition that holds
    /// without a rule: `one_a_host`, `min`, `capacity` (more is used than a limit), and the conditions of a role on
    /// hosts.
    rule: Option<Name<ViolationKind>>,
    /// Only violations with this code, as the answer has the code. A request has `rule` or `code`.
    code: Option<Name<Code>>,
    /// Only violations of this level.
    level: Option<Name<Level>>,
    /// Only workloads of this project.
    project_id: Option<String>,
    /// The most workloads that the page judges.
    #[serde(default)]
    limit: PageLimit,
    /// The uuid of the workload after which the page begins.
    after: Option<Uuid>,
}

#[derive(Serialize, JsonSchema)]
struct ViolationList<'a> {
    /// The violations: of providers, and by workload.
    violations: Vec<WorkloadViolation<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// A violation, with the workload if there is one.
#[derive(Serialize, JsonSchema)]
struct WorkloadViolation<'a> {
    /// The uuid of the workload; `null` if a provider is above a limit and no replica has allocations of the class.
    workload: Option<&'a str>,
    /// The name of the workload.
    name: Option<&'a str>,
    /// The project that the workload belongs to.
    project_id: Option<&'a str>,
    #[serde(flatten)]
    violation: ViolationAnswer<'a>,
}

/// Reads the query string of `GET /v1/violations`.
///
/// # Errors
/// The first wrong parameter, or `rule` beside `code`.
pub fn read_list(query: &str) -> Result<Page> {
    let parameters: ListParameters = read_query(query)?;
    let of_rule = parameters.rule.map(|rule| rule.0.0);
    let of_code = parameters.code.map(|code| code.0.0);
    if of_code.is_some() && of_rule.is_some() {
        return bad_request("rule and code: both say the same, so a request has one of them.");
    }
    Ok(Page {
        project: parameters.project_id,
        filter: Filter {
            workload: parameters.workload.map(|uuid| uuid.0),
            provider: parameters.provider.map(|uuid| uuid.0),
            code: of_code.or(of_rule),
            level: parameters.level.map(|level| level.0),
        },
        after: parameters.after.map(|uuid| uuid.0),
        limit: parameters.limit.get(),
        time: PAGE_TIME,
    })
}

/// Writes a page of violations.
pub fn write_list(listed: &ViolationPage) -> Vec<u8> {
    let of_providers = listed.providers.iter().map(|violation| WorkloadViolation {
        workload: None,
        name: None,
        project_id: None,
        violation: ViolationAnswer::from(violation),
    });
    let of_workloads = listed.workloads.iter().flat_map(|Violated { row, violations }| {
        violations.iter().map(|violation| WorkloadViolation {
            workload: Some(&row.uuid),
            name: Some(&row.name),
            project_id: Some(&row.project),
            violation: ViolationAnswer::from(violation),
        })
    });
    json(&ViolationList {
        violations: of_providers.chain(of_workloads).collect(),
        next: listed.next.as_deref(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_read_by_name_and_by_code() {
        for (name, ViolationKind(code)) in ViolationKind::NAMES {
            assert_eq!(read_list(&format!("rule={name}")).unwrap().filter.code, Some(*code));
            let name = if *name == "capacity" { "no_room" } else { *name };
            assert_eq!(code.name(), format!("placet.{name}"));
            let by_code = read_list(&format!("code={}", code.name())).unwrap();
            assert_eq!(by_code.filter.code, Some(*code));
        }
        assert!(read_list("code=spread").is_err() && read_list("code=placet.spread&rule=spread").is_err());
        assert!(read_list("rule=no_room").is_err());
        assert!(read_list("limit=1001").is_err() && read_list("limit=0").is_err());
        assert_eq!(read_list("").unwrap().limit, 1_000);
    }
}
