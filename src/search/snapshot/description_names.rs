//! Numbers the names of properties and dimensions. The columns of blocks hold the small numbers.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a name in a snapshot and in all later versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::search) struct NameId(u32);

/// The names and counts of all descriptions of a version.
#[derive(Clone, Debug, Default)]
pub(super) struct DescriptionCounts {
    pub names: DescriptionNames,
    /// The number of providers with a description.
    pub providers: usize,
    /// The number of providers not up themselves.
    pub not_up: usize,
}

/// All names that descriptions used since the snapshot was built. Copies share the names until a new name is added.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct DescriptionNames {
    ids: Arc<HashMap<Arc<str>, NameId>>,
    texts: Arc<Vec<Arc<str>>>,
}

impl DescriptionNames {
    pub fn id(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    pub fn text(&self, id: NameId) -> &Arc<str> {
        &self.texts[id.0 as usize]
    }

    /// The number of a name. An unknown name is added.
    pub fn intern(&mut self, name: &Arc<str>) -> NameId {
        if let Some(id) = self.id(name) {
            return id;
        }
        // A name takes several bytes, so there is no memory for as many.
        let id = NameId(u32::try_from(self.texts.len()).expect("fewer names than 32-bit numbers"));
        Arc::make_mut(&mut self.ids).insert(Arc::clone(name), id);
        Arc::make_mut(&mut self.texts).push(Arc::clone(name));
        id
    }
}
