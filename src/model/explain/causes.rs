//! Why hosts fail a condition: the cause behind the condition.

use std::collections::{BTreeMap, BTreeSet};

use crate::interrupt::Interrupt;
use crate::model::providers::DISABLED_TRAIT;
use crate::search::{
    ClassProviders, ClassRoom, Condition, ExplainedRequest, HostSet, ProviderState, Request, Slot, Snapshot, Truth,
};

/// Why hosts fail a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Condition,
    /// The verdict of the condition `where`.
    Verdict(Truth),
    /// The state of the hosts. A host that is up has providers that are not up.
    State(ProviderState),
    /// The hosts have the trait [`DISABLED_TRAIT`].
    Disabled,
    /// The hosts have no inventory of the class and use sharing providers.
    Sharing,
}

/// The hosts that fail a condition for one cause.
pub struct CauseHosts {
    pub cause: Cause,
    pub hosts: Vec<Slot>,
    /// For a condition on amounts, the room of the class on the providers of these hosts.
    pub room: Option<ClassRoom>,
}

impl CauseHosts {
    /// The hosts fail a condition for no further cause.
    pub fn of_condition(hosts: Vec<Slot>) -> CauseHosts {
        CauseHosts {
            cause: Cause::Condition,
            hosts,
            room: None,
        }
    }
}

/// The causes for which hosts fail a condition. Hosts whose property has another value are nearer to a candidate than
/// hosts without the property.
pub fn causes(
    snapshot: &Snapshot,
    explanation: &ExplainedRequest,
    condition: Condition,
    hosts: Vec<Slot>,
    interrupt: &Interrupt,
) -> Vec<CauseHosts> {
    let request = explanation.conditions.request;
    let providers = match condition {
        Condition::Amount { class, .. } => explanation.providers(snapshot, class, interrupt),
        _ => None,
    };
    let mut by_cause: BTreeMap<Cause, Vec<Slot>> = BTreeMap::new();
    for host in hosts {
        let cause = cause(snapshot, request, condition, providers.as_ref(), host);
        by_cause.entry(cause).or_default().push(host);
    }
    let mut causes: Vec<(Cause, Vec<Slot>)> = by_cause.into_iter().collect();
    causes.sort_by_key(|(cause, hosts)| (*cause == Cause::Verdict(Truth::False), hosts.len()));
    let of_cause = |(cause, hosts): (Cause, Vec<Slot>)| CauseHosts {
        cause,
        room: providers
            .as_ref()
            .and_then(|providers| providers.room(&HostSet::of(snapshot, hosts.iter().copied()))),
        hosts,
    };
    causes.into_iter().map(of_cause).collect()
}

/// Why a host fails a condition. `providers`: the providers of the class, for a condition on amounts.
fn cause(
    snapshot: &Snapshot,
    request: &Request,
    condition: Condition,
    providers: Option<&ClassProviders>,
    host: Slot,
) -> Cause {
    match condition {
        Condition::Where { group: None } => {
            let expression = &request.host.condition;
            Cause::Verdict(expression.judge(|name| snapshot.property(host, name)))
        }
        Condition::State => Cause::State(snapshot.state(host)),
        Condition::NoRootTrait => cause_of_forbidden(snapshot, &request.root_required.forbidden, host),
        Condition::NoTrait { group } => {
            let group = &request.groups[group];
            // A granular group may be served by further providers of the host.
            if group.suffix.is_empty() {
                cause_of_forbidden(snapshot, &group.traits.forbidden, host)
            } else {
                Cause::Condition
            }
        }
        Condition::Amount { .. } if providers.is_some_and(|providers| !providers.are_own(host)) => Cause::Sharing,
        _ => Cause::Condition,
    }
}

/// Why a host has a forbidden trait. placet gives the trait [`DISABLED_TRAIT`] to hosts that are not up, and Nova gives
/// the trait to hosts with a disabled compute service.
fn cause_of_forbidden(snapshot: &Snapshot, forbidden: &BTreeSet<String>, host: Slot) -> Cause {
    let is_cause = forbidden.contains(DISABLED_TRAIT) && is_disabled(snapshot, host);
    let unavailability = unavailability(snapshot, host).filter(|_| is_cause);
    unavailability.unwrap_or(Cause::Condition)
}

/// Whether the host has the trait [`DISABLED_TRAIT`].
pub fn is_disabled(snapshot: &Snapshot, host: Slot) -> bool {
    let disabled = snapshot.catalog().trait_id(DISABLED_TRAIT);
    disabled.is_some_and(|disabled| snapshot.has_trait(host, disabled))
}

/// Why a host should get no new consumers, although the host meets a query: the state of the host, or the trait
/// [`DISABLED_TRAIT`].
pub fn unavailability(snapshot: &Snapshot, host: Slot) -> Option<Cause> {
    match snapshot.state(host) {
        ProviderState::Up => is_disabled(snapshot, host).then_some(Cause::Disabled),
        state => Some(Cause::State(state)),
    }
}
