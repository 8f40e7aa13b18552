//! The reshaper: inventories of several providers replaced together with the allocations that use them.

use super::allocations::{ConsumerClaim, Given};
use super::inventories::Inventory;

/// `POST /reshaper`: all of it, or nothing.
#[derive(Debug, Clone)]
pub struct Reshape {
    pub providers: Vec<Reshaped>,
    /// What consumers are to have then; those that are not named keep what they have.
    pub consumers: Vec<ConsumerClaim>,
}

/// What one provider is to have: these inventories and no others.
#[derive(Debug, Clone)]
pub struct Reshaped {
    pub provider: String,
    pub generation: Given,
    pub inventories: Vec<(String, Inventory)>,
}
