//! The INI dialect of oslo.config, line by line.
//!
//! It differs from what INI crates read: an indented line continues the value above it (an indented comment too), a
//! blank line or a comment ends a value, a comment is a whole line, a key may repeat, and one pair of quotes around
//! a one-line value is taken off. All of it was measured against oslo.config 10.7.

use std::path::Path;

use super::error::{ConfigError, Result};

/// One `key = value` of a file. The line is where it began, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As oslo.config compares it: in lower case, except `DEFAULT` itself. (`[default]` is another section.)
    pub section: String,
    pub key: String,
    /// The lines of the value joined by `\n`, `$` not yet substituted.
    pub value: String,
    pub line: usize,
}

/// Reads the text of `file` (the name is only for errors).
///
/// # Errors
/// [`ConfigError::Syntax`] at the first line that oslo.config would refuse.
pub fn parse(file: &Path, text: &str) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut section: Option<String> = None;
    // Whether the last entry may still be continued.
    let mut open = false;
    // Python reads with universal newlines: a lone carriage return ends a line as well.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for (line, raw) in (1..).zip(text.split('\n')) {
        let refuse = |reason: String| ConfigError::Syntax {
            file: file.to_owned(),
            line,
            reason,
        };
        let content = raw.trim_end();
        if content.is_empty() {
            open = false;
        } else if content.starts_with([' ', '\t']) {
            match entries.last_mut() {
                Some(entry) if open => {
                    entry.value.push('\n');
                    entry.value.push_str(content.trim_start());
                }
                _ => {
                    return Err(refuse(
                        "this line is indented, but there is no value above it to continue".into(),
                    ));
                }
            }
        } else if let Some(rest) = content.strip_prefix('[') {
            open = false;
            match rest.strip_suffix(']') {
                None => return Err(refuse(format!("a section must end with ]: {content}"))),
                Some("") => return Err(refuse("a section needs a name: []".into())),
                Some(name) => section = Some(normal_section(name)),
            }
        } else if content.starts_with(['#', ';']) {
            open = false;
        } else {
            let (key, value) = split(content).ok_or_else(|| refuse("neither '=' nor ':' in this line".into()))?;
            if key.is_empty() {
                return Err(refuse("an option's name is missing before '=' or ':'".into()));
            }
            let Some(section) = section.clone() else {
                return Err(refuse(format!("a [section] must come before the option {key}")));
            };
            entries.push(Entry {
                section,
                key: key.to_owned(),
                value: unquoted(value).to_owned(),
                line,
            });
            open = true;
        }
    }
    Ok(entries)
}

fn normal_section(name: &str) -> String {
    if name == "DEFAULT" {
        name.to_owned()
    } else {
        name.to_lowercase()
    }
}

/// Splits at the first `=` or `:`, whichever comes first.
fn split(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(['=', ':'])?;
    Some((key.trim(), value.trim()))
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            // A quote alone is its own end, and leaves nothing.
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
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>> {
        parse(Path::new("x.conf"), text)
    }

    fn values(text: &str) -> Vec<String> {
        read(&format!("[DEFAULT]\n{text}"))
            .unwrap()
            .into_iter()
            .map(|entry| entry.value)
            .collect()
    }

    #[test]
    fn values_are_read_as_oslo_config_reads_them() {
        for (line, value) in [
            ("s : a=b", "a=b"),
            ("s = a:b", "a:b"),
            ("s:a", "a"),
            ("s=", ""),
            ("s = \"a b \"", "a b "),
            ("s = 'a'", "a"),
            ("s = \"", ""),
            ("s = \"a", "\"a"),
            ("s = a\"", "a\""),
            ("s = \"a'", "\"a'"),
            ("s = 'a' 'b'", "a' 'b"),
            ("s = a # c", "a # c"),
            ("s = a ; c", "a ; c"),
            ("s = a\n  b\n\tc", "a\nb\nc"),
            ("s =\n  b", "\nb"),
            ("s = a\n  # b", "a\n# b"),
            ("s = \"a\n b\"", "\"a\nb\""),
        ] {
            assert_eq!(values(line), [value], "{line:?}");
        }
    }

    #[test]
    fn every_kind_of_newline_ends_a_line() {
        assert_eq!(values("s=a\rb=1\r\ni=2\r\n"), ["a", "1", "2"]);
    }

    #[test]
    fn an_entry_knows_its_section_and_first_line() {
        let entries = read("# c\n[Api]\nauth_strategy = noauth2\n; c\n[default]\ns = a\n b\ns = c\n").unwrap();
        let seen: Vec<_> = entries
            .iter()
            .map(|e| (e.section.as_str(), e.key.as_str(), e.line))
            .collect();
        assert_eq!(
            seen,
            [("api", "auth_strategy", 3), ("default", "s", 6), ("default", "s", 8)]
        );
    }

    #[test]
    fn a_section_name_is_lowered_except_default() {
        let entries = read("[DEFAULT]\na=1\n[ X ]\na=2").unwrap();
        assert_eq!(entries[0].section, "DEFAULT");
        assert_eq!(entries[1].section, " x ");
    }

    #[test]
    fn what_oslo_config_refuses_is_refused_with_its_line() {
        for (text, line, part) in [
            ("[DEFAULT]\ns = a\n\n b", 4, "indented"),
            ("[DEFAULT]\ns = a\n# c\n b", 4, "indented"),
            ("[DEFAULT]\n  # x\ns = 1", 2, "indented"),
            ("[DEFAULT]\ns", 2, "neither"),
            ("[DEFAULT]\n= 3", 2, "name is missing"),
            ("\ns = 1", 2, "[section]"),
            ("[DEFAULT", 1, "end with ]"),
            ("[DEFAULT] # c", 1, "end with ]"),
            ("[]", 1, "needs a name"),
            ("\u{feff}[DEFAULT]", 1, "neither"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("x.conf:{line}: ")), "{error}");
            assert!(error.contains(part), "{error}");
        }
    }
}
