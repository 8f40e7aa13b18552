//! Serializes the answers of `/v1/hosts`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::hosts::{Health, HostPage, HostView, Reported};
use crate::search::ProviderState;
use crate::wire::native::Name;
use crate::wire::output::json;

#[derive(Serialize, JsonSchema)]
pub struct ReportAnswer<'a> {
    /// Until when the lease holds, by the database's clock, in UTC; `null` in a dry run of a first report.
    lease_until: Option<&'a str>,
    /// The work that is due on the host.
    due: DueAnswer,
}

/// No work is due yet.
#[derive(Serialize, JsonSchema)]
struct DueAnswer {}

#[derive(Serialize, JsonSchema)]
pub struct ReportingHostAnswer<'a> {
    /// The uuid of the host.
    uuid: &'a str,
    /// The name of the host; `null` if the host was deleted.
    name: Option<&'a str>,
    /// The state that a person gave: `up`, `draining`, `off` or `lost`.
    state: Name<ProviderState>,
    /// What the lease says: `up`, or `unknown` after the lease was over.
    health: Name<Health>,
    /// Whether the lease is over, and the host not yet `unknown`. That is so for about a second, or if too many hosts
    /// fell silent at once.
    overdue: bool,
    /// The name of the agent.
    holder: &'a str,
    /// The user to whom the first report has bound the host.
    user_id: &'a str,
    /// For how many seconds the lease holds after a report.
    lease: i32,
    /// Until when the lease holds, by the database's clock, in UTC.
    lease_until: &'a str,
    /// The providers that the agent owns.
    providers: Vec<OwnAnswer<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct OwnAnswer<'a> {
    /// The uuid of the provider.
    uuid: &'a str,
    /// The name of the provider.
    name: &'a str,
    /// Whether the last report lacks the provider, which has allocations or a child.
    gone: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct ReportingHosts<'a> {
    /// The hosts, by uuid.
    hosts: Vec<ReportingHostAnswer<'a>>,
    /// The `after` of the next page; `null` on the last page.
    next: Option<&'a str>,
}

/// Writes the answer to a report.
pub fn write_reported(reported: &Reported) -> Vec<u8> {
    json(&ReportAnswer {
        lease_until: reported.until.as_deref(),
        due: DueAnswer {},
    })
}

/// Writes a host.
pub fn write_one(host: &HostView) -> Vec<u8> {
    json(&answer(host))
}

/// Writes a page of hosts.
pub fn write_list(page: &HostPage) -> Vec<u8> {
    json(&ReportingHosts {
        hosts: page.hosts.iter().map(answer).collect(),
        next: page.next.as_deref(),
    })
}

fn answer(host: &HostView) -> ReportingHostAnswer<'_> {
    let own = host.providers.iter().map(|own| OwnAnswer {
        uuid: &own.uuid,
        name: &own.name,
        gone: own.is_gone,
    });
    ReportingHostAnswer {
        uuid: &host.uuid,
        name: host.name.as_deref(),
        state: Name(host.state),
        health: Name(host.health),
        overdue: host.is_overdue,
        holder: &host.holder,
        user_id: &host.user,
        lease: host.term,
        lease_until: &host.until,
        providers: own.collect(),
    }
}
