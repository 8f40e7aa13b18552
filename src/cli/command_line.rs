//! Commands in messages, ready to be pasted: with the program and the configuration of this process.

use crate::config::ConfigSources;

/// The words with which this process was called, up to the subcommand.
#[derive(Debug, Clone)]
pub struct CommandLine(String);

impl CommandLine {
    /// `program` is the name by which placet was called.
    pub fn new(program: &str, sources: &ConfigSources) -> CommandLine {
        // A name without a slash was found in $PATH, from any directory.
        let program = if program.contains('/') {
            std::path::absolute(program).map_or(program.to_owned(), |path| path.display().to_string())
        } else {
            program.to_owned()
        };
        let words: Vec<String> = [program]
            .into_iter()
            .chain(sources.arguments_for_files())
            .map(|word| quoted(&word))
            .collect();
        CommandLine(words.join(" "))
    }

    /// The message with this command line in place of each `placet` at the beginning of a command.
    pub fn in_message(&self, message: &str) -> String {
        ["`", "\""].iter().fold(message.to_owned(), |message, quote| {
            message.replace(&format!("{quote}placet "), &format!("{quote}{} ", self.0))
        })
    }
}

/// The word as a shell reads the word back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_message_gets_the_configuration_of_this_process() {
        let sources = ConfigSources {
            files: vec!["/etc/it's mine.conf".into()],
            dirs: vec!["/d".into()],
            ..ConfigSources::default()
        };
        let line = CommandLine::new("placet", &sources);
        assert_eq!(
            line.in_message("run `placet db sync`, not `placement-manage db sync`"),
            r"run `placet --config-file '/etc/it'\''s mine.conf' --config-dir /d db sync`, not `placement-manage db sync`"
        );
        let relative = CommandLine::new("./placet", &ConfigSources::default());
        assert_eq!(
            relative.in_message("Run the \"placet db sync\" command"),
            format!(
                "Run the \"{} db sync\" command",
                quoted(&std::path::absolute("placet").unwrap().display().to_string())
            )
        );
    }
}
