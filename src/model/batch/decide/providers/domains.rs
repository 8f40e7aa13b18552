//! Keeps the domains of a host while replicas on the host belong to workloads whose rules `spread` or `within` name the
//! dimensions, unless the request is forced. The domains of a sharing provider may change: the provider is no host, and
//! no rule is about its domains.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Reason, ReasonCode, Reasons, Result};
use crate::model::batch::state::State;
use crate::model::providers::Describe;
use crate::model::workloads::spec::ReadSpec;
use crate::search::ProviderId;

/// # Errors
/// [`Error::DomainInUse`], with a reason for each host, dimension and workload.
pub fn check(state: &mut State, descriptions: &[Describe], ids: &[ProviderId], read_spec: ReadSpec) -> Result<()> {
    let mut reasons = Reasons::default();
    for (id, new) in ids.iter().zip(descriptions) {
        let is_root = state.provider(*id).is_some_and(|row| row.parent.is_none());
        if !is_root || state.is_sharing(*id) {
            continue;
        }
        let workloads = state.workloads_on(*id);
        if workloads.is_empty() {
            continue;
        }
        let changed = changed(state, *id, new);
        for (workload, body) in workloads {
            let spec = read_spec(&body).ok();
            let own = spec.as_ref().map(|spec| spec.own_dimensions());
            // The default rule is about existing dimensions, and a workload of one needs no domain.
            let may_lack = spec
                .as_ref()
                .is_some_and(|spec| spec.rules.is_none() || spec.is_single());
            for (dimension, path) in &changed {
                if may_lack && path.is_empty() {
                    continue;
                }
                // An unreadable body may be about any dimension.
                if own.as_ref().is_none_or(|own| own.contains(&&**dimension)) {
                    reasons.add(Reason {
                        provider_name: state.provider_name(&new.provider),
                        ..in_use(new, dimension, path, &workload)
                    });
                }
            }
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Error::DomainInUse {
        reasons: Arc::new(reasons),
    })
}

/// The dimensions in which the provider's domain changes, with the domain before the change: empty if there was none.
///
/// Without a domain in the description, the aggregates of the provider give the domain.
fn changed(state: &mut State, id: ProviderId, new: &Describe) -> Vec<(Arc<str>, Arc<str>)> {
    let row = state.description(id);
    let before = row.map(|row| row.description.domains.clone()).unwrap_or_default();
    let after = &new.description.domains;
    let mut changed = Vec::new();
    for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        if before.get(name) == after.get(name) {
            continue;
        }
        let of_aggregates = state.domain_of_aggregates(id, name);
        let before = before.get(name).or(of_aggregates.as_ref());
        if before != after.get(name).or(of_aggregates.as_ref()) {
            changed.push((Arc::clone(name), before.cloned().unwrap_or_else(|| "".into())));
        }
    }
    changed
}

fn in_use(new: &Describe, dimension: &str, path: &str, workload: &str) -> Reason {
    let host = &new.provider;
    Reason {
        resource_provider: Some(host.clone()),
        domain: (!path.is_empty()).then(|| format!("{dimension}:{path}")),
        ..Reason::new(
            ReasonCode::DomainInUse,
            format!("Replicas of workload {workload}, whose rules name {dimension}, stand on host {host}."),
        )
    }
}
