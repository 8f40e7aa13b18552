//! Caches of data that upper layers derive from names and providers. The search stores a cache beside its source, drops
//! the cache when the source changes, and does not know the content.

use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// One value, derived by the first reader in need. The cache takes no part in comparisons of the source.
#[derive(Debug, Default)]
pub(super) struct DerivedCache(OnceLock<Box<dyn Any + Send + Sync>>);

impl DerivedCache {
    /// The value. All readers must use the same type `T`.
    pub fn get<T: Any + Send + Sync>(&self, derive: impl FnOnce() -> T) -> &T {
        let value = self.0.get_or_init(|| Box::new(derive()));
        value.downcast_ref().expect("all readers derive the same type")
    }

    /// Whether the value was derived.
    pub fn is_filled(&self) -> bool {
        self.0.get().is_some()
    }
}

impl PartialEq for DerivedCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The cache of a block, with the last version in which a reader used it.
#[derive(Default, Debug)]
pub(in crate::search) struct BlockCache {
    value: DerivedCache,
    last_used: AtomicU64,
}

impl BlockCache {
    pub fn get<T: Any + Send + Sync>(&self, version: u64, derive: impl FnOnce() -> T) -> &T {
        // Written only once per version, because readers of all threads share the cache line.
        if self.last_used.load(Ordering::Relaxed) < version {
            self.last_used.store(version, Ordering::Relaxed);
        }
        self.value.get(derive)
    }

    /// Whether there is a value without a reader since `version`.
    pub fn is_idle(&self, version: u64) -> bool {
        self.value.is_filled() && self.last_used.load(Ordering::Relaxed) < version
    }
}
