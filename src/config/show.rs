//! The effective configuration, and what of it is not honoured, as text for people.

use std::fmt::Write;

use super::error::Result;
use super::known::{self, Known, Treatment};
use super::layers::Layers;
use super::{mask, template};

/// Every option that placet honours as INI that can be read again (but for masked secrets), each under a remark that
/// says where it was set: `# from FILE:LINE`, `# from environment VARIABLE`, `# from command line` or `# default`.
///
/// # Errors
/// A `$name` that names no option.
pub fn ini(layers: &Layers) -> Result<String> {
    let mut rows: Vec<&Known> = known::all()
        .filter(|row| row.treatment == Treatment::Honoured)
        .collect();
    // placet's own section last: what an operator of Placement knows comes first.
    rows.sort_by_key(|row| (row.section == "placet", row.section != "DEFAULT", row.section));
    let mut out = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = row.section;
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{gap}[{section}]");
        }
        let (values, origin) = layers.resolve(row)?;
        let _ = writeln!(out, "# {origin}");
        if values.is_empty() {
            let _ = writeln!(out, "# {} =", row.name);
        }
        for value in values {
            let line = format!(
                "{} = {}",
                row.name,
                quoted(&template::escape(&mask::value(row, &value)))
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    Ok(out)
}

/// Quotes that the reader takes off again, where it would take off something else.
fn quoted(value: &str) -> String {
    if value.contains('\n') {
        return value.replace('\n', "\n    ");
    }
    let trimmed = value.trim() != value;
    let like_quoted = value.starts_with(['"', '\'']) && value.chars().next() == value.chars().next_back();
    if trimmed || like_quoted {
        format!("\"{value}\"")
    } else {
        value.to_owned()
    }
}

/// One sentence for each option that is set but not used, and for each older name.
pub fn warnings(layers: &Layers) -> Vec<String> {
    let mut out = Vec::new();
    for row in known::all() {
        let Some(set) = layers.set(row) else { continue };
        if let Some((section, name)) = set.older_name {
            out.push(format!(
                "[{section}] {name}: an older name, write [{}] {} ({})",
                row.section, row.name, set.origin
            ));
        }
        if let Treatment::Unused(instead) = row.treatment {
            out.push(format!(
                "[{}] {}: accepted, but not used: {instead}",
                row.section, row.name
            ));
        }
    }
    out
}
