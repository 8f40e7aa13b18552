//! A cache of class and trait names as JSON strings, for all answers with these names.

use super::output::quote;
use crate::error::Result;
use crate::search::{Catalog, ClassId, Interrupt, TraitId, check_interrupt};

/// More names than this take longer than an HTTP worker may. A cloud has some 500.
const MANY_NAMES: usize = 4096;

/// The names of all classes and traits in quotes.
pub struct QuotedNames {
    classes: PackedTexts<ClassId>,
    traits: PackedTexts<TraitId>,
}

impl QuotedNames {
    /// The names of a catalog. Made when an answer first needs the names, and dropped with the catalog.
    pub fn of(catalog: &Catalog) -> &QuotedNames {
        catalog.derived(|catalog| QuotedNames {
            classes: PackedTexts::new(catalog.classes()),
            traits: PackedTexts::new(catalog.traits()),
        })
    }

    /// Caches the names of a catalog. There may be any number of names, so an attempt on an HTTP worker ends here if
    /// they are many and not cached.
    ///
    /// # Errors
    /// If the search must end.
    pub fn cache(catalog: &Catalog, interrupt: &Interrupt) -> Result<()> {
        let are_many = || catalog.traits().nth(MANY_NAMES).is_some() || catalog.classes().nth(MANY_NAMES).is_some();
        if !catalog.has_derived() && are_many() {
            interrupt.exhaust();
            check_interrupt(interrupt)?;
        }
        QuotedNames::of(catalog);
        Ok(())
    }

    pub fn of_class(&self, id: ClassId) -> Option<&[u8]> {
        self.classes.get(id)
    }

    pub fn of_trait(&self, id: TraitId) -> Option<&[u8]> {
        self.traits.get(id)
    }
}

/// Texts in a single buffer: copying several texts reads little memory.
struct PackedTexts<K> {
    /// Sorted.
    ids: Vec<K>,
    /// The end of each text, which is also the start of the next text.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl<K: Ord> PackedTexts<K> {
    /// Takes names in the order of their ids.
    fn new<T: AsRef<str>>(names: impl Iterator<Item = (K, T)>) -> Self {
        let (mut ids, mut ends, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for (id, name) in names {
            debug_assert!(ids.last().is_none_or(|last| *last < id));
            quote(&mut bytes, name.as_ref());
            ids.push(id);
            ends.push(bytes.len());
        }
        Self { ids, ends, bytes }
    }

    fn get(&self, id: K) -> Option<&[u8]> {
        let at = self.ids.binary_search(&id).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..self.ends[at]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_id_in_quotes() {
        let texts =
            PackedTexts::new([(ClassId(0), "VCPU"), (ClassId(7), "A \"B\""), (ClassId(10_000), "C")].into_iter());
        let found = |id| texts.get(ClassId(id)).map(String::from_utf8_lossy);
        assert_eq!(found(0).as_deref(), Some("\"VCPU\""));
        assert_eq!(found(7).as_deref(), Some(r#""A \"B\"""#));
        assert_eq!(found(10_000).as_deref(), Some("\"C\""));
        assert_eq!(found(1), None);
    }
}
