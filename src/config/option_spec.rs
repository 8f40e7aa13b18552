//! The declaration of one option as data: its name, default, allowed values, and help text.

use super::mask;

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub section: &'static str,
    /// The name in files, with underscores. A declaration of unused options has several names, with blanks between.
    pub name: &'static str,
    /// The text before substitution; `None` without a default.
    pub default: Option<&'static str>,
    /// Whether values add up if the option is repeated (oslo.config's `MultiStrOpt`).
    pub repeatable: bool,
    /// Whether logs and terminals must not show the value.
    pub secret: bool,
    /// Older names as (section, name). Files may use older names; environment variables may not, as in oslo.config.
    pub deprecated: &'static [(&'static str, &'static str)],
    /// The allowed values, such as `whole number`.
    pub kind: &'static str,
    /// The minimum and the maximum.
    pub range: Option<(i64, i64)>,
    /// The unit of a number, such as `seconds`; may be empty.
    pub unit: &'static str,
    /// Whether placet uses the option. An unused option is accepted and ignored.
    pub is_used: bool,
    /// The help text, a paragraph of Markdown; of an unused option, the replacement.
    pub text: &'static str,
}

impl OptionSpec {
    const fn new(section: &'static str, name: &'static str, is_used: bool, text: &'static str) -> Self {
        Self {
            section,
            name,
            default: None,
            repeatable: false,
            secret: false,
            deprecated: &[],
            kind: "text",
            range: None,
            unit: "",
            is_used,
            text,
        }
    }

    /// An option without a default.
    pub const fn honoured(section: &'static str, name: &'static str, help: &'static str) -> Self {
        Self::new(section, name, true, help.trim_ascii_start())
    }

    /// Unused options of a section with the same replacement. `names` has blanks between the names.
    pub const fn unused(section: &'static str, names: &'static str, replacement: &'static str) -> Self {
        Self::new(section, names, false, replacement)
    }

    pub const fn defaults_to(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub const fn formerly(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.deprecated = names;
        self
    }

    /// A value of the option for logs and terminals. A secret is masked: the password of a database URL, or the whole
    /// value of any further secret option.
    pub fn shown(&self, value: &str) -> String {
        if !self.secret {
            value.to_owned()
        } else if self.name.ends_with("connection") {
            mask::url(value)
        } else {
            mask::MASK.to_owned()
        }
    }

    /// The environment variable that sets this option, by oslo.config's rule.
    pub fn variable(&self) -> String {
        format!("OS_{}__{}", self.section.to_uppercase(), self.name.to_uppercase())
    }
}
