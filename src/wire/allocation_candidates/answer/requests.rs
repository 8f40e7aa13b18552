//! `allocation_requests`: what can be sent back as claims. Written as bytes, without a tree of values: there may be
//! thousands, and each is a few names and numbers.

use crate::search::{Candidate, Placement, Slot, Snapshot};
use crate::version::{ALLOCATIONS_DICT, MAPPINGS, Version};
use crate::wire::output::{digits, quote};
use crate::wire::quoted::Quoted;

use super::set_apart;

/// How a version shows them.
pub struct Requests {
    by_provider: bool,
    mappings: bool,
}

impl Requests {
    pub fn of(version: Version) -> Requests {
        Requests {
            by_provider: version >= ALLOCATIONS_DICT,
            mappings: version >= MAPPINGS,
        }
    }

    pub fn write(&self, out: &mut Vec<u8>, snapshot: &Snapshot, names: &Quoted, candidate: &Candidate) {
        let placements = &candidate.placements;
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
            set_apart(out, &mut begun);
            if self.by_provider {
                quote(out, snapshot.uuid(slot));
                out.extend_from_slice(br#":{"resources":{"#);
            } else {
                // Before 1.12.
                out.extend_from_slice(br#"{"resource_provider":{"uuid":"#);
                quote(out, snapshot.uuid(slot));
                out.extend_from_slice(br#"},"resources":{"#);
            }
            resources(out, names, &placements[at..], slot);
            out.extend_from_slice(b"}}");
        }
        out.push(if self.by_provider { b'}' } else { b']' });
        if self.mappings {
            mappings(out, snapshot, candidate);
        }
        out.push(b'}');
    }
}

/// What one provider gives.
fn resources(out: &mut Vec<u8>, names: &Quoted, placements: &[Placement], slot: Slot) {
    let mut begun = false;
    for placement in placements.iter().filter(|it| it.slot == slot) {
        if let Some(name) = names.of_class(placement.class) {
            set_apart(out, &mut begun);
            out.extend_from_slice(name);
            out.push(b':');
            digits(out, placement.amount);
        }
    }
}

/// For each group by its suffix the providers that serve it.
fn mappings(out: &mut Vec<u8>, snapshot: &Snapshot, candidate: &Candidate) {
    let mut begun = false;
    out.extend_from_slice(br#","mappings":{"#);
    for (suffix, slots) in &candidate.mappings {
        set_apart(out, &mut begun);
        quote(out, suffix);
        out.extend_from_slice(b":[");
        let mut begun = false;
        for &slot in slots.iter() {
            set_apart(out, &mut begun);
            quote(out, snapshot.uuid(slot));
        }
        out.push(b']');
    }
    out.push(b'}');
}
