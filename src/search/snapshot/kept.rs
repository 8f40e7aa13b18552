//! What readers make of names and providers, and this room never looks at: kept for as long as it is true.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Made by the first reader who asks. It is no part of what it is made of.
#[derive(Default)]
pub(super) struct Kept(OnceLock<Box<dyn Any + Send + Sync>>);

impl Kept {
    /// All readers make the same kind of thing.
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let kept = self.0.get_or_init(|| Box::new(make()));
        kept.downcast_ref().expect("all readers keep the same kind of thing")
    }
}

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// The same, with the number of the last version in which somebody asked for it.
#[derive(Default, Debug)]
pub(in crate::search) struct Asked {
    kept: Kept,
    last: AtomicU64,
}

impl Asked {
    pub fn get<T: Any + Send + Sync>(&self, version: u64, make: impl FnOnce() -> T) -> &T {
        // Written once a version: readers of all threads share the line that it is in.
        if self.last.load(Ordering::Relaxed) < version {
            self.last.store(version, Ordering::Relaxed);
        }
        self.kept.get(make)
    }

    /// Is something kept that nobody asked for since `version`?
    pub fn is_idle(&self, version: u64) -> bool {
        self.kept.0.get().is_some() && self.last.load(Ordering::Relaxed) < version
    }
}
