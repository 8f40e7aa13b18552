//! `placet man` and `placet completions`: what a package installs beside the binary.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
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
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let written = std::fs::create_dir_all(&self.dir).and_then(|()| write_pages(&command, &self.dir));
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

/// Writes the pages of a command and of its subcommands.
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

/// The page with its indented lines as they are. roff would fill and justify them: a command would get spaces within
/// its quotation marks, and ends of lines. The marks that roff replaces by typographic ones are named.
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
