//! The output of `placet config options`: the options that placet honours, with defaults and help, as a sample
//! placement.conf or as Markdown tables. Tests compare it with docs/configuration.md and examples/placement.conf.

use super::option_spec::OptionSpec;
use super::spec;

/// The width of a comment in a sample.
const COLUMNS: usize = 100;

/// The sections with options that placet honours.
pub fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = spec::honoured().iter().map(|spec| spec.section).collect();
    sections.dedup();
    sections
}

/// All options of a section, or of all sections, as a placement.conf, commented out at their defaults.
pub fn conf(section: Option<&str>) -> String {
    per_section(section, |name, specs| {
        let options: Vec<_> = specs.iter().map(|spec| sample_of(spec)).collect();
        format!("[{name}]\n{}", options.join("\n"))
    })
}

fn sample_of(spec: &OptionSpec) -> String {
    let comment = format!("{}# Value: {}", comment(spec.text), values(spec));
    let assignment = format!("#{} = {}", spec.name, spec.default.unwrap_or_default());
    format!("{comment}\n{}\n", assignment.trim_end())
}

/// A paragraph of Markdown as lines that begin with `# ` and end with a newline. Code in backquotes loses the
/// backquotes, and is not broken.
fn comment(markdown: &str) -> String {
    const NO_BREAK: &str = "\u{a0}";
    let parts = markdown.split('`').enumerate();
    let text: String = parts
        .map(|(index, part)| {
            if index % 2 == 1 {
                part.replace(' ', NO_BREAK)
            } else {
                part.to_owned()
            }
        })
        .collect();
    let mut lines = vec!["#".to_owned()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                *line = format!("{line} {word}")
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    (lines.join("\n") + "\n").replace(NO_BREAK, " ")
}

/// Markdown tables of the options of a section, or of all sections.
pub fn markdown(section: Option<&str>) -> String {
    per_section(section, |name, specs| {
        let rows: String = specs.iter().map(|spec| markdown_row(spec)).collect();
        format!("### [{name}]\n\n| option | default | value | meaning |\n|---|---|---|---|\n{rows}")
    })
}

fn markdown_row(spec: &OptionSpec) -> String {
    let default = match spec.default.unwrap_or_default() {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    format!("| `{}` | {default} | {} | {} |\n", spec.name, values(spec), spec.text)
}

/// The allowed values, for example `1 to 600 seconds`.
fn values(spec: &OptionSpec) -> String {
    match spec.range {
        Some((min, max)) => format!("{min} to {max} {}", spec.unit).trim_end().to_owned(),
        None => spec.kind.to_owned(),
    }
}

/// Joins the descriptions of all sections, with an empty line between them.
fn per_section(section: Option<&str>, describe: impl Fn(&str, &[&OptionSpec]) -> String) -> String {
    let specs: Vec<_> = spec::honoured()
        .into_iter()
        .filter(|spec| section.is_none_or(|section| spec.section == section))
        .collect();
    let described: Vec<_> = specs
        .chunk_by(|one, other| one.section == other.section)
        .map(|specs| describe(specs[0].section, specs))
        .collect();
    described.join("\n")
}

#[cfg(test)]
mod tests;
