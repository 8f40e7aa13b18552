//! What answers say of providers again and again, written once for the 64 that stand side by side.
//!
//! A claim changes how much is used and a generation; everything else of a summary stays as it is for hours. So what a provider
//! has is kept with the usage of some moment; where that is no longer true, and for old versions, which show less of the same,
//! it is put together from parts of the same texts.

use std::sync::OnceLock;

use super::output::{Number, append, digits, quote};
use super::quoted::Quoted;
use crate::search::{ClassId, LANES, Slot, Snapshot};

/// Who the providers are, and when a summary first asks, what they have.
pub struct Texts {
    bytes: Box<[u8]>,
    uuids: [Span; LANES],
    names: [Span; LANES],
    has: OnceLock<Has>,
}

/// A part of bytes.
#[derive(Clone, Copy, Default)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// What `write` puts to the end of `bytes`.
    fn of(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = bytes.len() as u32;
        write(bytes);
        let end = bytes.len() as u32;
        Span { start, end }
    }

    fn in_bytes(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

impl Texts {
    /// Those of a provider and of the ones beside it, each at its lane.
    pub fn of(snapshot: &Snapshot, slot: Slot) -> &Texts {
        snapshot.kept(slot, || Texts::new(snapshot, slot))
    }

    fn new(snapshot: &Snapshot, slot: Slot) -> Texts {
        let mut bytes = Vec::new();
        let (mut uuids, mut names) = ([Span::default(); LANES], [Span::default(); LANES]);
        for slot in snapshot.beside(slot) {
            uuids[slot.lane()] = Span::of(&mut bytes, |out| quote(out, snapshot.uuid(slot)));
            names[slot.lane()] = Span::of(&mut bytes, |out| quote(out, snapshot.name(slot)));
        }
        Texts {
            bytes: bytes.into_boxed_slice(),
            uuids,
            names,
            has: OnceLock::new(),
        }
    }

    /// The provider's uuid in quotes.
    pub fn uuid(snapshot: &Snapshot, slot: Slot) -> &[u8] {
        Texts::of(snapshot, slot).own_uuid(slot)
    }

    /// The same, of a provider whose texts these are.
    pub fn own_uuid(&self, slot: Slot) -> &[u8] {
        self.uuids[slot.lane()].in_bytes(&self.bytes)
    }

    /// That of another provider, which mostly stands beside `slot`, whose texts these are.
    pub fn uuid_near<'a>(&'a self, snapshot: &'a Snapshot, slot: Slot, other: Slot) -> &'a [u8] {
        if slot.is_beside(other) {
            self.own_uuid(other)
        } else {
            Texts::uuid(snapshot, other)
        }
    }

    /// Its name in quotes.
    pub fn own_name(&self, slot: Slot) -> &[u8] {
        self.names[slot.lane()].in_bytes(&self.bytes)
    }

    /// What the providers have.
    pub fn has(&self, snapshot: &Snapshot, slot: Slot) -> &Has {
        self.has.get_or_init(|| Has::new(snapshot, slot))
    }

    /// How many bytes this takes.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        let has = self.has.get().map_or(0, |has| {
            has.bytes.len() + has.stocks.len() * std::mem::size_of::<Stock>()
        });
        std::mem::size_of::<Self>() + self.bytes.len() + has
    }
}

/// What each provider has.
pub struct Has {
    bytes: Box<[u8]>,
    /// The classes of all providers, one provider's behind the other's.
    stocks: Box<[Stock]>,
    own: [Span; LANES],
    resources: [Span; LANES],
    traits: [Span; LANES],
}

/// A class of a provider.
struct Stock {
    class: ClassId,
    /// Up to the sum that is used.
    text: Span,
    /// This sum, as it stands in the text of all classes.
    used: i64,
}

impl Has {
    fn new(snapshot: &Snapshot, slot: Slot) -> Has {
        let names = Quoted::of(snapshot.catalog());
        let (mut bytes, mut stocks) = (Vec::new(), Vec::new());
        let (mut own, mut resources, mut traits) = (
            [Span::default(); LANES],
            [Span::default(); LANES],
            [Span::default(); LANES],
        );
        let mut text = Vec::new();
        for slot in snapshot.beside(slot) {
            let start = stocks.len() as u32;
            resources[slot.lane()] = Span::of(&mut bytes, |out| {
                out.extend_from_slice(RESOURCES);
                let mut begun = false;
                for (class, inventory, used) in snapshot.inventories(slot) {
                    if let Some(name) = names.of_class(class) {
                        out.extend_from_slice(if std::mem::replace(&mut begun, true) {
                            STOCK_END
                        } else {
                            b""
                        });
                        let text = Span::of(out, |out| stock(out, name, inventory.capacity()));
                        digits(out, used);
                        stocks.push(Stock { class, text, used });
                    }
                }
                out.extend_from_slice(if begun { LAST_STOCK_END } else { NO_STOCK_END });
            });
            let end = stocks.len() as u32;
            own[slot.lane()] = Span { start, end };
            text.clear();
            write_traits(&mut text, snapshot, names, slot);
            // Hosts of a kind have the same.
            let alike = traits.iter().find(|span| span.in_bytes(&bytes) == text).copied();
            traits[slot.lane()] = alike.unwrap_or_else(|| Span::of(&mut bytes, |out| out.extend_from_slice(&text)));
        }
        Has {
            bytes: bytes.into_boxed_slice(),
            stocks: stocks.into_boxed_slice(),
            own,
            resources,
            traits,
        }
    }

    /// Of which lanes the text of all classes shows usage that is not theirs any more.
    pub fn outdated(&self, snapshot: &Snapshot, slot: Slot) -> u64 {
        snapshot.noted(slot, || {
            let beside = snapshot.beside(slot).filter(|&slot| {
                let used = snapshot.usage(slot);
                self.own(slot).iter().any(|stock| used(stock.class) != stock.used)
            });
            beside.fold(0, |lanes, slot| lanes | 1 << slot.lane())
        })
    }

    /// All classes of a provider, from the end of its uuid on, as they were when this was made.
    pub fn resources(&self, slot: Slot) -> &[u8] {
        self.resources[slot.lane()].in_bytes(&self.bytes)
    }

    fn own(&self, slot: Slot) -> &[Stock] {
        let Span { start, end } = self.own[slot.lane()];
        &self.stocks[start as usize..end as usize]
    }

    /// Each class of a provider, with the text up to the sum that is used.
    pub fn stocks(&self, slot: Slot) -> impl Iterator<Item = (ClassId, &[u8])> {
        let own = self.own(slot).iter();
        own.map(|stock| (stock.class, stock.text.in_bytes(&self.bytes)))
    }

    /// The traits of a provider, with their key.
    pub fn traits(&self, slot: Slot) -> &[u8] {
        self.traits[slot.lane()].in_bytes(&self.bytes)
    }
}

/// What stands between a provider's uuid and its classes, what between two of these, and what after the last one.
pub const RESOURCES: &[u8] = br#":{"resources":{"#;
pub const STOCK_END: &[u8] = b"},";
pub const LAST_STOCK_END: &[u8] = b"}}";
pub const NO_STOCK_END: &[u8] = b"}";

fn stock(out: &mut Vec<u8>, name: &[u8], capacity: f64) {
    out.extend_from_slice(name);
    out.extend_from_slice(br#":{"capacity":"#);
    // Rounded towards zero as it is shown.
    match Number::truncated(capacity) {
        Number::Whole(number) if i64::try_from(number).is_ok() => digits(out, number as i64),
        other => append(out, "", &other),
    }
    out.extend_from_slice(br#","used":"#);
}

fn write_traits(out: &mut Vec<u8>, snapshot: &Snapshot, names: &Quoted, slot: Slot) {
    let mut lead: &[u8] = br#","traits":["#;
    let all = snapshot.traits(slot).filter_map(|id| names.of_trait(id));
    for name in all {
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
