//! The reshaper: replaces inventories of several providers, together with the allocations from these providers.

use super::allocations::{ConsumerClaim, Given};
use super::inventories::Inventory;

/// `POST /reshaper`: all or nothing.
#[derive(Debug, Clone)]
pub struct Reshape {
    pub providers: Vec<Reshaped>,
    /// The new allocations of the named consumers. All remaining consumers keep their allocations.
    pub consumers: Vec<ConsumerClaim>,
}

/// The new inventories of one provider, in place of all present inventories.
#[derive(Debug, Clone)]
pub struct Reshaped {
    pub provider: String,
    pub generation: Given,
    pub inventories: Vec<(String, Inventory)>,
}
