//! The conditions of a request on hosts: an expression and domains, which the root of the serving tree has to match.

use std::sync::Arc;

use super::expression::CompiledExpression;
use super::request::{Domain, HOST_DIMENSION, HostConditions};
use super::snapshot::{DescribedLanes, NameId, Slot, Snapshot, is_in_domain};

/// [`HostConditions`] with names looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostFilter {
    condition: Option<CompiledExpression>,
    /// By dimension. A host must be in a domain of each dimension.
    domains: Vec<Domains>,
    /// By dimension. A host must be in no domain.
    forbidden: Vec<Domains>,
}

/// Domains of one dimension.
#[derive(Clone, Debug, PartialEq)]
struct Domains {
    name: Arc<str>,
    /// `None` if no host has a path of the dimension.
    dimension: Option<NameId>,
    tops: Vec<Arc<str>>,
    /// Only in [`HOST_DIMENSION`]: the hosts with these uuids.
    hosts: Vec<Slot>,
}

impl HostFilter {
    /// `None` if every host matches.
    pub fn new(snapshot: &Snapshot, host: &HostConditions) -> Option<Self> {
        let has_condition = !host.condition.is_empty();
        (has_condition || !host.in_domains.is_empty() || !host.not_in_domains.is_empty()).then(|| Self {
            condition: has_condition.then(|| CompiledExpression::new(snapshot, &host.condition)),
            domains: by_dimension(snapshot, &host.in_domains),
            forbidden: by_dimension(snapshot, &host.not_in_domains),
        })
    }

    /// The matching subset of `lanes` of a block. All `lanes` must be roots.
    pub fn matching(&self, snapshot: &Snapshot, block: usize, mut lanes: u64) -> u64 {
        let described = snapshot.described_roots(block);
        for domains in &self.domains {
            lanes &= domains.lanes(described, block);
        }
        for domains in &self.forbidden {
            lanes &= !domains.lanes(described, block);
        }
        match &self.condition {
            Some(condition) if lanes != 0 => condition.matching(snapshot, block, described, lanes),
            _ => lanes,
        }
    }
}

impl Domains {
    /// The lanes inside any of these domains.
    fn lanes(&self, described: &DescribedLanes, block: usize) -> u64 {
        let hosts = self.hosts.iter().filter(|host| host.block() == block);
        let hosts = hosts.fold(0_u64, |all, host| all | 1 << host.lane());
        let Some(dimension) = self.dimension else { return hosts };
        let paths = described.paths(dimension);
        let inside = paths.filter(|(path, _)| self.tops.iter().any(|top| is_in_domain(path, top)));
        inside.fold(hosts, |all, (_, lanes)| all | lanes)
    }
}

fn by_dimension(snapshot: &Snapshot, domains: &[Domain]) -> Vec<Domains> {
    let mut all: Vec<Domains> = Vec::new();
    for Domain { dimension, path } in domains {
        let known = all.iter().position(|known| known.name == *dimension);
        let at = known.unwrap_or_else(|| {
            all.push(Domains {
                name: Arc::clone(dimension),
                dimension: snapshot.property_name(dimension),
                tops: Vec::new(),
                hosts: Vec::new(),
            });
            all.len() - 1
        });
        if **dimension == *HOST_DIMENSION {
            all[at].hosts.extend(snapshot.by_uuid(path));
        } else {
            all[at].tops.push(Arc::clone(path));
        }
    }
    all
}
