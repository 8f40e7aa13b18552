//! A cache of the JSON texts of providers, for each block of 64 providers.
//!
//! Formatting dominates the cost of large answers, although a claim changes only usages and generations: the rest of a
//! provider's summary is the same for hours. So a summary is cached together with the usage at that time. If the usage
//! has changed, or if an old version shows fewer classes, the summary is assembled from the cached text of each class.

use std::sync::OnceLock;

use super::output::{Out, append};
use super::quoted::QuotedNames;
use crate::search::{ClassId, LANES, Slot, Snapshot};

/// The uuids and names of a block's providers, and, after the first summary, their inventories and traits.
pub struct ProviderTexts {
    bytes: Box<[u8]>,
    uuids: [ByteRange; LANES],
    names: [ByteRange; LANES],
    summaries: OnceLock<SummaryTexts>,
}

/// A range of bytes in a buffer.
#[derive(Clone, Copy, Default)]
struct ByteRange {
    start: u32,
    end: u32,
}

impl ByteRange {
    /// The range of the bytes which `write` appends to `bytes`.
    fn of(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> ByteRange {
        let start = bytes.len() as u32;
        write(bytes);
        let end = bytes.len() as u32;
        ByteRange { start, end }
    }

    fn in_bytes(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

impl ProviderTexts {
    /// The texts of the provider's block, each at the provider's lane.
    pub fn of(snapshot: &Snapshot, slot: Slot) -> &ProviderTexts {
        snapshot.derived(slot, || ProviderTexts::new(snapshot, slot))
    }

    fn new(snapshot: &Snapshot, slot: Slot) -> ProviderTexts {
        let mut bytes = Vec::new();
        let [mut uuids, mut names] = [[ByteRange::default(); LANES]; 2];
        for slot in snapshot.same_block(slot) {
            uuids[slot.lane()] = ByteRange::of(&mut bytes, |out| append(out, "", snapshot.uuid(slot)));
            names[slot.lane()] = ByteRange::of(&mut bytes, |out| append(out, "", snapshot.name(slot)));
        }
        ProviderTexts {
            bytes: bytes.into_boxed_slice(),
            uuids,
            names,
            summaries: OnceLock::new(),
        }
    }

    /// The provider's uuid in quotes.
    pub fn uuid(snapshot: &Snapshot, slot: Slot) -> &[u8] {
        ProviderTexts::of(snapshot, slot).own_uuid(slot)
    }

    /// The same, for a provider of this block.
    pub fn own_uuid(&self, slot: Slot) -> &[u8] {
        self.uuids[slot.lane()].in_bytes(&self.bytes)
    }

    /// The uuid of `other`. Fast if `other` is in the block of `slot`. `self` has the texts of this block.
    pub fn uuid_near<'a>(&'a self, snapshot: &'a Snapshot, slot: Slot, other: Slot) -> &'a [u8] {
        if slot.is_in_block_of(other) {
            self.own_uuid(other)
        } else {
            ProviderTexts::uuid(snapshot, other)
        }
    }

    /// The name of a provider of this block, in quotes.
    pub fn own_name(&self, slot: Slot) -> &[u8] {
        self.names[slot.lane()].in_bytes(&self.bytes)
    }

    /// The inventories and traits of the block's providers.
    pub fn summaries(&self, snapshot: &Snapshot, slot: Slot) -> &SummaryTexts {
        self.summaries.get_or_init(|| SummaryTexts::new(snapshot, slot))
    }

    /// The inventories and traits of the block's providers, if they are cached.
    pub fn cached_summaries(&self) -> Option<&SummaryTexts> {
        self.summaries.get()
    }

    /// The memory use in bytes.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        let summaries = self.summaries.get().map_or(0, |texts| {
            texts.bytes.len() + texts.class_texts.len() * std::mem::size_of::<ClassText>()
        });
        std::mem::size_of::<Self>() + self.bytes.len() + summaries
    }
}

/// Providers of a block with more classes or traits together have long summaries. Hosts have some thousand.
const MANY_NAMES: usize = 8192;

/// The texts of inventories and traits of a block's providers.
pub struct SummaryTexts {
    bytes: Box<[u8]>,
    /// The classes of all providers, in the order of the providers.
    class_texts: Box<[ClassText]>,
    own: [ByteRange; LANES],
    resources: [ByteRange; LANES],
    traits: [ByteRange; LANES],
}

/// The text of a class of a provider.
struct ClassText {
    class: ClassId,
    /// The text up to the value of `used`.
    text: ByteRange,
    /// The usage in the text of all classes.
    used: i64,
}

impl SummaryTexts {
    fn new(snapshot: &Snapshot, slot: Slot) -> SummaryTexts {
        let names = QuotedNames::of(snapshot.catalog());
        let (mut bytes, mut class_texts) = (Vec::new(), Vec::new());
        let [mut own, mut resources, mut traits] = [[ByteRange::default(); LANES]; 3];
        let mut text = Vec::new();
        for slot in snapshot.same_block(slot) {
            let start = class_texts.len() as u32;
            resources[slot.lane()] = ByteRange::of(&mut bytes, |out| {
                out.extend_from_slice(RESOURCES);
                let mut lead: &[u8] = b"";
                for (class, inventory, used) in snapshot.inventories(slot) {
                    if let Some(name) = names.of_class(class) {
                        out.extend_from_slice(lead);
                        lead = CLASS_END;
                        let text = ByteRange::of(out, |out| write_class(out, name, inventory.capacity()));
                        out.digits(used);
                        class_texts.push(ClassText { class, text, used });
                    }
                }
                out.extend_from_slice(if lead.is_empty() { NO_CLASS_END } else { LAST_CLASS_END });
            });
            let end = class_texts.len() as u32;
            own[slot.lane()] = ByteRange { start, end };
            text.clear();
            write_traits(&mut text, snapshot, names, slot);
            // Hosts of the same kind share the text of their traits.
            let shared = traits.iter().find(|span| span.in_bytes(&bytes) == text).copied();
            traits[slot.lane()] =
                shared.unwrap_or_else(|| ByteRange::of(&mut bytes, |out| out.extend_from_slice(&text)));
        }
        SummaryTexts {
            bytes: bytes.into_boxed_slice(),
            class_texts: class_texts.into_boxed_slice(),
            own,
            resources,
            traits,
        }
    }

    /// Whether writing the texts takes longer than an HTTP worker may.
    pub fn are_long(&self) -> bool {
        self.class_texts.len() > MANY_NAMES
    }

    /// Whether making or writing the texts of a block takes longer than an HTTP worker may.
    pub fn will_be_long(snapshot: &Snapshot, slot: Slot) -> bool {
        let block = || snapshot.same_block(slot);
        let mut classes = block().flat_map(|slot| snapshot.inventories(slot));
        let mut traits = block().flat_map(|slot| snapshot.traits(slot));
        classes.nth(MANY_NAMES).is_some() || traits.nth(MANY_NAMES).is_some()
    }

    /// The lanes whose text of all classes contains outdated usage, as a bit set.
    pub fn outdated(&self, snapshot: &Snapshot, slot: Slot) -> u64 {
        snapshot.stale_lanes(slot, || {
            let stale = snapshot.same_block(slot).filter(|&slot| {
                let used = snapshot.usage(slot);
                self.own(slot).iter().any(|text| used(text.class) != text.used)
            });
            stale.fold(0, |lanes, slot| lanes | 1 << slot.lane())
        })
    }

    /// The text of all classes of a provider, beginning after the uuid, with the usage at the time of caching.
    pub fn resources(&self, slot: Slot) -> &[u8] {
        self.resources[slot.lane()].in_bytes(&self.bytes)
    }

    fn own(&self, slot: Slot) -> &[ClassText] {
        let ByteRange { start, end } = self.own[slot.lane()];
        &self.class_texts[start as usize..end as usize]
    }

    /// The classes of a provider, each with the text up to the value of `used`.
    pub fn class_texts(&self, slot: Slot) -> impl Iterator<Item = (ClassId, &[u8])> {
        let own = self.own(slot).iter();
        own.map(|class| (class.class, class.text.in_bytes(&self.bytes)))
    }

    /// The text of a provider's traits, including the key.
    pub fn traits(&self, slot: Slot) -> &[u8] {
        self.traits[slot.lane()].in_bytes(&self.bytes)
    }
}

/// The texts between a provider's uuid and the classes, between two classes, and after the last class.
pub const RESOURCES: &[u8] = br#":{"resources":{"#;
pub const CLASS_END: &[u8] = b"},";
pub const LAST_CLASS_END: &[u8] = b"}}";
pub const NO_CLASS_END: &[u8] = b"}";

fn write_class(out: &mut Vec<u8>, name: &[u8], capacity: f64) {
    out.extend_from_slice(name);
    out.extend_from_slice(br#":{"capacity":"#);
    // The API shows the capacity rounded towards zero, as an integer of any length.
    let whole = capacity.trunc();
    if whole.abs() < 1e18 {
        out.digits(whole as i64);
    } else if whole.is_finite() {
        out.extend_from_slice(format!("{whole:.0}").as_bytes());
    } else {
        // A different program stored a ratio which the API refuses.
        out.extend_from_slice(b"null");
    }
    out.extend_from_slice(br#","used":"#);
}

fn write_traits(out: &mut Vec<u8>, snapshot: &Snapshot, names: &QuotedNames, slot: Slot) {
    let mut lead: &[u8] = br#","traits":["#;
    let trait_names = snapshot.traits(slot).filter_map(|id| names.of_trait(id));
    for name in trait_names {
        out.extend_from_slice(lead);
        out.extend_from_slice(name);
        lead = b",";
    }
    if out.is_empty() {
        out.extend_from_slice(lead);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests;
