//! The phases of a process, from the listener to the signal to stop.

use crate::api::service::Service;

/// Whether requests can be answered.
pub enum Phase<'a> {
    Loading,
    Serving(&'a Service),
    Stopping,
}
