//! Keeps the domains of a host while replicas on the host belong to workloads whose rules `spread` or `within` name the
//! dimensions, unless the request is forced. The domains of a sharing provider may change: the provider is no host, and
//! no rule is about its domains.

use std::collections::{BTreeMap, BTreeSet};
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
        let changed = changed(state, *id, new);
        if changed.is_empty() {
            continue;
        }
        for (workload, body) in state.workloads_on(*id) {
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
fn changed(state: &State, id: ProviderId, new: &Describe) -> Vec<(Arc<str>, Arc<str>)> {
    let none = BTreeMap::new();
    let before = state.description(id).map_or(&none, |row| &row.description.domains);
    let after = &new.description.domains;
    let dimensions: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    let changed = dimensions
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name));
    changed
        .map(|name| (Arc::clone(name), before.get(name).cloned().unwrap_or_else(|| "".into())))
        .collect()
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
