//! Large values, whose memory is freed on a further thread, because freeing takes long.

use std::ops::Deref;

use tokio::runtime::Handle;

/// A value that an HTTP worker does not free, if the value is large. Freeing the values of a body of 32 MB takes
/// milliseconds.
pub struct LargeValue<T: Send + 'static> {
    /// `None` after [`Self::into_inner`].
    value: Option<T>,
    is_large: bool,
}

impl<T: Send + 'static> LargeValue<T> {
    pub fn new(value: T, is_large: bool) -> LargeValue<T> {
        LargeValue {
            value: Some(value),
            is_large,
        }
    }

    pub fn into_inner(mut self) -> T {
        self.value.take().expect("the value is there until it is dropped")
    }
}

impl<T: Send + 'static> Deref for LargeValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("the value is there until it is dropped")
    }
}

/// Outside of a runtime no request waits for the thread, so the thread frees the value itself.
impl<T: Send + 'static> Drop for LargeValue<T> {
    fn drop(&mut self) {
        let value = self.value.take().filter(|_| self.is_large);
        if let (Some(value), Ok(runtime)) = (value, Handle::try_current()) {
            runtime.spawn_blocking(move || drop(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{ThreadId, current};

    use super::*;

    /// Reports the thread that frees the value.
    struct Freed(Sender<ThreadId>);

    impl Drop for Freed {
        fn drop(&mut self) {
            let _ = self.0.send(current().id());
        }
    }

    #[tokio::test]
    async fn a_large_value_is_freed_on_another_thread() {
        let (sender, freed) = channel();
        for is_large in [false, true] {
            drop(LargeValue::new(Freed(sender.clone()), is_large));
            let thread = freed.recv().expect("it is freed");
            assert_eq!(thread != current().id(), is_large);
        }
    }

    #[test]
    fn a_value_outside_of_a_runtime_is_freed_where_it_is_dropped() {
        let (sender, freed) = channel();
        drop(LargeValue::new(Freed(sender), true));
        assert_eq!(freed.recv(), Ok(current().id()));
    }
}
