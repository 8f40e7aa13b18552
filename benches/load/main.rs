//! The load generator of the bench: `load http|canned-server|sql-baseline|search --help`. Each run prints one line of
//! JSON.
//!
//! Which service or database is measured comes as arguments. The uuids of the cloud come from a file that
//! `benches/compare/run.py` writes. The HTTP client is hand-written (`http/connection.rs`), because a client library
//! parses and copies parts of a response that are not needed here. All clients are tasks of one thread, so that on a
//! small machine the generator takes as little CPU time from the server as possible. The canned server shows how much
//! that is.

mod canned_server;
mod client_options;
mod cloud;
mod http;
mod random;
mod search;
#[path = "../search_inputs.rs"]
mod search_inputs;
mod sql_baseline;
mod statistics;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Loads a placement service or its database, and prints rates and latencies as JSON")]
enum Command {
    /// Many HTTP clients against a service
    Http(http::Arguments),
    /// A server that sends the same canned response to every request: the HTTP baseline
    CannedServer(canned_server::Arguments),
    /// Many clients that execute the minimal SQL of a claim or a report against the database: the SQL baseline
    SqlBaseline(sql_baseline::Arguments),
    /// The search alone, in this process
    Search(search::Arguments),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Command::parse() {
        Command::Http(arguments) => http::run(&arguments),
        Command::CannedServer(arguments) => canned_server::run(&arguments),
        Command::SqlBaseline(arguments) => sql_baseline::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
    }
}
