//! Names as they stand in JSON, written once for all answers that show the same names.

use crate::search::{Catalog, ClassId, TraitId};

use super::output::quote;

/// Every class and trait in quotes.
pub struct Quoted {
    classes: Texts<ClassId>,
    traits: Texts<TraitId>,
}

impl Quoted {
    /// Those of a catalog: written when an answer first asks, and forgotten with the catalog.
    pub fn of(catalog: &Catalog) -> &Quoted {
        catalog.kept(|catalog| Quoted {
            classes: Texts::new(catalog.classes()),
            traits: Texts::new(catalog.traits()),
        })
    }

    pub fn of_class(&self, id: ClassId) -> Option<&[u8]> {
        self.classes.get(id)
    }

    pub fn of_trait(&self, id: TraitId) -> Option<&[u8]> {
        self.traits.get(id)
    }
}

/// Texts one behind the other, so that copying some of them reads little memory.
struct Texts<K> {
    /// Sorted.
    ids: Vec<K>,
    /// Where each text ends; it begins where the one before it ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl<K: Ord> Texts<K> {
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
        let texts = Texts::new([(ClassId(0), "VCPU"), (ClassId(7), "A \"B\""), (ClassId(10_000), "C")].into_iter());
        let found = |id| texts.get(ClassId(id)).map(String::from_utf8_lossy);
        assert_eq!(found(0).as_deref(), Some("\"VCPU\""));
        assert_eq!(found(7).as_deref(), Some(r#""A \"B\"""#));
        assert_eq!(found(10_000).as_deref(), Some("\"C\""));
        assert_eq!(found(1), None);
    }
}
