//! `allocation_requests`: what can be sent back as claims. Written as bytes, without a tree of values: there may be
//! thousands, and each is a few names and numbers.

use crate::search::{Candidate, Placement, Slot, Snapshot};
use crate::version::{ALLOCATIONS_DICT, MAPPINGS, Version};
use crate::wire::output::{Form, digits, quote};
use crate::wire::quoted::Quoted;
use crate::wire::texts::Texts;

use super::set_apart;

/// How a version shows them.
pub struct Requests {
    by_provider: bool,
    mappings: bool,
    /// How a request looks that one provider serves: in all those of an answer it gives the same to the same group.
    alone: Option<Form>,
}

impl Requests {
    pub fn of(version: Version) -> Requests {
        Requests {
            by_provider: version >= ALLOCATIONS_DICT,
            mappings: version >= MAPPINGS,
            alone: None,
        }
    }

    pub fn write(&mut self, out: &mut Vec<u8>, snapshot: &Snapshot, candidate: &Candidate) {
        let Some(slot) = alone(candidate) else {
            return self.write_any(out, snapshot, candidate);
        };
        let uuid = Texts::uuid(snapshot, slot);
        if !self.alone.as_ref().is_some_and(|form| form.fill(out, uuid)) {
            let begin = out.len();
            self.write_any(out, snapshot, candidate);
            self.alone = Form::of(&out[begin..], uuid, if self.mappings { 2 } else { 1 });
        }
    }

    fn write_any(&self, out: &mut Vec<u8>, snapshot: &Snapshot, candidate: &Candidate) {
        let names = Quoted::of(snapshot.catalog());
        let placements = &candidate.placements;
        // Mostly all stand beside each other.
        let near = placements.first().map(|it| (it.slot, Texts::of(snapshot, it.slot)));
        let uuid = |slot| match near {
            Some((first, texts)) => texts.uuid_near(snapshot, first, slot),
            None => Texts::uuid(snapshot, slot),
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
            set_apart(out, &mut begun);
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

/// The provider that serves all of a candidate of one group.
fn alone(candidate: &Candidate) -> Option<Slot> {
    let [(_, slots)] = candidate.mappings.as_slice() else {
        return None;
    };
    let slot = candidate.placements.first()?.slot;
    let is_alone = candidate.placements.iter().all(|it| it.slot == slot) && slots.iter().eq([&slot]);
    is_alone.then_some(slot)
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
fn mappings<'a>(out: &mut Vec<u8>, candidate: &Candidate, uuid: impl Fn(Slot) -> &'a [u8]) {
    let mut begun = false;
    out.extend_from_slice(br#","mappings":{"#);
    for (suffix, slots) in &candidate.mappings {
        set_apart(out, &mut begun);
        quote(out, suffix);
        out.extend_from_slice(b":[");
        let mut begun = false;
        for &slot in slots.iter() {
            set_apart(out, &mut begun);
            out.extend_from_slice(uuid(slot));
        }
        out.push(b']');
    }
    out.push(b'}');
}
