//! The program `placet`: parses the command line and runs the command.

use std::process::ExitCode;

use placet::cli::Arguments;

fn main() -> ExitCode {
    let program = std::env::args().next().unwrap_or_else(|| "placet".to_owned());
    match Arguments::of(std::env::args_os().collect()).run(&program) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("placet: {failure}");
            ExitCode::FAILURE
        }
    }
}
