//! A value from files, replaced while requests use the value: certificates, tokens, the policy.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};

/// Access to the files of a value.
pub trait Files<T>: Send + Sync {
    /// Whether the files changed since the last reading. Called for every request or connection.
    fn changed(&self) -> bool;
    /// The contents of the files that exist now.
    ///
    /// # Errors
    /// Why a file cannot be used.
    fn read(&self) -> Result<T, String>;
}

/// A value in force.
#[derive(Debug)]
pub struct LiveValue<T> {
    current: ArcSwap<T>,
    /// Held while the files are read, so that an older reading does not replace a newer reading.
    replacing: Mutex<()>,
}

impl<T> LiveValue<T> {
    pub fn new(value: T) -> LiveValue<T> {
        LiveValue {
            current: ArcSwap::from_pointee(value),
            replacing: Mutex::default(),
        }
    }

    /// The current value, for a short use.
    pub fn load(&self) -> Guard<Arc<T>> {
        self.current.load()
    }

    /// The current value, for a use that may last.
    pub fn load_full(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Replaces the value by the result of `read`, if the files have `changed` since the last reading. A caller that
    /// finds a change waits until the new value is in force. Returns whether this caller has read the files.
    ///
    /// # Errors
    /// Of `read`: the value stays.
    pub fn refresh<E>(&self, changed: impl Fn() -> bool, read: impl FnOnce() -> Result<T, E>) -> Result<bool, E> {
        if !changed() {
            return Ok(false);
        }
        let _replacing = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        if !changed() {
            return Ok(false);
        }
        self.current.store(Arc::new(read()?));
        Ok(true)
    }

    /// Replaces the value by the result of `read`. Callers wait for each other.
    ///
    /// # Errors
    /// Of `read`: the value stays.
    pub fn replace<E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
        let _replacing = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.store(Arc::new(read()?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_read_last_stays() {
        let (value, file) = (LiveValue::new(0), AtomicU32::new(1));
        let replace = || value.replace(|| Ok::<_, ()>(file.load(Ordering::SeqCst)));
        thread::scope(|scope| {
            let slow = scope.spawn(|| {
                value.replace(|| {
                    let read = file.load(Ordering::SeqCst);
                    file.store(2, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(50));
                    Ok::<_, ()>(read)
                })
            });
            while file.load(Ordering::SeqCst) == 1 {
                thread::yield_now();
            }
            assert_eq!(replace(), Ok(()));
            assert_eq!(slow.join().expect("no panic"), Ok(()));
        });
        assert_eq!(**value.load(), 2);
    }

    #[test]
    fn hostile_16_a_caller_waits_for_a_change_that_another_one_reads() {
        let (value, file, read) = (LiveValue::new(0), AtomicU32::new(1), AtomicU32::new(0));
        let changed = || file.load(Ordering::SeqCst) != read.load(Ordering::SeqCst);
        thread::scope(|scope| {
            let slow = scope.spawn(|| {
                value.refresh(changed, || {
                    file.store(2, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(50));
                    read.store(2, Ordering::SeqCst);
                    Ok::<_, ()>(2)
                })
            });
            while file.load(Ordering::SeqCst) == 1 {
                thread::yield_now();
            }
            assert_eq!(value.refresh(changed, || Err("read twice")), Ok(false));
            assert_eq!(**value.load(), 2);
            assert_eq!(slow.join().expect("no panic"), Ok(true));
        });
    }

    #[test]
    fn a_value_that_cannot_be_read_changes_nothing() {
        let value = LiveValue::new(1);
        assert_eq!(value.replace(|| Err("broken")), Err("broken"));
        assert_eq!(*value.load_full(), 1);
        assert_eq!(value.replace(|| Ok::<_, ()>(2)), Ok(()));
        assert_eq!(*value.load_full(), 2);
    }
}
