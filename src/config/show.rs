//! The output of `placet config show`: the effective configuration as INI, and warnings for options that are not used.

use std::fmt::Write;

use super::error::Result;
use super::raw::RawConfig;
use super::spec::{self, Treatment};
use super::{interpolation, mask};

/// Every option that placet honours, as INI that can be read again (but for masked secrets). The comment above an option
/// says where it was set: `# from FILE:LINE`, `# from environment VARIABLE`, `# from command line` or `# default`.
///
/// # Errors
/// A `$name` that names no option.
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
            let value = quoted(&interpolation::escape(&mask::value(spec, &value)));
            let line = format!("{} = {value}", spec.name);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    Ok(out)
}

/// The value, in quotes if the parser would otherwise trim it or remove its own quotes.
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

/// One sentence for each option that is set but not used, and for each that is set by an older name.
pub fn warnings(raw: &RawConfig) -> Vec<String> {
    let mut out = Vec::new();
    for spec in spec::all() {
        let Some(assignment) = raw.assignment(spec) else {
            continue;
        };
        if let Some((section, name)) = assignment.older_name {
            out.push(format!(
                "[{section}] {name}: an older name, write [{}] {} ({})",
                spec.section, spec.name, assignment.origin
            ));
        }
        if let Treatment::Unused(replacement) = spec.treatment {
            out.push(format!(
                "[{}] {}: accepted, but not used: {replacement}",
                spec.section, spec.name
            ));
        }
    }
    out
}
