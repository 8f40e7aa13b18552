//! The tree of the domains of a dimension: interned paths, each with its parent.

use std::collections::HashMap;
use std::sync::Arc;

/// A domain of a dimension. [`DomainTree::ROOT`] is no domain, but the place of hosts without a path in the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u32);

/// The longest path with a text for itself, in bytes.
const OWN_BYTES: usize = 64;

/// The domains of a dimension. A domain has a greater id than its parent.
///
/// The naive tree has a text for each path, a quarter of a megabyte for a path with 500 segments. A long path therefore
/// shares the text of the longer interned path. Domains are found by their last segments.
#[derive(Clone, Debug)]
pub struct DomainTree {
    parents: Vec<DomainId>,
    /// By domain: a text, and the length of the path in the text.
    paths: Vec<(Arc<str>, u32)>,
    /// The numbers of the segments, by their texts.
    segments: HashMap<Arc<str>, u32>,
    /// By parent and segment.
    ids: HashMap<(DomainId, u32), DomainId>,
    /// Of all texts together.
    bytes: usize,
}

impl Default for DomainTree {
    fn default() -> DomainTree {
        DomainTree {
            parents: vec![DomainTree::ROOT],
            paths: vec![("".into(), 0)],
            segments: HashMap::new(),
            ids: HashMap::new(),
            bytes: 0,
        }
    }
}

impl DomainTree {
    pub const ROOT: DomainId = DomainId(0);

    /// The domain of a path with segments separated by `/`. Adds a new domain, and its new ancestors, to the tree.
    pub fn intern(&mut self, path: &str) -> DomainId {
        let (mut domain, mut shared) = (DomainTree::ROOT, None);
        for (segment, end) in segments(path) {
            let segment = self.segment(segment);
            domain = match self.ids.get(&(domain, segment)) {
                Some(known) => *known,
                None => {
                    let text = if end <= OWN_BYTES {
                        path[..end].into()
                    } else {
                        Arc::clone(shared.get_or_insert_with(|| Arc::<str>::from(path)))
                    };
                    let id = DomainId(self.parents.len() as u32);
                    self.parents.push(domain);
                    self.paths.push((text, end as u32));
                    self.ids.insert((domain, segment), id);
                    id
                }
            };
        }
        self.bytes += shared.map_or(0, |text| text.len());
        domain
    }

    fn segment(&mut self, text: &str) -> u32 {
        if let Some(known) = self.segments.get(text) {
            return *known;
        }
        let number = self.segments.len() as u32;
        self.bytes += text.len();
        self.segments.insert(text.into(), number);
        number
    }

    /// About how many bytes the tree occupies.
    pub fn bytes(&self) -> usize {
        // Texts have a header, and hash maps have free places.
        self.bytes + self.parents.len() * (64 + OWN_BYTES) + self.segments.len() * 96
    }

    /// The domain of an interned path.
    pub fn find(&self, path: &str) -> Option<DomainId> {
        segments(path).try_fold(DomainTree::ROOT, |domain, (segment, _)| {
            let segment = *self.segments.get(segment)?;
            self.ids.get(&(domain, segment)).copied()
        })
    }

    /// The whole path, as in `fd:/dc1/r0`; empty for [`DomainTree::ROOT`].
    pub fn path(&self, domain: DomainId) -> &str {
        let (text, length) = &self.paths[domain.0 as usize];
        &text[..*length as usize]
    }

    /// The path as a shared text.
    pub fn shared_path(&self, domain: DomainId) -> Arc<str> {
        let (text, length) = &self.paths[domain.0 as usize];
        if *length as usize == text.len() {
            Arc::clone(text)
        } else {
            self.path(domain).into()
        }
    }

    /// The parent of a domain. The root is its own parent.
    pub fn parent(&self, domain: DomainId) -> DomainId {
        self.parents[domain.0 as usize]
    }

    /// The number of domains and the root.
    pub fn count(&self) -> usize {
        self.parents.len()
    }
}

/// The segments of a path, each with its end. All segments after the first begin with `/`.
fn segments(path: &str) -> impl Iterator<Item = (&str, usize)> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    let mut begin = 0;
    ends.chain([path.len()]).map(move |end| {
        let segment = &path[begin..end];
        begin = end;
        (segment, end)
    })
}
