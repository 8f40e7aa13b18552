//! `/v1/hosts`.

mod answer;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::answer::{ReportAnswer, ReportingHostAnswer, ReportingHosts};
pub use self::answer::{write_list, write_one, write_reported};
use super::bad_request;
use super::claims;
use super::native::{
    Bounded, InDomain, Name, Named, NoParameters, Noun, NounOperation, PageLimit, Text, Uuid, Whole, read_body,
    read_query,
};
use super::providers::{PropertiesBody, describe_reported};
use crate::error::Result;
use crate::model::hosts::{Health, HostQuestion, HostReport, ReportedLease, ReportedProvider};
use crate::model::inventories::Inventory;
use crate::model::resource_providers::Create;
use crate::search::ProviderState;

/// The description of the noun.
pub static NOUN: Noun = Noun {
    name: "hosts",
    about: "Hosts whose agents report: what the agent owns below the host, and the lease by which the host counts as \
        alive.",
    fields: &[("uuid", "The uuid of the host, which is a root provider.")],
    operations: &[
        NounOperation::new::<ListParameters>(
            "GET /v1/hosts",
            "List the hosts that report",
            "By uuid, at most `limit` (1000 by default) after the host `after`. `next` is the `after` of the next \
            page, or null. `state` is what a person said, and `health` what the lease says: an `unknown` host gets \
            nothing new on `/v1`, and what stands there stays. A host without a report is not listed.",
        )
        .answer::<ReportingHosts>(),
        NounOperation::new::<NoParameters>(
            "GET /v1/hosts/{uuid}",
            "Show a host that reports",
            "The lease of the host, and the providers that its agent owns.",
        )
        .answer::<ReportingHostAnswer>()
        .refusals(&["BadRequest", "DuplicateQueryKey", "NotFound"]),
        NounOperation::new::<ReportParameters>(
            "PUT /v1/hosts/{uuid}/report",
            "Report what a host has",
            "What an agent says of its host, and the renewal of the lease. The report has all providers that the \
            agent owns: missing ones are deleted, or kept and `gone` while they have allocations. Inventories, traits \
            and generation of the host are not touched, unless the host is among `providers` because the agent made \
            it. `type`, `properties` and `domains` describe the host, unless a different client has described it. A custom \
            class or trait that does not exist is created. A part that is refused, such as a provider of a \
            different client, is named by its path in a 409, and all other parts are stored. \
            A report that says the same as the last one renews the lease alone. `number` rises with each report of a \
            `boot`; an older report is refused. While a lease holds, a different `holder` is refused. The first \
            report binds the host to the user who sent it. With `dry_run=true` nothing is written.",
        )
        .body::<ReportBody>()
        .answer::<ReportAnswer>()
        .refusals(&[
            "BadRequest",
            "DuplicateQueryKey",
            "ProviderNotFound",
            "NotOwner",
            "LeaseHeld",
            "OldReport",
            "ReportRefused",
        ]),
    ],
};

impl Named for Health {
    const NAMES: &'static [(&'static str, Health)] = &Health::ALL;
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// `up`, `draining`, `off` or `lost`: the state of the host.
    state: Option<Name<ProviderState>>,
    /// `up` or `unknown`: the health of the host.
    health: Option<Name<Health>>,
    /// A domain of the host, as `dimension:path`, with the domains inside.
    in_domain: Option<InDomain>,
    /// The most hosts of the page.
    #[serde(default)]
    limit: PageLimit,
    /// The uuid of the host after which the page begins.
    after: Option<Text<1, 36>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportParameters {
    /// `true`: nothing is written. The refusals are those that the report would have.
    #[serde(default)]
    dry_run: bool,
}

/// The most providers of a report.
const MAX_PROVIDERS: usize = 1_000;
/// The shortest and the longest term of a lease, in seconds.
const MIN_TERM: i64 = 5;
const MAX_TERM: i64 = 86_400;
/// The term of a lease without a wish, in seconds.
const DEFAULT_TERM: i64 = 60;
/// Stands for the uuid of a host in a check.
const UNKNOWN_HOST: &str = "00000000-0000-0000-0000-000000000000";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportBody {
    /// The name of the agent, which the agent keeps when it starts again.
    holder: Text<1, 255>,
    /// A text that is new after each boot of the host, such as the content of `/proc/sys/kernel/random/boot_id`.
    boot: Text<1, 64>,
    /// A number that rises with each report of a boot.
    number: Whole<0, { i64::MAX }>,
    /// For how many seconds the lease holds: 60 by default. An agent reports at least three times in this time.
    lease: Option<Whole<MIN_TERM, MAX_TERM>>,
    /// The type of the host: any text.
    #[serde(rename = "type")]
    kind: Option<Text<1, 255>>,
    /// The properties by name: texts, booleans or whole numbers of 64 bits. `null` hides an inherited property.
    #[serde(default)]
    properties: PropertiesBody,
    /// The domains by dimension, each a path such as `fd:/dc1/r0`.
    #[serde(default)]
    domains: BTreeMap<String, String>,
    /// The providers that the agent owns. A parent comes before its children.
    #[serde(default = "no_providers")]
    providers: Bounded<OwnProviderBody, 0, MAX_PROVIDERS>,
}

fn no_providers() -> Bounded<OwnProviderBody, 0, MAX_PROVIDERS> {
    Bounded(Vec::new())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OwnProviderBody {
    /// The uuid of the provider.
    uuid: Uuid,
    /// The name of the provider, which no other provider has.
    name: Text<1, 200>,
    /// The uuid of the parent: the host by default, or an earlier provider of the report.
    parent_provider_uuid: Option<Uuid>,
    /// The type of the provider: any text.
    #[serde(rename = "type")]
    kind: Option<Text<1, 255>>,
    /// The properties by name: texts, booleans or whole numbers of 64 bits. `null` hides an inherited property.
    #[serde(default)]
    properties: PropertiesBody,
    /// The domains by dimension, each a path such as `fd:/dc1/r0`.
    #[serde(default)]
    domains: BTreeMap<String, String>,
    /// The state of a new provider: `up` by default. Later a person's state stays.
    #[serde(default)]
    state: Name<ProviderState>,
    /// The inventories by resource class.
    #[serde(default)]
    inventories: BTreeMap<String, InventoryBody>,
    /// The names of the traits.
    #[serde(default)]
    traits: Vec<Text<1, 255>>,
}

/// A 32-bit amount.
type Amount<const MIN: i64> = Whole<MIN, { i32::MAX as i64 }>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InventoryBody {
    /// The amount that the provider has.
    total: Amount<1>,
    /// The amount that no client may claim: 0 by default.
    reserved: Option<Amount<0>>,
    /// The least amount of a claim: 1 by default.
    min_unit: Option<Amount<1>>,
    /// The greatest amount of a claim: no bound by default.
    max_unit: Option<Amount<1>>,
    /// The amount of a claim is a multiple: of 1 by default.
    step_size: Option<Amount<1>>,
    /// How often the amount may be claimed: 1.0 by default.
    allocation_ratio: Option<f64>,
}

/// Reads the query string of `GET /v1/hosts`.
///
/// # Errors
/// The first wrong parameter.
pub fn read_list(query: &str) -> Result<HostQuestion> {
    let parameters: ListParameters = read_query(query)?;
    Ok(HostQuestion {
        state: parameters.state.map(|state| state.0),
        health: parameters.health.map(|health| health.0),
        in_domain: parameters.in_domain.map(|domain| domain.0),
        limit: parameters.limit.get(),
        after: parameters.after.map(|uuid| uuid.0),
    })
}

/// The caller of a report.
pub struct HostReporter {
    pub user: String,
    /// Whether the caller may report for hosts of other users.
    pub may_report_all: bool,
}

/// Reads `PUT /v1/hosts/{uuid}/report`, and whether the request is a dry run.
///
/// # Errors
/// The first wrong member, or all mistakes of descriptions and names.
pub fn read_report(host: &str, query: &str, body: &[u8], reporter: HostReporter) -> Result<(HostReport, bool)> {
    let ReportParameters { dry_run } = read_query(query)?;
    let Some(host) = super::uuid::canonical(host) else {
        return bad_request(format!("{host:?} is not a uuid."));
    };
    let read: ReportBody = read_body(body)?;
    let mut mistakes = Vec::new();
    let parts = (read.kind, read.properties, read.domains);
    let description = describe_reported(&host, "", parts, ProviderState::Up, &mut mistakes);
    check_unique(&read.providers.0, &mut mistakes);
    let providers = read.providers.0.into_iter().enumerate();
    let providers = providers.map(|(at, own)| provider(&host, &format!("providers[{at}]."), own, &mut mistakes));
    let providers: Vec<ReportedProvider> = providers.collect();
    if !mistakes.is_empty() {
        return bad_request(format!("{}.", mistakes.join("; ")));
    }
    let term = read.lease.map_or(DEFAULT_TERM, |term| term.0);
    let report = HostReport {
        user: reporter.user,
        may_report_all: reporter.may_report_all,
        lease: ReportedLease {
            holder: read.holder.0,
            boot: read.boot.0,
            number: read.number.0,
            term: i32::try_from(term).unwrap_or(i32::MAX),
        },
        digest: digest(body),
        description,
        providers,
        host,
    };
    Ok((report, dry_run))
}

/// Checks a report before it is sent, as [`read_report`] checks it, for a host whose uuid may be unknown.
///
/// # Errors
/// As of [`read_report`].
pub fn check_report(body: &[u8]) -> Result<()> {
    let reporter = HostReporter {
        user: String::new(),
        may_report_all: false,
    };
    read_report(UNKNOWN_HOST, "", body, reporter).map(drop)
}

/// A digest of the body without the members that differ in each report. White space and the order of members are no
/// difference.
fn digest(body: &[u8]) -> String {
    let mut value: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.remove("number");
        members.remove("boot");
    }
    claims::digest(value.to_string().as_bytes())
}

/// Names each uuid and each name that an earlier provider of the report has.
fn check_unique(providers: &[OwnProviderBody], mistakes: &mut Vec<String>) {
    let (mut uuids, mut names) = (HashMap::new(), HashMap::new());
    for (at, own) in providers.iter().enumerate() {
        for (member, seen, text) in [
            ("uuid", &mut uuids, own.uuid.0.as_str()),
            ("name", &mut names, own.name.0.as_str()),
        ] {
            if let Some(first) = seen.insert(text, at) {
                mistakes.push(format!("providers[{at}].{member} is also that of providers[{first}]"));
            }
        }
    }
}

fn provider(host: &str, path: &str, own: OwnProviderBody, mistakes: &mut Vec<String>) -> ReportedProvider {
    let uuid = own.uuid.0;
    let parent = own.parent_provider_uuid.map_or_else(|| host.to_owned(), |uuid| uuid.0);
    for name in own.inventories.keys() {
        check_name(&format!("{path}inventories"), name, mistakes);
    }
    for name in &own.traits {
        check_name(&format!("{path}traits"), &name.0, mistakes);
    }
    ReportedProvider {
        description: describe_reported(
            &uuid,
            path,
            (own.kind, own.properties, own.domains),
            own.state.0,
            mistakes,
        ),
        inventories: own
            .inventories
            .into_iter()
            .map(|(class, body)| (class, inventory(body)))
            .collect(),
        traits: own.traits.into_iter().map(|name| name.0).collect(),
        create: Create {
            parent: (uuid != host).then_some(parent),
            uuid,
            name: own.name.0,
        },
    }
}

/// Checks the form of a name of a class or trait.
fn check_name(path: &str, name: &str, mistakes: &mut Vec<String>) {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > 255 || !name.chars().all(is_allowed) {
        mistakes.push(format!(
            "{path}: {name:?} is no name; a name has letters from A to Z, digits and _"
        ));
    }
}

fn inventory(body: InventoryBody) -> Inventory {
    let amount =
        |given: Option<i64>, default: i32| given.map_or(default, |amount| i32::try_from(amount).unwrap_or(i32::MAX));
    Inventory {
        total: amount(Some(body.total.0), 0),
        reserved: amount(body.reserved.map(|it| it.0), 0),
        min_unit: amount(body.min_unit.map(|it| it.0), 1),
        max_unit: amount(body.max_unit.map(|it| it.0), i32::MAX),
        step_size: amount(body.step_size.map(|it| it.0), 1),
        allocation_ratio: body.allocation_ratio.unwrap_or(1.0),
    }
}
