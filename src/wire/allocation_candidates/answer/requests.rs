//! `allocation_requests`: candidates in the form of claims. There may be thousands, so they are written as bytes,
//! without a tree of values.

use crate::search::{Candidate, Placement, Slot, Snapshot};
use crate::version::{ALLOCATIONS_DICT, MAPPINGS, Version};
use crate::wire::output::{Out, WordTemplate, append, separate};
use crate::wire::provider_texts::ProviderTexts;
use crate::wire::quoted::QuotedNames;

/// The format of allocation requests in a version.
pub struct Requests {
    by_provider: bool,
    mappings: bool,
    /// The text of a request to a single provider. Within an answer, these requests differ only in the provider.
    single: Option<WordTemplate>,
}

impl Requests {
    pub fn of(version: Version) -> Requests {
        Requests {
            by_provider: version >= ALLOCATIONS_DICT,
            mappings: version >= MAPPINGS,
            single: None,
        }
    }

    pub fn write(&mut self, out: &mut Vec<u8>, snapshot: &Snapshot, candidate: &Candidate) {
        let Some(slot) = single_provider(candidate) else {
            return self.write_general(out, snapshot, candidate);
        };
        let uuid = ProviderTexts::uuid(snapshot, slot);
        if let Some(template) = &self.single {
            return template.fill(out, uuid);
        }
        let begin = out.len();
        self.write_general(out, snapshot, candidate);
        let template = WordTemplate::of(&out[begin..], uuid);
        let gaps = if self.mappings { 2 } else { 1 };
        self.single = (template.gaps() == gaps).then_some(template);
    }

    fn write_general(&self, out: &mut Vec<u8>, snapshot: &Snapshot, candidate: &Candidate) {
        let names = QuotedNames::of(snapshot.catalog());
        let placements = &candidate.placements;
        // Usually all providers are in the same block.
        let first_texts = placements
            .first()
            .map(|first| (first.slot, ProviderTexts::of(snapshot, first.slot)));
        let uuid = |slot| match first_texts {
            Some((first, texts)) => texts.uuid_near(snapshot, first, slot),
            None => ProviderTexts::uuid(snapshot, slot),
        };
        let mut begun = false;
        out.extend_from_slice(if self.by_provider {
            br#"{"allocations":{"#
        } else {
            br#"{"allocations":["#
        });
        for (at, placement) in placements.iter().enumerate() {
            let slot = placement.slot;
            if placements[..at].iter().any(|earlier| earlier.slot == slot) {
                continue;
            }
            separate(out, &mut begun);
            if self.by_provider {
                out.extend_from_slice(uuid(slot));
                out.extend_from_slice(br#":{"resources":{"#);
            } else {
                // Before 1.12.
                out.extend_from_slice(br#"{"resource_provider":{"uuid":"#);
                out.extend_from_slice(uuid(slot));
                out.extend_from_slice(br#"},"resources":{"#);
            }
            resources(out, names, &placements[at..], slot);
            out.extend_from_slice(b"}}");
        }
        out.push(if self.by_provider { b'}' } else { b']' });
        if self.mappings {
            mappings(out, candidate, uuid);
        }
        out.push(b'}');
    }
}

/// The provider of a candidate with a single group and a single provider.
fn single_provider(candidate: &Candidate) -> Option<Slot> {
    let [(_, slots)] = candidate.mappings.as_slice() else {
        return None;
    };
    let slot = candidate.placements.first()?.slot;
    let is_single = candidate.placements.iter().all(|placement| placement.slot == slot) && slots.iter().eq([&slot]);
    is_single.then_some(slot)
}

/// The resources of a provider.
fn resources(out: &mut Vec<u8>, names: &QuotedNames, placements: &[Placement], slot: Slot) {
    let mut begun = false;
    for placement in placements.iter().filter(|placement| placement.slot == slot) {
        if let Some(name) = names.of_class(placement.class) {
            separate(out, &mut begun);
            out.extend_from_slice(name);
            out.push(b':');
            out.digits(placement.amount);
        }
    }
}

/// The providers of each group, by suffix.
fn mappings<'a>(out: &mut Vec<u8>, candidate: &Candidate, uuid: impl Fn(Slot) -> &'a [u8]) {
    let mut begun = false;
    out.extend_from_slice(br#","mappings":{"#);
    for (suffix, slots) in &candidate.mappings {
        separate(out, &mut begun);
        append(out, "", &**suffix);
        out.extend_from_slice(b":[");
        let mut begun = false;
        for &slot in slots.iter() {
            separate(out, &mut begun);
            out.extend_from_slice(uuid(slot));
        }
        out.push(b']');
    }
    out.push(b'}');
}
