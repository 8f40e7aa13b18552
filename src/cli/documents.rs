//! `placet man` and `placet completions`: documents for packages of the binary.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::{Arguments, CommandError, stdout};

#[derive(Debug, Args)]
pub struct Man {
    /// The directory for the pages, created if necessary. Each subcommand gets a page.
    dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct Completions {
    shell: Shell,
}

impl Man {
    pub fn run(self) -> Result<(), CommandError> {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let written = std::fs::create_dir_all(&self.dir).and_then(|()| write_pages(&command, &self.dir));
        written.map_err(|reason| CommandError::Man { dir: self.dir, reason })
    }
}

impl Completions {
    pub fn run(self) -> Result<(), CommandError> {
        // Into memory first: the generator panics if the output fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "placet", &mut script);
        stdout::print(&String::from_utf8_lossy(&script))
    }
}

/// Writes the pages of a command and of the subcommands.
fn write_pages(command: &Command, dir: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|each| !each.is_hide_set()) {
        write_pages(subcommand, dir)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    std::fs::write(
        dir.join(man.get_filename()),
        can_be_pasted(&String::from_utf8_lossy(&page)),
    )
}

/// The page with its indented lines unchanged. roff would fill and justify the lines: a command would get line breaks,
/// and spaces within its quotation marks. The marks that roff replaces by typographic marks are named.
fn can_be_pasted(page: &str) -> String {
    let page = page.replace('`', r"\(ga").replace('^', r"\(ha").replace('~', r"\(ti");
    let (mut text, mut is_filled) = (String::with_capacity(page.len()), true);
    for line in page.lines() {
        if line.starts_with(' ') == is_filled {
            text.push_str(if is_filled { ".nf\n" } else { ".fi\n" });
            is_filled = !is_filled;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::can_be_pasted;

    #[test]
    fn only_indented_lines_are_left_unfilled() {
        assert_eq!(
            can_be_pasted("Run `x`:\n.PP\n    x ~\n      -y\n.PP\nthen\n"),
            "Run \\(gax\\(ga:\n.PP\n.nf\n    x \\(ti\n      -y\n.fi\n.PP\nthen\n"
        );
    }
}
