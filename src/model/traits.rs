//! Traits, and which provider has which.

use std::sync::Arc;

use super::Moment;

/// One trait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trait {
    pub name: Arc<str>,
    pub modified: Moment,
}

/// The traits of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTraits {
    pub generation: i64,
    pub traits: Vec<Trait>,
}

/// Which traits a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these names.
    pub names: Option<Vec<String>>,
    /// Only names that begin so.
    pub prefix: Option<String>,
    /// Only those that some provider has, or that none has.
    pub associated: Option<bool>,
}

/// `PUT /resource_providers/{uuid}/traits`.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub generation: i64,
    pub traits: Vec<String>,
}

/// `DELETE /resource_providers/{uuid}/traits`.
#[derive(Debug, Clone)]
pub struct Clear {
    pub provider: String,
}

/// `PUT /traits/{name}`.
#[derive(Debug, Clone)]
pub struct Ensure {
    pub name: String,
}

/// `DELETE /traits/{name}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub name: String,
}
