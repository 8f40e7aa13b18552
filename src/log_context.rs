//! The request of a log line, for the line's ids and fields. A request's task has the context as a task-local value,
//! and a thread that works for the request takes it over. So every line has the context, and no function passes it on.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The request for which the current task or thread works.
#[derive(Debug, Default)]
pub struct LogContext {
    /// placet's id of the request.
    pub request_id: String,
    /// The sender's id of the request.
    pub global_id: Option<String>,
    /// The trace of the request.
    pub trace: Option<TraceParent>,
    /// Known after the authentication of the request.
    pub caller: OnceLock<CallerIds>,
    /// Known after the answer to the request; for log formats with fields.
    pub answer: OnceLock<Vec<(&'static str, Field)>>,
}

/// The ids of a request's caller.
#[derive(Debug, Default)]
pub struct CallerIds {
    pub user: Option<String>,
    pub project: Option<String>,
    pub domain: Option<String>,
    pub user_domain: Option<String>,
    pub project_domain: Option<String>,
}

/// A field of the line about a request.
#[derive(Debug)]
pub enum Field {
    Text(String),
    Whole(u64),
    Fraction(f64),
}

/// Whether the log's format has fields.
static HAS_FIELDS: AtomicBool = AtomicBool::new(false);

/// Sets whether the log's format has fields: only then [`LogContext::answer`] is filled.
pub fn set_has_fields(has_fields: bool) {
    HAS_FIELDS.store(has_fields, Ordering::Relaxed);
}

pub fn has_fields() -> bool {
    HAS_FIELDS.load(Ordering::Relaxed)
}

/// Writes a text with some of its characters escaped. Most texts have no such character, and are written at once.
///
/// # Errors
/// Of `out`.
pub fn write_escaped(out: &mut impl fmt::Write, text: &str, is_special: impl Fn(char) -> bool) -> fmt::Result {
    for piece in text.split_inclusive(&is_special) {
        match piece.chars().next_back().filter(|last| is_special(*last)) {
            Some(last) => {
                out.write_str(&piece[..piece.len() - last.len_utf8()])?;
                write!(out, "{}", last.escape_default())?;
            }
            None => out.write_str(piece)?,
        }
    }
    Ok(())
}

tokio::task_local! {
    static CURRENT: Arc<LogContext>;
}

/// The context of the current task or thread; `None` outside of requests.
pub fn current() -> Option<Arc<LogContext>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Does the work of a request in the request's context.
pub fn scope<F: Future>(context: Arc<LogContext>, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(context, work)
}

/// Calls `work` in a context.
pub fn within<T>(context: Option<Arc<LogContext>>, work: impl FnOnce() -> T) -> T {
    match context {
        Some(context) => CURRENT.sync_scope(context, work),
        None => work(),
    }
}

/// The work, for a second thread, in the current context.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let context = current();
    move || within(context, work)
}

/// The header `traceparent` of W3C Trace Context: the trace of a request, and the span that sent the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub parent_id: String,
}

impl TraceParent {
    /// `None` for an invalid header, which is ignored.
    pub fn read(header: &str) -> Option<TraceParent> {
        let mut parts = header.split('-');
        let (version, trace_id, parent_id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |text: &str, length: usize| is_hex(text, length) && text.bytes().any(|b| b != b'0');
        // Later versions may append parts, version 00 has none.
        let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        let is_valid = is_version && is_id(trace_id, 32) && is_id(parent_id, 16) && is_hex(flags, 2);
        is_valid.then(|| TraceParent {
            trace_id: trace_id.to_owned(),
            parent_id: parent_id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn a_traceparent_is_read_only_if_it_is_valid() {
        let read = TraceParent::read(&format!("00-{TRACE}-{PARENT}-01")).unwrap();
        assert_eq!((read.trace_id.as_str(), read.parent_id.as_str()), (TRACE, PARENT));
        assert!(TraceParent::read(&format!("cc-{TRACE}-{PARENT}-01-later")).is_some());
        for text in [
            String::new(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-01-later"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("00-{}-{PARENT}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}x-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}\n-01"),
        ] {
            assert_eq!(TraceParent::read(&text), None, "{text}");
        }
    }

    #[test]
    fn a_thread_takes_the_context_over() {
        assert!(current().is_none());
        let context = Arc::new(LogContext {
            request_id: "req-1".to_owned(),
            ..LogContext::default()
        });
        let work = within(Some(context), || {
            carried(|| current().map(|context| context.request_id.clone()))
        });
        assert!(current().is_none());
        assert_eq!(std::thread::spawn(work).join().unwrap().as_deref(), Some("req-1"));
    }
}
