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
    /// `measured` is raised by the length of the summaries in bytes, each with a comma.
    ///
    /// # Errors
    /// If the search must end.
    pub fn cache(
        &self,
        snapshot: &Snapshot,
        mut block: BlockSlots,
        interrupt: &Interrupt,
        measured: Option<&mut usize>,
    ) -> Result<bool> {
        let Some(first) = block.first() else {
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
        let texts = BlockTexts::of(snapshot, texts, first);
        if let Some(measured) = measured {
            let mut length = Length::default();
            self.write_texts(&mut length, &texts, &mut block, b",", usize::MAX);
            *measured += length.0;
        }
        Ok(is_long)
    }

    /// Writes summaries of the providers in `block`, with `lead` before the first, until `out` has `length` bytes.
    /// Removes the written providers from `block`.
    pub fn write(&self, out: &mut Vec<u8>, snapshot: &Snapshot, block: &mut BlockSlots, lead: &[u8], length: usize) {
        if let Some(first) = block.first() {
            let texts = BlockTexts::of(snapshot, ProviderTexts::of(snapshot, first), first);
            self.write_texts(out, &texts, block, lead, length);
        }
    }

    fn write_texts(
        &self,
        out: &mut impl Out,
        texts: &BlockTexts,
        block: &mut BlockSlots,
        mut lead: &[u8],
        length: usize,
    ) {
        let BlockTexts {
            snapshot,
            texts,
            cached,
            outdated,
        } = *texts;
        let outdated = if self.classes.is_some() { u64::MAX } else { outdated };
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

/// The cached texts of a block.
struct BlockTexts<'a> {
    snapshot: &'a Snapshot,
    texts: &'a ProviderTexts,
    cached: &'a SummaryTexts,
    /// The lanes whose usage changed since.
    outdated: u64,
}

impl<'a> BlockTexts<'a> {
    /// `texts` are those of the block of `slot`.
    fn of(snapshot: &'a Snapshot, texts: &'a ProviderTexts, slot: Slot) -> BlockTexts<'a> {
        let cached = texts.summaries(snapshot, slot);
        BlockTexts {
            snapshot,
            texts,
            cached,
            outdated: cached.outdated(snapshot, slot),
        }
    }
}
