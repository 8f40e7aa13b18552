//! A parser of oslo.config's INI dialect, line by line.
//!
//! The dialect differs from the INI of crates. An indented line continues the value above, even an indented comment. A
//! blank line or a comment ends a value. A comment is a whole line. A key may repeat. A pair of quotes around a
//! one-line value is removed. All rules were measured with oslo.config 10.7.

use std::path::Path;

use super::error::ConfigError;

/// One `key = value` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IniEntry {
    /// The section in oslo.config's form: in lower case, except `DEFAULT`. (`[default]` is a different section.)
    pub section: String,
    pub key: String,
    /// The lines of the value joined by `\n`, `$` not yet substituted.
    pub value: String,
    /// The first line of the entry, counted from 1.
    pub line: usize,
}

impl IniEntry {
    pub fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }
}

/// Parses the text of `file`, whose name is only for errors: a [`ConfigError::Syntax`] for each line that oslo.config
/// would refuse.
pub fn parse(file: &Path, text: &str) -> (Vec<IniEntry>, Vec<ConfigError>) {
    let (mut parser, mut errors) = (IniParser::default(), Vec::new());
    // Python reads with universal newlines: a lone carriage return ends a line as well.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for (line, content) in (1..).zip(text.split('\n')) {
        if let Err(reason) = parser.line(line, content.trim_end()) {
            errors.push(ConfigError::Syntax {
                file: file.to_owned(),
                line,
                reason,
            });
        }
        // The options below would be taken for options of the section above.
        if parser.is_lost {
            break;
        }
    }
    (parser.entries, errors)
}

#[derive(Default)]
struct IniParser {
    entries: Vec<IniEntry>,
    section: Option<String>,
    /// Whether an indented line would continue the last entry.
    continuable: bool,
    /// Whether the name of the section cannot be read.
    is_lost: bool,
}

impl IniParser {
    fn line(&mut self, line: usize, content: &str) -> std::result::Result<(), String> {
        if content.starts_with([' ', '\t']) {
            return self.continuation(content.trim_start());
        }
        self.continuable = false;
        if content.is_empty() || content.starts_with(['#', ';']) {
            Ok(())
        } else if let Some(rest) = content.strip_prefix('[') {
            let name = section_name(rest);
            self.is_lost = name.is_err();
            self.section = Some(name?);
            Ok(())
        } else {
            self.option(line, content)
        }
    }

    fn continuation(&mut self, content: &str) -> std::result::Result<(), String> {
        match self.entries.last_mut() {
            Some(entry) if self.continuable => {
                entry.value.push('\n');
                entry.value.push_str(content);
                Ok(())
            }
            _ => Err("this line is indented, but there is no value above it to continue".into()),
        }
    }

    fn option(&mut self, line: usize, content: &str) -> std::result::Result<(), String> {
        let (key, value) = content
            .split_once(['=', ':'])
            .ok_or("neither '=' nor ':' in this line")?;
        let key = key.trim();
        if key.is_empty() {
            return Err("an option's name is missing before '=' or ':'".into());
        }
        let Some(section) = self.section.clone() else {
            self.is_lost = true;
            return Err(format!("a [section] must come before the option {key}"));
        };
        self.entries.push(IniEntry {
            section,
            key: key.to_owned(),
            value: unquoted(value.trim()).to_owned(),
            line,
        });
        self.continuable = true;
        Ok(())
    }
}

/// The section that a line begins; `rest` is the text after the `[`.
fn section_name(rest: &str) -> std::result::Result<String, String> {
    match rest.strip_suffix(']') {
        None => Err(format!("a section must end with ]: [{rest}")),
        Some("") => Err("a section needs a name: []".into()),
        Some("DEFAULT") => Ok("DEFAULT".to_owned()),
        Some(name) => Ok(name.to_lowercase()),
    }
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            // A lone quote is its own end, and leaves nothing.
            return if rest.is_empty() {
                rest
            } else {
                rest.strip_suffix(quote).unwrap_or(value)
            };
        }
    }
    value
}

#[cfg(test)]
mod tests;
