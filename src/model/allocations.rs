//! Allocations: who uses how much of what, and the claims that make them.

use std::sync::Arc;

use super::Moment;

/// One request to replace what consumers have: `PUT /allocations/{consumer}` and `POST /allocations`. All or nothing.
#[derive(Debug, Clone)]
pub struct Claim {
    pub consumers: Vec<ConsumerClaim>,
    /// `PUT` names its consumer in some refusals, `POST` does not.
    pub names_consumer: bool,
}

/// What one consumer is to have.
#[derive(Debug, Clone)]
pub struct ConsumerClaim {
    pub consumer: String,
    /// By provider uuid: class name and amount (at least 1). Empty: everything it had is wiped.
    pub allocations: Vec<(String, Vec<(String, i64)>)>,
    /// Project and user; before 1.8 a claim may leave them out.
    pub owner: Option<Owner>,
    pub generation: Expected,
    /// From 1.38; before, a new consumer has none and an existing one keeps its own.
    pub consumer_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub project: String,
    pub user: String,
}

/// What a claim expects of its consumer (from 1.28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Before 1.28: nothing.
    Any,
    /// `null`: that it does not exist.
    New,
    /// That its generation is this.
    Is(i64),
}

/// `DELETE /allocations/{consumer}`.
#[derive(Debug, Clone)]
pub struct Release {
    pub consumer: String,
}

/// The allocations of one consumer. Without any, all else is empty too.
#[derive(Debug, Clone, Default)]
pub struct ConsumerAllocations {
    pub providers: Vec<ProviderShare>,
    pub consumer: Option<Consumer>,
    /// When the newest of them was made.
    pub modified: Option<Moment>,
}

/// What one consumer has of one provider.
#[derive(Debug, Clone)]
pub struct ProviderShare {
    pub provider: Arc<str>,
    /// The provider's generation.
    pub generation: i64,
    pub resources: Vec<(Arc<str>, i64)>,
}

/// Who has allocations.
#[derive(Debug, Clone)]
pub struct Consumer {
    pub project: String,
    pub user: String,
    pub generation: i64,
    /// `unknown` where it was made without one.
    pub consumer_type: String,
}

/// The allocations made from one provider.
#[derive(Debug, Clone)]
pub struct ProviderAllocations {
    /// The provider's generation.
    pub generation: i64,
    pub consumers: Vec<ConsumerShare>,
    pub modified: Option<Moment>,
}

/// What one consumer has of the provider asked for.
#[derive(Debug, Clone)]
pub struct ConsumerShare {
    pub consumer: Arc<str>,
    /// The consumer's generation.
    pub generation: i64,
    pub resources: Vec<(Arc<str>, i64)>,
}
