//! A cache of class and trait names as JSON strings, for all answers with these names.

use std::collections::BTreeMap;

use super::output::json;
use crate::error::Result;
use crate::search::{Catalog, ClassId, Interrupt, TraitId, check_interrupt};

/// More names than this take longer than an HTTP worker may. A cloud has some 500.
const MANY_NAMES: usize = 4096;

/// The names of all classes and traits in quotes.
pub struct QuotedNames {
    classes: BTreeMap<ClassId, Box<[u8]>>,
    traits: BTreeMap<TraitId, Box<[u8]>>,
}

impl QuotedNames {
    /// The names of a catalog. Made when an answer first needs the names, and dropped with the catalog.
    pub fn of(catalog: &Catalog) -> &QuotedNames {
        catalog.derived(|catalog| QuotedNames {
            classes: quoted(catalog.classes()),
            traits: quoted(catalog.traits()),
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
        self.classes.get(&id).map(|text| &**text)
    }

    pub fn of_trait(&self, id: TraitId) -> Option<&[u8]> {
        self.traits.get(&id).map(|text| &**text)
    }
}

fn quoted<K: Ord>(names: impl Iterator<Item = (K, impl AsRef<str>)>) -> BTreeMap<K, Box<[u8]>> {
    names.map(|(id, name)| (id, json(&name.as_ref()).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_id_in_quotes() {
        let texts = quoted([(ClassId(0), "VCPU"), (ClassId(7), "A \"B\""), (ClassId(10_000), "C")].into_iter());
        let found = |id| texts.get(&ClassId(id)).map(|text| String::from_utf8_lossy(text));
        assert_eq!(found(0).as_deref(), Some("\"VCPU\""));
        assert_eq!(found(7).as_deref(), Some(r#""A \"B\"""#));
        assert_eq!(found(10_000).as_deref(), Some("\"C\""));
        assert_eq!(found(1), None);
    }
}
