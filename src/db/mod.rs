//! db
