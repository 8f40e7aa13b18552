//! Why hosts have no candidate: the conditions of a request, with the hosts left out by each condition.
//!
//! Naively, each provider is asked for the first condition that the provider does not meet. A tree may have a provider
//! for each condition, and none for all conditions. So conditions are added one by one, and each time the search says
//! which hosts have a candidate. A condition leaves out the hosts with a candidate for the conditions before. Each host
//! is left out by exactly one condition, and the explanation agrees with the search.
//!
//! Most conditions leave out no host. Bisection needs a search for each condition that leaves out hosts, and a few
//! searches more. Conditions are removed from the request (`condition`), and rules about amounts from the search
//! ([`super::snapshot::AmountRule`]).

mod changes;
mod class_room;
mod condition;
mod explainer;
mod host_set;
mod lacks;
mod nearest;
mod pool_failures;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{AmountRule, Slot, Snapshot};
use crate::error::Result;
use crate::interrupt::Interrupt;
pub use changes::{Edit, RequestChange, single_changes};
pub use class_room::{ClassProviders, ClassRoom, Enough, HostSum, ProviderAmount};
pub use condition::{Condition, Conditions};
use explainer::Explainer;
pub use host_set::HostSet;
pub use lacks::{Lack, lacks_in_host};
pub use nearest::nearest;
pub use pool_failures::failing_pools;

/// The conditions of a request, with the hosts left out by each condition.
#[derive(Debug)]
pub struct ExplainedRequest<'a> {
    pub conditions: Conditions<'a>,
    /// The explanation is about this host alone.
    pub only: Option<Slot>,
    /// The hosts with a candidate for the first n conditions, by n. Equal neighbours share a set.
    left: Vec<Arc<HostSet>>,
    /// Conditions that were not compared one by one: the index of the last condition, and the index of the first.
    merged: BTreeMap<usize, usize>,
    /// False if a search gave up trees, or if conditions were not compared one by one.
    pub is_exact: bool,
}

/// A condition, with the number of hosts left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    pub condition: Condition,
    /// The number of conditions that leave out these hosts together, the condition and conditions before: 1, unless the
    /// budget ended the comparison.
    pub conditions: usize,
    /// The number of hosts left out by the condition.
    pub left_out: usize,
    /// The number of hosts with a candidate for the conditions so far.
    pub left: usize,
}

/// Explains a request on all hosts, or on one host.
///
/// # Errors
/// As of [`super::candidates()`], but not for unknown names: nothing meets a condition with an unknown name.
/// [`crate::error::Error::BadRequest`] if the search was interrupted.
pub fn explain<'a>(
    snapshot: &Snapshot,
    request: &'a Request,
    only: Option<Slot>,
    settings: &SearchSettings,
) -> Result<ExplainedRequest<'a>> {
    let mut explainer = Explainer::new(snapshot, request, settings, only);
    let left = explainer.sets()?;
    Ok(ExplainedRequest {
        conditions: explainer.conditions,
        only,
        left,
        merged: explainer.merged,
        is_exact: explainer.is_exact,
    })
}

/// The first condition that leaves out a host if room does not count. `None` if the host has a candidate without
/// regard to room.
///
/// # Errors
/// As of [`explain`].
pub fn first_failed_but_room(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<Condition>> {
    let mut explainer = Explainer::new(snapshot, request, settings, Some(host));
    let is_room =
        |condition: &Condition| matches!(condition, Condition::Amount { rule, .. } if *rule != AmountRule::Units);
    let rooms = explainer.conditions.all.iter().copied().filter(is_room);
    explainer.removed.extend(rooms);
    explainer.first_failed()
}

/// The conditions failed by a host, in their order. Of conditions that fail together the first is removed, then the
/// conditions left are tried again: without the failed conditions the host has a candidate. Empty if the host has a
/// candidate. Also returns whether these are all: no search gave up trees, and the budget was enough.
///
/// # Errors
/// As of [`explain`].
pub fn failed_conditions(
    snapshot: &Snapshot,
    request: &Request,
    host: Slot,
    settings: &SearchSettings,
) -> Result<(Vec<Condition>, bool)> {
    let mut explainer = Explainer::new(snapshot, request, settings, Some(host));
    let mut failed = Vec::new();
    while let Some(condition) = explainer.first_failed()? {
        explainer.removed.insert(condition);
        failed.push(condition);
        if explainer.is_spent() {
            return Ok((failed, false));
        }
    }
    Ok((failed, explainer.is_exact))
}

impl<'a> ExplainedRequest<'a> {
    /// The conditions in their order.
    pub fn thinnings(&self) -> impl Iterator<Item = Thinning> {
        let steps = self.conditions.all.iter().zip(self.left.windows(2)).enumerate();
        steps.map(|(at, (&condition, sets))| Thinning {
            condition,
            conditions: self.merged.get(&at).map_or(1, |first| at + 1 - first),
            left_out: sets[0].len() - sets[1].len(),
            left: sets[1].len(),
        })
    }

    /// All hosts.
    pub fn all(&self) -> &HostSet {
        &self.left[0]
    }

    /// The hosts with a candidate.
    pub fn with_candidate(&self) -> &HostSet {
        &self.left[self.conditions.all.len()]
    }

    /// The hosts with a candidate if amounts do not count.
    pub fn before_amounts(&self) -> &HostSet {
        &self.left[self.conditions.before_amounts()]
    }

    /// The hosts with a candidate if amounts do not count, or all hosts if there is none.
    pub fn suitable_hosts(&self) -> &HostSet {
        let hosts = Some(self.before_amounts()).filter(|hosts| !hosts.is_empty());
        hosts.unwrap_or_else(|| self.all())
    }

    /// The providers of the class of [`Conditions::classes`]. `None` for an unknown class. If states count for the
    /// request, only providers that are up have room.
    pub fn providers<'s>(
        &self,
        snapshot: &'s Snapshot,
        class: usize,
        interrupt: &Interrupt,
    ) -> Option<ClassProviders<'s>> {
        interrupt.spend(snapshot.blocks.len() as u64);
        let class = snapshot.catalog().class_id(self.conditions.classes[class])?;
        let only_up = self.conditions.request.host.only_up;
        Some(ClassProviders::of(snapshot, class, only_up))
    }

    /// The hosts left out by the condition at `index`.
    pub fn left_out(&self, index: usize) -> impl Iterator<Item = Slot> {
        self.left[index].without(&self.left[index + 1])
    }
}
