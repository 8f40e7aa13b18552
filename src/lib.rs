//! placet: a placement service. `ARCHITECTURE.md` draws the rooms and says which may import which.

pub mod api;
pub mod auth;
pub mod cli;
pub mod config;
pub mod db;
pub mod error;
pub mod model;
pub mod mutants;
pub mod policy;
pub mod search;
pub mod tasks;
pub mod version;
pub mod wire;
