//! Resource classes: the standard ones with their fixed ids, and custom ones from id 10000.

use std::sync::Arc;

use super::Moment;

/// One resource class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceClass {
    pub name: Arc<str>,
    /// `None` for a standard class that upstream keeps without a time.
    pub modified: Option<Moment>,
}

/// `POST /resource_classes`.
#[derive(Debug, Clone)]
pub struct Create {
    pub name: String,
}

/// `PUT /resource_classes/{name}` from 1.7.
#[derive(Debug, Clone)]
pub struct Ensure {
    pub name: String,
}

/// `PUT /resource_classes/{name}` before 1.7.
#[derive(Debug, Clone)]
pub struct Rename {
    pub from: String,
    pub to: String,
}

/// `DELETE /resource_classes/{name}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub name: String,
}
