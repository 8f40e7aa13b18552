//! Aggregates: groups of providers, known by the uuids that clients gave them, as they spelled them.

use std::sync::Arc;

/// The aggregates of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAggregates {
    pub generation: i64,
    pub aggregates: Vec<Arc<str>>,
}

/// `PUT /resource_providers/{uuid}/aggregates`.
#[derive(Debug, Clone)]
pub struct Replace {
    pub provider: String,
    pub aggregates: Vec<String>,
    /// From 1.19 the provider's generation guards the change and moves with it; before, neither.
    pub generation: Option<i64>,
}
