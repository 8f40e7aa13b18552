//! The answer: requests that would be granted, and summaries of the providers that they concern.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::super::output::{Number, append, since};
use crate::error::Result;
use crate::search::{Candidate, Request, Selection, Slot, Snapshot};
use crate::version::{
    ALL_CLASSES_IN_SUMMARIES, ALLOCATIONS_DICT, CANDIDATES_REQUIRED, MAPPINGS, NESTED_CANDIDATES, Version,
};

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
    shown: Option<&'a BTreeSet<String>>,
}

/// What comes next.
enum Part {
    Start,
    Requests,
    Summaries,
    Nothing,
}

/// An answer, written piece by piece while its candidates are searched for: what was written is forgotten.
pub struct Answer {
    version: Version,
    snapshot: Arc<Snapshot>,
    shown: Option<BTreeSet<String>>,
    found: Selection<Arc<Snapshot>, ()>,
    part: Part,
    /// What stands before the next item.
    lead: &'static str,
}

impl Answer {
    /// The answer to `request`, of what was `found` for it in `snapshot`.
    pub fn new(
        version: Version,
        snapshot: Arc<Snapshot>,
        request: &Request,
        found: Selection<Arc<Snapshot>, ()>,
    ) -> Answer {
        let asked = || request.groups.iter().flat_map(|group| &group.resources);
        let shown = (version < ALL_CLASSES_IN_SUMMARIES).then(|| asked().map(|(class, _)| class.clone()).collect());
        Answer {
            version,
            snapshot,
            shown,
            found,
            part: Part::Start,
            lead: "",
        }
    }

    /// Writes on until `out` has that `length`, or a little more. False where that was all.
    ///
    /// # Errors
    /// Those of the search. What is written by then is no answer.
    pub fn write(&mut self, out: &mut Vec<u8>, length: usize) -> Result<bool> {
        let writer = Writer {
            version: self.version,
            snapshot: &self.snapshot,
            shown: self.shown.as_ref(),
        };
        while out.len() < length {
            match self.part {
                Part::Start => {
                    out.extend_from_slice(br#"{"allocation_requests":["#);
                    self.part = Part::Requests;
                }
                Part::Requests => match self.found.next().transpose()? {
                    Some(candidate) => {
                        append(out, self.lead, &writer.request(&candidate));
                        self.lead = ",";
                    }
                    None => {
                        out.extend_from_slice(br#"],"provider_summaries":{"#);
                        (self.part, self.lead) = (Part::Summaries, "");
                    }
                },
                Part::Summaries => match self.found.next_summary() {
                    Some(slot) => {
                        append(out, self.lead, writer.uuid(slot));
                        append(out, ":", &writer.summary(slot));
                        self.lead = ",";
                    }
                    None => {
                        out.extend_from_slice(b"}}");
                        self.part = Part::Nothing;
                    }
                },
                Part::Nothing => return Ok(false),
            }
        }
        Ok(!matches!(self.part, Part::Nothing))
    }

    /// After all was written: were there more candidates than the deployment's ceiling lets through?
    pub fn is_cut(&self) -> bool {
        self.found.is_cut()
    }
}

impl<'a> Writer<'a> {
    fn uuid(&self, slot: Slot) -> &'a str {
        self.snapshot.uuid(slot)
    }

    fn request<'b>(&self, candidate: &'b Candidate) -> AllocationRequest<'b>
    where
        'a: 'b,
    {
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
