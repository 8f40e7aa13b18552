//! `provider_summaries`: what the providers of the candidates have, and how much of it is used. Written as bytes, as
//! `requests` are: most of an answer is the traits of its hosts.

use std::collections::BTreeSet;

use crate::search::{ClassId, Request, Slot, Snapshot};
use crate::version::{ALL_CLASSES_IN_SUMMARIES, CANDIDATES_REQUIRED, NESTED_CANDIDATES, Version};
use crate::wire::output::{Number, append, digits, quote};
use crate::wire::quoted::Quoted;

use super::set_apart;

/// How a version shows them.
pub struct Summaries {
    /// The classes that are shown; all of them where there is no list.
    shown: Option<BTreeSet<ClassId>>,
    traits: bool,
    trees: bool,
}

impl Summaries {
    pub fn of(version: Version, snapshot: &Snapshot, request: &Request) -> Summaries {
        let asked = || request.groups.iter().flat_map(|group| &group.resources);
        let class = |(name, _): &(String, i64)| snapshot.catalog().class_id(name);
        Summaries {
            shown: (version < ALL_CLASSES_IN_SUMMARIES).then(|| asked().filter_map(class).collect()),
            traits: version >= CANDIDATES_REQUIRED,
            trees: version >= NESTED_CANDIDATES,
        }
    }

    pub fn write(&self, out: &mut Vec<u8>, snapshot: &Snapshot, names: &Quoted, slot: Slot) {
        quote(out, snapshot.uuid(slot));
        out.extend_from_slice(br#":{"resources":{"#);
        self.resources(out, snapshot, names, slot);
        out.push(b'}');
        if self.traits {
            traits(out, snapshot, names, slot);
        }
        if self.trees {
            out.extend_from_slice(br#","parent_provider_uuid":"#);
            match snapshot.parent(slot) {
                Some(parent) => quote(out, snapshot.uuid(parent)),
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(br#","root_provider_uuid":"#);
            quote(out, snapshot.uuid(snapshot.root(slot)));
        }
        out.push(b'}');
    }

    fn resources(&self, out: &mut Vec<u8>, snapshot: &Snapshot, names: &Quoted, slot: Slot) {
        let mut begun = false;
        for (class, inventory, used) in snapshot.inventories(slot) {
            let shown = self.shown.as_ref().is_none_or(|shown| shown.contains(&class));
            if let Some(name) = names.of_class(class).filter(|_| shown) {
                set_apart(out, &mut begun);
                out.extend_from_slice(name);
                out.extend_from_slice(br#":{"capacity":"#);
                whole(out, inventory.capacity());
                out.extend_from_slice(br#","used":"#);
                digits(out, used);
                out.push(b'}');
            }
        }
    }
}

fn traits(out: &mut Vec<u8>, snapshot: &Snapshot, names: &Quoted, slot: Slot) {
    let mut begun = false;
    out.extend_from_slice(br#","traits":["#);
    for name in snapshot.traits(slot).filter_map(|id| names.of_trait(id)) {
        set_apart(out, &mut begun);
        out.extend_from_slice(name);
    }
    out.push(b']');
}

/// A capacity, rounded towards zero as it is shown.
fn whole(out: &mut Vec<u8>, capacity: f64) {
    match Number::truncated(capacity) {
        Number::Whole(number) if i64::try_from(number).is_ok() => digits(out, number as i64),
        other => append(out, "", &other),
    }
}
