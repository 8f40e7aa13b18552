//! Usages: sums over allocations.

use std::sync::Arc;

/// What is used of one provider: every class it has an inventory of, 0 where nothing is used.
#[derive(Debug, Clone)]
pub struct ProviderUsages {
    pub generation: i64,
    pub usages: Vec<(Arc<str>, i64)>,
}

/// What a project, or one user in it, uses.
#[derive(Debug, Clone)]
pub struct TotalQuery {
    pub project: String,
    pub user: Option<String>,
}

/// Which consumers `GET /usages` counts from 1.38 on, and how it groups them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeFilter {
    /// Each type in a group of its own; consumers without one under `unknown`.
    Each,
    /// `consumer_type=all`: one group of all.
    All,
    /// One type; `unknown` is those without one.
    Only(String),
}

/// One group of `GET /usages` from 1.38.
#[derive(Debug, Clone)]
pub struct TypeUsages {
    pub consumer_type: Arc<str>,
    pub consumer_count: i64,
    pub usages: Vec<(Arc<str>, i64)>,
}
