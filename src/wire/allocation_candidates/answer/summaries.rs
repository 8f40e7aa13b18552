//! `provider_summaries`: what the providers of the candidates have, and how much of it is used. Put together from texts
//! that are kept, because most of an answer is the traits of its hosts, and from sums.

use std::collections::BTreeSet;

use crate::search::{Bunch, ClassId, Request, Slot, Snapshot};
use crate::version::{ALL_CLASSES_IN_SUMMARIES, CANDIDATES_REQUIRED, NESTED_CANDIDATES, Version};
use crate::wire::output::Out;
use crate::wire::texts::{Has, LAST_STOCK_END, NO_STOCK_END, RESOURCES, STOCK_END, Texts};

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

    /// Writes summaries of `bunch` with `lead` before the first, until `out` has that `length`; takes away who was written.
    pub fn write(&self, out: &mut impl Out, snapshot: &Snapshot, bunch: &mut Bunch, mut lead: &[u8], length: usize) {
        let Some(first) = bunch.first() else { return };
        let texts = Texts::of(snapshot, first);
        let has = texts.has(snapshot, first);
        let outdated = match &self.shown {
            Some(_) => u64::MAX,
            None => has.outdated(snapshot, first),
        };
        while out.length() < length {
            let Some(slot) = bunch.next() else { return };
            out.put(lead);
            lead = b",";
            out.put(texts.own_uuid(slot));
            if outdated >> slot.lane() & 1 == 0 {
                out.put(has.resources(slot));
            } else {
                self.resources(out, snapshot, has, slot);
            }
            if self.traits {
                out.put(has.traits(slot));
            }
            if self.trees {
                let parent = snapshot.near_parent(slot);
                let parent = parent.map_or(b"null".as_slice(), |parent| texts.uuid_near(snapshot, slot, parent));
                let root = texts.uuid_near(snapshot, slot, snapshot.near_root(slot));
                tree(out, parent, root);
            }
            out.put(b"}");
        }
    }

    fn resources(&self, out: &mut impl Out, snapshot: &Snapshot, has: &Has, slot: Slot) {
        out.put(RESOURCES);
        let used = snapshot.usage(slot);
        let mut begun = false;
        for (class, text) in has.stocks(slot) {
            if self.shown.as_ref().is_none_or(|shown| shown.contains(&class)) {
                out.put(if std::mem::replace(&mut begun, true) {
                    STOCK_END
                } else {
                    b""
                });
                out.put(text);
                out.digits(used(class));
            }
        }
        out.put(if begun { LAST_STOCK_END } else { NO_STOCK_END });
    }
}

fn tree(out: &mut impl Out, parent: &[u8], root: &[u8]) {
    out.put(br#","parent_provider_uuid":"#);
    out.put(parent);
    out.put(br#","root_provider_uuid":"#);
    out.put(root);
}
