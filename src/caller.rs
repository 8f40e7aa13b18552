//! The key of a caller. Callers share queues fairly (`fair_queue.rs`).

use std::net::IpAddr;
use std::sync::Arc;

/// The key of a caller: a user in a project, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerKey(Arc<str>);

impl CallerKey {
    /// The key of a user in a project.
    pub fn of_user(user: &str, project: &str) -> CallerKey {
        // No id has a NUL.
        CallerKey(format!("{user}\0{project}").into())
    }

    /// The key of all callers without credentials at one address.
    pub fn of_address(address: Option<IpAddr>) -> CallerKey {
        CallerKey(address.map_or_else(String::new, |address| address.to_string()).into())
    }

    /// The key of placet's own background work.
    pub fn of_background() -> CallerKey {
        // No address has a space.
        CallerKey("in the background".into())
    }
}
