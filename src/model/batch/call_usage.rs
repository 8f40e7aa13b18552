//! The usage before a call for several consumers, and the releases later in the call: consumers are decided in turn.
//!
//! Naively, each claim is compared with the usage after the claims before. Let the usage of a host be over the
//! capacity, and let a consumer release the amount of the next consumer. The naive comparison refuses the second claim,
//! although the call does not raise the usage. So a claim may raise the usage up to the usage before the call. The
//! releases of later required consumers with a single candidate count in advance.

use std::collections::{BTreeMap, BTreeSet};

use crate::search::{ClassId, ProviderId};

/// Amounts by provider and class.
pub type CallAmounts = BTreeMap<(ProviderId, ClassId), i64>;

/// The usage before a call, and the amounts released by later consumers of the call. Empty outside of a call.
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

    /// The amount released later in the call, beyond the amounts taken by the same consumers.
    pub fn later(&self, provider: ProviderId, class: ClassId) -> i64 {
        self.later.get(&(provider, class)).copied().unwrap_or(0)
    }

    /// Keeps the usage before the call. The first usage counts.
    pub fn keep_before(&mut self, provider: ProviderId, class: ClassId, used: i64) {
        self.before.entry((provider, class)).or_insert(used);
    }

    /// Adds the amounts of a consumer's later release.
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
