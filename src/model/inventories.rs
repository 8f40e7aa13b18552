//! Inventories: how much of each class a provider has.

use std::sync::Arc;

use super::Moment;
pub use crate::search::Inventory;

/// The inventories of one provider, or the one that was written or asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Inventories {
    pub provider: Arc<str>,
    /// The provider's generation.
    pub generation: i64,
    /// By class name, in the order of class ids.
    pub inventories: Vec<(Arc<str>, Inventory)>,
    /// When the newest of them was written; `None` where there are none.
    pub modified: Option<Moment>,
}

/// `PUT …/inventories`: these and no others.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub generation: i64,
    pub inventories: Vec<(String, Inventory)>,
    /// From 1.26 `reserved` may take the whole of `total`.
    pub reserved_may_equal_total: bool,
}

/// `POST …/inventories`: one more.
#[derive(Debug, Clone)]
pub struct Add {
    pub provider: String,
    pub class: String,
    pub inventory: Inventory,
    pub reserved_may_equal_total: bool,
}

/// `PUT …/inventories/{class}`.
#[derive(Debug, Clone)]
pub struct Update {
    pub provider: String,
    pub class: String,
    pub generation: i64,
    pub inventory: Inventory,
    pub reserved_may_equal_total: bool,
}

/// `DELETE …/inventories/{class}`.
#[derive(Debug, Clone)]
pub struct Remove {
    pub provider: String,
    pub class: String,
}

/// `DELETE …/inventories`.
#[derive(Debug, Clone)]
pub struct Clear {
    pub provider: String,
}
