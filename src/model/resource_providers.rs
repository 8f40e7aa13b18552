//! Providers of resources and the trees they form.

use std::sync::Arc;

use super::Moment;

/// A provider as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub uuid: Arc<str>,
    pub name: Arc<str>,
    pub generation: i64,
    /// The uuid of the parent; a root has none.
    pub parent: Option<Arc<str>>,
    /// The uuid of the root of its tree; a root's own.
    pub root: Arc<str>,
    pub modified: Moment,
}

/// `POST /resource_providers`. `uuid` is in its canonical form.
#[derive(Debug, Clone)]
pub struct Create {
    pub uuid: String,
    pub name: String,
    pub parent: Option<String>,
}

/// `PUT /resource_providers/{uuid}`.
#[derive(Debug, Clone)]
pub struct Update {
    pub uuid: String,
    pub name: String,
    pub parent: NewParent,
    /// From 1.37 a provider that has a parent may get another one, or none.
    pub may_reparent: bool,
}

/// What an update says of the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewParent {
    /// Nothing: the parent stays.
    Keep,
    /// It is to be this one, or none.
    Set(Option<String>),
}

/// `DELETE /resource_providers/{uuid}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub uuid: String,
}
