//! The compiled half of the bench: `load http|stub|floor|search --help`. Prints one line of JSON a run.
//!
//! It knows nothing of who serves: what is asked comes as arguments, and the cloud's uuids from a file that
//! `benches/compare/run.py` writes. HTTP is spoken by `wire.rs` itself: keep-alive, one task a client, all of them on
//! one thread, so that on a small machine the generator takes as little from the server as it can. A client library
//! would parse and copy what nobody looks at; how near this one is to nothing is what `stub` shows.

mod claim;
mod clients;
mod cloud;
mod floor;
mod hosts;
mod http;
mod report;
mod scheduler;
mod search;
mod stub;
mod tally;
mod wire;
#[path = "../world/mod.rs"]
mod world;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Loads a placement service, or the database below it, and says how it went as JSON")]
enum Command {
    /// Many clients against a service
    Http(http::Arguments),
    /// A server that answers everything with the same bytes: the fastest that there can be
    Stub(stub::Arguments),
    /// The least that a claim or a report can be in SQL, statement by statement, against the database itself
    Floor(floor::Arguments),
    /// The search alone, in this process
    Search(search::Arguments),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Command::parse() {
        Command::Http(arguments) => http::run(&arguments),
        Command::Stub(arguments) => stub::run(&arguments),
        Command::Floor(arguments) => floor::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
    }
}
