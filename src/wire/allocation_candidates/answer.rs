//! The answer: requests that would be granted, and summaries of the providers that they concern.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::output::{List, Map, Number, json, since};
use crate::search::{Candidate, Found, Request, Slot, Snapshot};
use crate::version::{
    ALL_CLASSES_IN_SUMMARIES, ALLOCATIONS_DICT, CANDIDATES_REQUIRED, MAPPINGS, NESTED_CANDIDATES, Version,
};

#[derive(Serialize)]
struct Answer<R, S> {
    allocation_requests: R,
    provider_summaries: S,
}

/// What can be sent back as a claim.
#[derive(Serialize)]
struct AllocationRequest<'a> {
    allocations: Allocations<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mappings: Option<BTreeMap<&'a str, Vec<&'a str>>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Allocations<'a> {
    ByProvider(BTreeMap<&'a str, Share<'a>>),
    /// Before 1.12.
    List(Vec<ProviderShare<'a>>),
}

#[derive(Default, Serialize)]
struct Share<'a> {
    resources: BTreeMap<&'a str, i64>,
}

#[derive(Serialize)]
struct ProviderShare<'a> {
    resource_provider: Provider<'a>,
    #[serde(flatten)]
    share: Share<'a>,
}

#[derive(Serialize)]
struct Provider<'a> {
    uuid: &'a str,
}

#[derive(Serialize)]
struct Summary<'a> {
    resources: BTreeMap<&'a str, Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traits: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_provider_uuid: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_provider_uuid: Option<&'a str>,
}

#[derive(Serialize)]
struct Usage {
    capacity: Number,
    used: i64,
}

/// What writing an answer needs at hand.
struct Writer<'a> {
    version: Version,
    snapshot: &'a Snapshot,
    /// The classes that summaries show; all of them where there is no list.
    shown: Option<BTreeSet<&'a str>>,
}

/// Writes the candidates that were found for a request in one version of the snapshot.
pub fn write(version: Version, snapshot: &Snapshot, request: &Request, found: &Found) -> Vec<u8> {
    let asked = || {
        request
            .groups
            .iter()
            .flat_map(|group| &group.resources)
            .map(|(class, _)| class.as_str())
    };
    let shown = (version < ALL_CLASSES_IN_SUMMARIES).then(|| asked().collect());
    let writer = Writer {
        version,
        snapshot,
        shown,
    };
    json(&Answer {
        allocation_requests: List(|| found.candidates.iter().map(|candidate| writer.request(candidate))),
        provider_summaries: Map(|| {
            found
                .summaries
                .iter()
                .map(|&slot| (writer.uuid(slot), writer.summary(slot)))
        }),
    })
}

impl<'a> Writer<'a> {
    fn uuid(&self, slot: Slot) -> &'a str {
        self.snapshot.uuid(slot)
    }

    fn request(&self, candidate: &'a Candidate) -> AllocationRequest<'a> {
        let mut shares: BTreeMap<&str, Share<'_>> = BTreeMap::new();
        for placement in &candidate.placements {
            if let Some(class) = self.snapshot.catalog().class_name(placement.class) {
                shares
                    .entry(self.uuid(placement.slot))
                    .or_default()
                    .resources
                    .insert(class, placement.amount);
            }
        }
        let mappings = candidate.mappings.iter();
        let mappings = mappings.map(|(suffix, slots)| (&**suffix, slots.iter().map(|&slot| self.uuid(slot)).collect()));
        AllocationRequest {
            allocations: if self.version >= ALLOCATIONS_DICT {
                Allocations::ByProvider(shares)
            } else {
                let shares = shares.into_iter();
                let shares = shares.map(|(uuid, share)| ProviderShare {
                    resource_provider: Provider { uuid },
                    share,
                });
                Allocations::List(shares.collect())
            },
            mappings: since(self.version, MAPPINGS, mappings).map(Iterator::collect),
        }
    }

    fn summary(&self, slot: Slot) -> Summary<'a> {
        let (snapshot, catalog) = (self.snapshot, self.snapshot.catalog());
        let resources = snapshot.inventories(slot).filter_map(|(class, inventory, used)| {
            let class: &str = catalog.class_name(class)?;
            let shown = self.shown.as_ref().is_none_or(|shown| shown.contains(class));
            // What is shown is rounded towards zero.
            shown.then(|| {
                (
                    class,
                    Usage {
                        capacity: Number::truncated(inventory.capacity()),
                        used,
                    },
                )
            })
        });
        let traits = snapshot
            .traits(slot)
            .filter_map(|id| catalog.trait_name(id))
            .map(|name| &**name);
        Summary {
            resources: resources.collect(),
            traits: since(self.version, CANDIDATES_REQUIRED, traits).map(Iterator::collect),
            parent_provider_uuid: since(
                self.version,
                NESTED_CANDIDATES,
                snapshot.parent(slot).map(|parent| self.uuid(parent)),
            ),
            root_provider_uuid: since(self.version, NESTED_CANDIDATES, self.uuid(snapshot.root(slot))),
        }
    }
}

#[cfg(test)]
mod tests;
