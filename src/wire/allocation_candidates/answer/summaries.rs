//! `provider_summaries`: capacities, usages and traits of the candidates' providers. Assembled from cached texts,
//! because the traits of hosts make up most of an answer.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::search::{BlockSlots, ClassId, Interrupt, Request, Slot, Snapshot, check_interrupt};
use crate::version::{ALL_CLASSES_IN_SUMMARIES, CANDIDATES_REQUIRED, NESTED_CANDIDATES, Version};
use crate::wire::output::{Length, Out};
use crate::wire::provider_texts::{CLASS_END, LAST_CLASS_END, NO_CLASS_END, ProviderTexts, RESOURCES, SummaryTexts};

/// The format of summaries in a version.
pub struct Summaries {
    /// The classes in a summary; `None` for all.
    classes: Option<BTreeSet<ClassId>>,
    traits: bool,
    trees: bool,
    /// Whether a summary has the provider's name, as in the native API.
    pub names: bool,
}

impl Summaries {
    pub fn of(version: Version, snapshot: &Snapshot, request: &Request) -> Summaries {
        let requested = || request.groups.iter().flat_map(|group| &group.resources);
        let class = |(name, _): &(String, i64)| snapshot.catalog().class_id(name);
        Summaries {
            classes: (version < ALL_CLASSES_IN_SUMMARIES).then(|| requested().filter_map(class).collect()),
            traits: version >= CANDIDATES_REQUIRED,
            trees: version >= NESTED_CANDIDATES,
            names: false,
        }
    }

    /// Caches the texts of the summaries of a block, unless cached before. Returns whether the texts are long.
    ///
    /// Texts may contain any number of traits and classes. So an attempt on an HTTP worker ends here at long texts.
    ///
    /// # Errors
    /// If the search must end.
    pub fn cache(&self, snapshot: &Snapshot, mut block: BlockSlots, interrupt: &Interrupt) -> Result<bool> {
        let Some(first) = block.next() else {
            return Ok(false);
        };
        let texts = ProviderTexts::of(snapshot, first);
        let is_long = match texts.cached_summaries() {
            Some(cached) => cached.are_long(),
            None => SummaryTexts::will_be_long(snapshot, first),
        };
        if is_long {
            interrupt.exhaust();
            check_interrupt(interrupt)?;
        }
        texts.summaries(snapshot, first).outdated(snapshot, first);
        Ok(is_long)
    }

    /// The length of the summaries of the providers in `block` in bytes, each with a comma.
    pub fn length(&self, snapshot: &Snapshot, mut block: BlockSlots) -> usize {
        let mut length = Length::default();
        self.write(&mut length, snapshot, &mut block, b",", usize::MAX);
        length.0
    }

    /// Writes summaries of the providers in `block`, with `lead` before the first, until `out` has `length` bytes.
    /// Removes the written providers from `block`.
    pub fn write(
        &self,
        out: &mut impl Out,
        snapshot: &Snapshot,
        block: &mut BlockSlots,
        mut lead: &[u8],
        length: usize,
    ) {
        let Some(first) = block.first() else { return };
        let texts = ProviderTexts::of(snapshot, first);
        let cached = texts.summaries(snapshot, first);
        let outdated = match &self.classes {
            Some(_) => u64::MAX,
            None => cached.outdated(snapshot, first),
        };
        while out.length() < length {
            let Some(slot) = block.next() else { return };
            out.put(lead);
            lead = b",";
            out.put(texts.own_uuid(slot));
            if outdated >> slot.lane() & 1 == 0 {
                out.put(cached.resources(slot));
            } else {
                self.resources(out, snapshot, cached, slot);
            }
            if self.traits {
                out.put(cached.traits(slot));
            }
            if self.trees {
                let parent = snapshot.cached_parent(slot);
                let parent = parent.map_or(b"null".as_slice(), |parent| texts.uuid_near(snapshot, slot, parent));
                out.put(br#","parent_provider_uuid":"#);
                out.put(parent);
                out.put(br#","root_provider_uuid":"#);
                out.put(texts.uuid_near(snapshot, slot, snapshot.cached_root(slot)));
            }
            if self.names {
                out.put(br#","name":"#);
                out.put(texts.own_name(slot));
            }
            out.put(b"}");
        }
    }

    fn resources(&self, out: &mut impl Out, snapshot: &Snapshot, cached: &SummaryTexts, slot: Slot) {
        out.put(RESOURCES);
        let used = snapshot.usage(slot);
        let mut lead: &[u8] = b"";
        for (class, text) in cached.class_texts(slot) {
            if self.classes.as_ref().is_none_or(|classes| classes.contains(&class)) {
                out.put(lead);
                lead = CLASS_END;
                out.put(text);
                out.digits(used(class));
            }
        }
        out.put(if lead.is_empty() { NO_CLASS_END } else { LAST_CLASS_END });
    }
}
