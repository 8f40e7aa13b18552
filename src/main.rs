//! The program `placet`: parses the command line and runs the command.

use std::process::ExitCode;

use clap::Parser;
use placet::cli::Arguments;

fn main() -> ExitCode {
    match Arguments::parse().run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("placet: {failure}");
            ExitCode::FAILURE
        }
    }
}
