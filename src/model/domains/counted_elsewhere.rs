//! The members of aggregates in a different domain than the domain of the aggregate: the description names a domain, or
//! a further aggregate of the host is a domain of the dimension too.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::go_on;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::snapshot::is_in_domain;
use crate::search::{Slot, Snapshot};

/// The most hosts of a domain in the answer.
const MAX_HOSTS: usize = 15;

/// A host with the domain in which the host counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostElsewhere {
    /// Uuid.
    pub host: String,
    /// A path of the same dimension.
    pub path: Arc<str>,
}

impl HostElsewhere {
    /// The approximate length in the answer.
    pub fn bytes(&self) -> usize {
        40 + self.host.len() + self.path.len()
    }
}

/// The first hosts of each domain in a different domain, by the path of the aggregate's domain.
pub struct CountedElsewhere<'s>(HashMap<&'s str, Vec<HostElsewhere>>);

impl<'s> CountedElsewhere<'s> {
    /// Of these hosts. `declared` are the declared domains of the dimension.
    pub fn of(
        snapshot: &'s Snapshot,
        (hosts, declared): (&[Slot], &BTreeMap<&str, &Arc<str>>),
        dimension: &str,
        interrupt: &Interrupt,
    ) -> Result<CountedElsewhere<'s>> {
        let mut found: HashMap<&str, Vec<HostElsewhere>> = HashMap::new();
        for &host in hosts.iter().filter(|_| !declared.is_empty()) {
            go_on(interrupt)?;
            let Some(counted) = snapshot.domain(host, dimension) else {
                continue;
            };
            for (_, path) in snapshot.domains_of_aggregates(host, dimension) {
                let of_path = found.entry(&**path).or_default();
                if !is_in_domain(counted, path) && of_path.len() < MAX_HOSTS {
                    of_path.push(HostElsewhere {
                        host: snapshot.uuid(host).to_owned(),
                        path: Arc::clone(counted),
                    });
                }
            }
        }
        Ok(CountedElsewhere(found))
    }

    /// The members of the aggregate of a domain.
    pub fn of_domain(&self, path: &str) -> Vec<HostElsewhere> {
        self.0.get(path).cloned().unwrap_or_default()
    }
}
