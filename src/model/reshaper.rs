//! The reshaper: inventories of several providers replaced together with the allocations that use them.

use super::allocations::{ConsumerClaim, Given};
use super::inventories::Inventory;

/// `POST /reshaper`: all of it, or nothing.
#[derive(Debug, Clone)]
pub struct Reshape {
    pub providers: Vec<Reshaped>,
    /// The allocations that the named consumers get. Other consumers keep theirs.
    pub consumers: Vec<ConsumerClaim>,
}

/// The inventories that one provider gets, in place of all that it has.
#[derive(Debug, Clone)]
pub struct Reshaped {
    pub provider: String,
    pub generation: Given,
    pub inventories: Vec<(String, Inventory)>,
}
