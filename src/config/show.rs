//! The output of `placet config show`: the effective configuration as INI; and the notes about its names.

use std::fmt::{self, Write};

use super::error::{Origin, Result};
use super::interpolation;
use super::option_spec::OptionSpec;
use super::raw::RawConfig;
use super::spec;
use super::unknown::{self, Unknown};

/// Every option that placet honours, as INI that can be read again (but for masked secrets). The comment above an
/// option names the origin: `# from FILE:LINE`, `# from environment VARIABLE`, `# from command line` or `# default`.
///
/// # Errors
/// A `$name` of an unknown option.
pub fn ini(raw: &RawConfig) -> Result<String> {
    let mut out = String::new();
    let mut section = "";
    for spec in spec::honoured() {
        if spec.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = spec.section;
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{gap}[{section}]");
        }
        let (values, origin) = raw.resolve(spec)?;
        let _ = writeln!(out, "# {origin}");
        if values.is_empty() {
            let _ = writeln!(out, "# {} =", spec.name);
        }
        for value in values {
            let value = quoted(&interpolation::escape(&spec.shown(&value)));
            let line = format!("{} = {value}", spec.name);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    Ok(out)
}

/// The value, in quotes if the parser would otherwise trim the value or remove quotes of the value.
fn quoted(value: &str) -> String {
    if value.contains('\n') {
        return value.replace('\n', "\n    ");
    }
    let would_be_trimmed = value.trim() != value;
    let looks_quoted = value.starts_with(['"', '\'']) && value.chars().next() == value.chars().next_back();
    if would_be_trimmed || looks_quoted {
        format!("\"{value}\"")
    } else {
        value.to_owned()
    }
}

/// A note about a name in the configuration.
#[derive(Debug)]
pub enum Note {
    /// A name without an option.
    Unknown(Unknown),
    /// An option that is set by an older name.
    Older {
        older: (&'static str, &'static str),
        newer: &'static OptionSpec,
        origin: Origin,
    },
    /// An option that is accepted but not used.
    Unused(&'static OptionSpec),
}

impl Note {
    /// The section of the line; `None` for environment variables.
    fn section(&self) -> Option<&str> {
        match self {
            Self::Unknown(unknown) => unknown.section(),
            Self::Older { older, .. } => Some(older.0),
            Self::Unused(spec) => Some(spec.section),
        }
    }

    /// A few words, for a line about the whole section.
    fn short(&self) -> String {
        match self {
            Self::Unknown(Unknown::Option { name, nearest, .. }) => format!("{name} is not an option{nearest}"),
            Self::Unknown(other) => other.to_string(),
            Self::Older { older, newer, .. } => {
                format!("{} is an older name of [{}] {}", older.1, newer.section, newer.name)
            }
            Self::Unused(spec) => spec.name.to_owned(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Older { older, newer, origin } => write!(
                f,
                "[{}] {}: an older name, write [{}] {} ({origin})",
                older.0, older.1, newer.section, newer.name
            ),
            Self::Unused(spec) => write!(
                f,
                "[{}] {}: accepted, but not used: {}",
                spec.section, spec.name, spec.text
            ),
        }
    }
}

/// All notes: unknown names first.
pub fn notes(raw: &RawConfig) -> Vec<Note> {
    let mut notes: Vec<Note> = unknown::find(raw).into_iter().map(Note::Unknown).collect();
    for spec in spec::ALL.iter() {
        let Some(assignment) = raw.assignment(spec) else {
            continue;
        };
        if let Some(older) = assignment.older_name {
            notes.push(Note::Older {
                older,
                newer: spec,
                origin: assignment.origin,
            });
        }
        if !spec.is_used {
            notes.push(Note::Unused(spec));
        }
    }
    notes
}

/// The notes for the log of a start: one line a section.
pub fn summary(raw: &RawConfig) -> Vec<String> {
    let notes = notes(raw);
    let mut sections: Vec<Option<&str>> = Vec::new();
    for note in &notes {
        if !sections.contains(&note.section()) {
            sections.push(note.section());
        }
    }
    let line = |section: &Option<&str>| {
        let of_section = notes.iter().filter(|note| note.section() == *section);
        let (unused, others): (Vec<&Note>, Vec<&Note>) = of_section.partition(|note| matches!(note, Note::Unused(..)));
        let mut parts: Vec<String> = others.iter().map(|note| note.short()).collect();
        if !unused.is_empty() {
            let unused: Vec<String> = unused.iter().map(|note| note.short()).collect();
            parts.push(format!("accepted, but not used: {}", unused.join(", ")));
        }
        let place = match (section, others.first()) {
            // The sentence about an unknown section names the section.
            (Some(_), Some(Note::Unknown(Unknown::Section { .. } | Unknown::Library { .. }))) | (None, _) => {
                String::new()
            }
            (Some(section), _) => format!("[{section}]: "),
        };
        format!("{place}{}. `placet config check` says more", parts.join("; "))
    };
    sections.iter().map(line).collect()
}
