//! `provider_summaries`: what the providers of the candidates have, and how much of it is used. Put together from texts
//! that are kept, because most of an answer is the traits of its hosts, and from sums.

use std::collections::BTreeSet;

use crate::search::{ClassId, Request, Slot, Snapshot};
use crate::version::{ALL_CLASSES_IN_SUMMARIES, CANDIDATES_REQUIRED, NESTED_CANDIDATES, Version};
use crate::wire::output::Out;
use crate::wire::texts::{STOCK_END, Texts};

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

    pub fn write(&self, out: &mut impl Out, snapshot: &Snapshot, slot: Slot) {
        let texts = Texts::of(snapshot, slot);
        let has = texts.has(snapshot, slot);
        out.put(texts.own_uuid(slot));
        out.put(br#":{"resources":{"#);
        let used = snapshot.usage(slot);
        let mut begun = false;
        for (class, text) in has.stocks(slot) {
            if self.shown.as_ref().is_none_or(|shown| shown.contains(&class)) {
                let apart = if std::mem::replace(&mut begun, true) {
                    0
                } else {
                    STOCK_END.len()
                };
                out.put(&text[apart..]);
                out.digits(used(class));
            }
        }
        out.put(if begun { b"}}" } else { b"}" });
        if self.traits {
            out.put(has.traits(slot));
        }
        if self.trees {
            out.put(br#","parent_provider_uuid":"#);
            match snapshot.near_parent(slot) {
                Some(parent) => out.put(texts.uuid_near(snapshot, slot, parent)),
                None => out.put(b"null"),
            }
            out.put(br#","root_provider_uuid":"#);
            out.put(texts.uuid_near(snapshot, slot, snapshot.near_root(slot)));
        }
        out.put(b"}");
    }
}
