//! A domain with sums over the hosts, as clients see the domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counted_elsewhere::HostElsewhere;

/// The length of a report without paths and amounts, and of the quotes, colon and comma of an amount.
const MEMBERS_BYTES: usize = 260;
const PUNCTUATION_BYTES: usize = 4;

/// Amounts by class. A limit may be 2^62, so sums over hosts are wider than a limit.
pub type Amounts = BTreeMap<Arc<str>, i128>;

/// A domain with the hosts in the domain itself and in the domains inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DomainReport {
    pub path: String,
    /// The path of the parent domain; `None` at the top.
    pub parent: Option<String>,
    /// The uuid of the aggregate whose members are in the domain.
    pub aggregate: Option<Arc<str>>,
    /// The first members of the aggregate in a different domain.
    pub counted_elsewhere: Vec<HostElsewhere>,
    pub hosts: usize,
    /// Hosts that are up.
    pub eligible_hosts: usize,
    /// Of all hosts, with the providers below each host.
    pub capacity: Amounts,
    pub usage: Amounts,
    /// Whether the domain has more hosts than its smallest sibling with an eligible host.
    pub is_heavy: bool,
    pub loss: Loss,
}

impl DomainReport {
    /// The approximate length in the answer.
    pub fn bytes(&self) -> usize {
        let Loss {
            free_elsewhere,
            missing,
            ..
        } = &self.loss;
        let amounts = [&self.capacity, &self.usage, free_elsewhere, missing]
            .into_iter()
            .flatten();
        let paths = self.path.len() + self.parent.as_ref().map_or(0, String::len);
        let of_amounts = amounts.map(|(class, amount)| class.len() + digits(*amount) + PUNCTUATION_BYTES);
        let elsewhere = self.counted_elsewhere.iter().map(HostElsewhere::bytes);
        MEMBERS_BYTES + paths + of_amounts.sum::<usize>() + elsewhere.sum::<usize>()
    }
}

/// The consequences of the loss of a domain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// The domains with an eligible host below the same parent, including the domain itself.
    pub siblings: usize,
    /// The free amounts of eligible hosts outside of the domain.
    pub free_elsewhere: Amounts,
    /// The usage in the domain beyond `free_elsewhere`; only classes whose free amounts are too small.
    pub missing: Amounts,
}

/// The number of digits of an amount.
fn digits(amount: i128) -> usize {
    amount.checked_ilog10().unwrap_or_default() as usize + 1
}
