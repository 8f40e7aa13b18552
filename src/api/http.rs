//! The parts of the API that no noun owns: the server, dispatch, negotiation, replies, refusals, streaming.

pub mod accept;
pub mod access;
pub mod base_url;
pub mod body;
pub mod checks;
pub mod connections;
pub mod cors;
pub mod disconnect;
pub mod dispatch;
pub mod errors;
pub mod front;
pub mod health;
pub mod native_codes;
pub mod negotiate;
pub mod refusal;
pub mod reply;
pub mod request_context;
pub mod request_head;
pub mod server;
pub mod statistics;
pub mod stopping;
pub mod stream;
pub mod streaming;
pub mod thread_pools;
pub mod tls;
pub mod transport;
