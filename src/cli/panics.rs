//! Panics of the service: each is counted, and logged with the place in the code, on whichever thread it happens.

use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::thread;

use crate::statistics::Counter;

/// From now on each panic is counted, and logged instead of being printed to stderr.
pub fn count_and_log() -> Arc<Counter> {
    let count = Arc::<Counter>::default();
    let counted = Arc::clone(&count);
    std::panic::set_hook(Box::new(move |panic| {
        counted.increment();
        log::error!("{}", description(panic));
    }));
    count
}

fn message<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("it has no message")
}

fn description(panic: &PanicHookInfo<'_>) -> String {
    let place = panic
        .location()
        .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let thread = thread::current();
    format!(
        "A panic at {place} on the thread {}: {}. This is a defect of placet: report it with this line",
        thread.name().unwrap_or("without a name"),
        message(panic),
    )
}
