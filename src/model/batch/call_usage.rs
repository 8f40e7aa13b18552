//! The usage around a command that claims for several consumers, one after the other.
//!
//! Naively, each claim is compared with the usage that the claims before have left. Let the usage of a host be over its
//! capacity, and let one consumer give up what the next consumer takes: the second claim would be refused, although the
//! call does not raise the usage. So a claim may raise the usage up to the usage before the call. Consumers of which a
//! call knows the place, and that come later, count with the place.

use std::collections::{BTreeMap, BTreeSet};

use crate::search::{ClassId, ProviderId};

/// Amounts by provider and class.
pub type CallAmounts = BTreeMap<(ProviderId, ClassId), i64>;

/// The usage before a call, and the amounts that later consumers of the call release. Empty outside of a call.
#[derive(Debug, Default)]
pub struct CallUsage {
    before: CallAmounts,
    later: CallAmounts,
    /// The consumers whose released amounts are in `later`.
    promised: BTreeSet<String>,
}

impl CallUsage {
    /// The usage before the call, if consumers of the call had allocations there.
    pub fn before(&self, provider: ProviderId, class: ClassId) -> Option<i64> {
        self.before.get(&(provider, class)).copied()
    }

    /// The amount that consumers release later in the call, beyond the amounts that they take.
    pub fn later(&self, provider: ProviderId, class: ClassId) -> i64 {
        self.later.get(&(provider, class)).copied().unwrap_or(0)
    }

    /// Keeps the usage before the call. The first usage counts.
    pub fn keep_before(&mut self, provider: ProviderId, class: ClassId, used: i64) {
        self.before.entry((provider, class)).or_insert(used);
    }

    /// Adds the amounts that a consumer will release.
    pub fn promise(&mut self, consumer: &str, amounts: &CallAmounts) {
        for (key, amount) in amounts {
            *self.later.entry(*key).or_insert(0) += amount;
        }
        self.promised.insert(consumer.to_owned());
    }

    /// Whether a consumer will release amounts. From now on the consumer has not promised any.
    pub fn take_promise(&mut self, consumer: &str) -> bool {
        self.promised.remove(consumer)
    }

    /// Subtracts the amounts of a consumer whose claim comes now.
    pub fn redeem(&mut self, amounts: &CallAmounts) {
        for (key, amount) in amounts {
            *self.later.entry(*key).or_insert(0) -= amount;
        }
    }
}
