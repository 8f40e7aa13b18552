//! Reads that go to the database: the reader, coalesced reads, and look-ups of names that the snapshot lacks.

pub mod blocking;
pub mod coalescer;
pub mod provider_reads;
pub mod reader;
pub mod refusal_checks;
pub mod unknown_names;
