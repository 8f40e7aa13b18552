//! The HTTP edge: the only room that knows actix.
//!
//! A request passes the [`gate`], which finds its row in the table of [`routes`]; the row's handler reads it with
//! `wire`, makes one call, and writes a [`reply`]. What goes wrong becomes a [`refusal`].

mod accept;
mod access;
mod aggregates;
mod allocation_candidates;
mod allocations;
mod call;
mod checks;
mod client;
mod cors;
mod errors;
mod gate;
mod inventories;
mod mount;
mod negotiate;
mod openapi;
mod pieces;
mod refusal;
mod reply;
mod reshaper;
mod resource_classes;
mod resource_providers;
mod root;
mod route;
mod routes;
mod seen;
mod server;
mod service;
mod stream;
mod traits;
mod usages;

pub use cors::Cors;
pub use openapi::text as openapi;
pub use routes::{guarded_by, slave_routes};
pub use server::serve;
pub use service::{Listen, Service, Settings};

#[cfg(test)]
mod tests;
