//! The domains of one dimension as a tree: interned paths, each with its parent.

use std::collections::HashMap;
use std::sync::Arc;

/// A domain of one dimension. [`DomainTree::ROOT`] is no domain: what has no path in the dimension is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u32);

/// The domains of one dimension. A domain has a greater id than its parent.
#[derive(Clone, Debug)]
pub struct DomainTree {
    parents: Vec<DomainId>,
    paths: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, DomainId>,
}

impl Default for DomainTree {
    fn default() -> DomainTree {
        DomainTree {
            parents: vec![DomainTree::ROOT],
            paths: vec!["".into()],
            ids: HashMap::new(),
        }
    }
}

impl DomainTree {
    pub const ROOT: DomainId = DomainId(0);

    /// The domain of a path whose segments are separated by `/`; it and those in which it lies are added if they are
    /// new.
    pub fn intern(&mut self, path: &str) -> DomainId {
        if let Some(&id) = self.ids.get(path) {
            return id;
        }
        let above = path.rfind('/').filter(|&at| at > 0);
        let parent = above.map_or(DomainTree::ROOT, |at| self.intern(&path[..at]));
        let id = DomainId(self.parents.len() as u32);
        let path: Arc<str> = path.into();
        self.parents.push(parent);
        self.paths.push(Arc::clone(&path));
        self.ids.insert(path, id);
        id
    }

    /// The domain of a path that was interned.
    pub fn find(&self, path: &str) -> Option<DomainId> {
        self.ids.get(path).copied()
    }

    /// The whole path, as in `fd:/dc1/r0`; empty for [`DomainTree::ROOT`].
    pub fn path(&self, domain: DomainId) -> &Arc<str> {
        &self.paths[domain.0 as usize]
    }

    /// The domain in which it lies. The root is its own parent.
    pub fn parent(&self, domain: DomainId) -> DomainId {
        self.parents[domain.0 as usize]
    }

    /// The number of domains and the root.
    pub fn count(&self) -> usize {
        self.parents.len()
    }
}
