//! `placet man` and `placet completions`: what a package installs beside the binary.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Arguments, CommandError, stdout};

#[derive(Debug, Args)]
pub struct Man {
    /// The directory to write into; it is created. Each subcommand gets a page.
    dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct Completions {
    shell: Shell,
}

impl Man {
    pub fn run(self) -> Result<(), CommandError> {
        let written =
            std::fs::create_dir_all(&self.dir).and_then(|()| clap_mangen::generate_to(Arguments::command(), &self.dir));
        written.map_err(|reason| CommandError::Man { dir: self.dir, reason })
    }
}

impl Completions {
    pub fn run(self) -> Result<(), CommandError> {
        // Into memory first: the generator panics if it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "placet", &mut script);
        stdout::print(&String::from_utf8_lossy(&script))
    }
}
