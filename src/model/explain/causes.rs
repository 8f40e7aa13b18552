//! Why hosts fail a condition: the cause behind the condition.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::error::Result;
use crate::model::providers::DISABLED_TRAIT;
use crate::search::{
    self, ClassProviders, Condition, ExplainedRequest, HostSet, ProviderState, SearchSettings, Slot, Snapshot, Truth,
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
    /// The hosts have no inventory of the class and use sharing providers, which fail the condition.
    Sharing {
        class: usize,
    },
}

/// The hosts that fail a condition for one cause.
pub struct CauseHosts<'s> {
    pub cause: Cause,
    pub hosts: Vec<Slot>,
    /// The providers of the class of a condition on amounts, or of the class of [`Cause::Sharing`].
    pub providers: Option<Rc<ClassProviders<'s>>>,
    /// The providers of the hosts that could serve if they were up, for conditions after the states.
    pub not_up: Vec<Slot>,
}

impl CauseHosts<'_> {
    /// The hosts fail a condition for no further cause.
    pub fn of_condition(hosts: Vec<Slot>) -> Self {
        CauseHosts {
            cause: Cause::Condition,
            hosts,
            providers: None,
            not_up: Vec::new(),
        }
    }
}

/// Finds the causes behind the conditions of a request.
pub struct CauseFinder<'a> {
    pub snapshot: &'a Snapshot,
    pub explanation: &'a ExplainedRequest<'a>,
    pub settings: &'a SearchSettings,
    /// Conditions that do not count.
    pub removed: BTreeSet<Condition>,
}

impl<'a> CauseFinder<'a> {
    pub fn new(snapshot: &'a Snapshot, explanation: &'a ExplainedRequest<'a>, settings: &'a SearchSettings) -> Self {
        CauseFinder {
            snapshot,
            explanation,
            settings,
            removed: BTreeSet::new(),
        }
    }

    /// The causes for which hosts fail a condition. Hosts whose property has another value are nearer to a candidate
    /// than hosts without the property.
    ///
    /// # Errors
    /// As of [`search::explain`].
    pub fn causes(&self, condition: Condition, hosts: Vec<Slot>) -> Result<Vec<CauseHosts<'a>>> {
        let failed = (condition, &self.removed);
        let pools = search::failing_pools(self.snapshot, self.explanation, failed, &hosts, self.settings)?;
        let amounts = match condition {
            Condition::Amount { class, .. } => self.providers(class),
            _ => None,
        };
        let mut by_cause: BTreeMap<Cause, Vec<Slot>> = BTreeMap::new();
        for host in hosts {
            let class = pools.get(&host).copied();
            let cause = self.cause(condition, (class, amounts.as_deref()), host);
            by_cause.entry(cause).or_default().push(host);
        }
        let mut causes: Vec<(Cause, Vec<Slot>)> = by_cause.into_iter().collect();
        causes.sort_by_key(|(cause, hosts)| (*cause == Cause::Verdict(Truth::False), hosts.len()));
        let of_cause = |(cause, hosts): (Cause, Vec<Slot>)| CauseHosts {
            cause,
            not_up: self.not_up(condition, amounts.as_deref(), &hosts),
            hosts,
            providers: match cause {
                Cause::Sharing { class } if amounts.is_none() => self.providers(class),
                _ => amounts.clone(),
            },
        };
        Ok(causes.into_iter().map(of_cause).collect())
    }

    fn providers(&self, class: usize) -> Option<Rc<ClassProviders<'a>>> {
        let providers = self
            .explanation
            .providers(self.snapshot, class, &self.settings.interrupt);
        providers.map(Rc::new)
    }

    /// Why a host fails a condition. `pools`: the class whose sharing providers fail the condition. `amounts`: the
    /// providers of the class, for a condition on amounts.
    fn cause(
        &self,
        condition: Condition,
        (pools, amounts): (Option<usize>, Option<&ClassProviders>),
        host: Slot,
    ) -> Cause {
        let request = self.explanation.conditions.request;
        match condition {
            Condition::State if self.snapshot.state(host) != ProviderState::Up => {
                Cause::State(self.snapshot.state(host))
            }
            _ if pools.is_some() => pools.map_or(Cause::Condition, |class| Cause::Sharing { class }),
            Condition::Where { group: None } => {
                let expression = &request.host.condition;
                Cause::Verdict(expression.judge(|name| self.snapshot.property(host, name)))
            }
            Condition::State => Cause::State(ProviderState::Up),
            Condition::NoRootTrait => cause_of_forbidden(self.snapshot, &request.root_required.forbidden, host),
            Condition::NoTrait { group } => {
                let group = &request.groups[group];
                // A granular group may be served by further providers of the host.
                if group.suffix.is_empty() {
                    cause_of_forbidden(self.snapshot, &group.traits.forbidden, host)
                } else {
                    Cause::Condition
                }
            }
            Condition::Amount { class, .. } if amounts.is_some_and(|providers| !providers.are_own(host)) => {
                Cause::Sharing { class }
            }
            _ => Cause::Condition,
        }
    }

    /// The providers of the hosts that are not up, if states count before the condition. `amounts`: the providers of
    /// the class, for a condition on amounts.
    fn not_up(&self, condition: Condition, amounts: Option<&ClassProviders>, hosts: &[Slot]) -> Vec<Slot> {
        if condition < Condition::State || self.snapshot.are_all_up() {
            return Vec::new();
        }
        let hosts = HostSet::of(self.snapshot, hosts.iter().copied());
        let found: BTreeSet<Slot> = match amounts {
            Some(providers) => providers.not_up(&hosts),
            None => {
                let classes = 0..self.explanation.conditions.classes.len();
                let providers = classes.filter_map(|class| self.providers(class));
                providers.flat_map(|providers| providers.not_up(&hosts)).collect()
            }
        };
        found.into_iter().collect()
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
