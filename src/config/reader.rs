//! Reads options by name into their types. An error names the option, the value, and the value's origin.

use std::path::PathBuf;

use validator::Validate;

use super::error::{BadValue, ConfigError, Result};
use super::mask;
use super::raw::{Origin, RawConfig};
use super::spec;
use super::value::OptionValue;

/// Typed access to the values that are set.
pub struct OptionReader<'a> {
    raw: &'a RawConfig,
}

impl<'a> OptionReader<'a> {
    pub fn new(raw: &'a RawConfig) -> Self {
        Self { raw }
    }

    /// Whether there is no configuration.
    pub fn unconfigured(&self) -> bool {
        self.raw.unconfigured()
    }

    /// The directories in which files with relative names are searched.
    pub fn search_dirs(&self) -> Vec<PathBuf> {
        self.raw.search_dirs.clone()
    }

    /// The value of an option. The default holds for a missing option, and for an empty text if the type allows none.
    ///
    /// # Errors
    /// [`BadValue`]: a text that the type does not allow, or an unknown `$name` in the text.
    pub fn value<T: OptionValue>(&self, section: &'static str, name: &'static str) -> Result<T> {
        // Every test reads every option, so a missing declaration is found at once.
        let spec = spec::find(section, name).unwrap_or_else(|| panic!("[{section}] {name} is not declared"));
        let (texts, _) = self.raw.resolve(spec)?;
        let refuse = |reason| self.refuse(section, name, reason);
        match (T::from_texts(&texts).map_err(refuse)?, spec.default) {
            (Some(value), _) => Ok(value),
            (None, Some(default)) => T::from_text(default)
                .map_err(refuse)?
                .ok_or_else(|| refuse(MISSING.into())),
            (None, None) => Err(refuse(MISSING.into())),
        }
    }

    /// The problem with the value of an option, if any.
    pub fn problem<T: OptionValue>(&self, section: &'static str, name: &'static str) -> Option<ConfigError> {
        if let Err(error) = self.value::<T>(section, name) {
            return Some(error);
        }
        let spec = spec::find(section, name)?;
        let ((min, max), texts) = (spec.range?, self.raw.resolve(spec).ok()?.0);
        let number = i64::from_text(texts.last()?).ok().flatten()?;
        (!(min..=max).contains(&number)).then(|| self.refuse(section, name, outside(min, max)))
    }

    /// Checks the ranges of a section's options.
    ///
    /// # Errors
    /// [`BadValue`]: the first option, by name, outside of its range.
    pub fn check_ranges(&self, section: &str, options: &impl Validate) -> Result<()> {
        let Err(violations) = options.validate() else {
            return Ok(());
        };
        let name = violations.field_errors().into_keys().min().unwrap_or_default();
        let reason = match spec::find(section, &name).and_then(|spec| spec.range) {
            Some((min, max)) => outside(min, max),
            None => "is not allowed".to_owned(),
        };
        Err(self.refuse(section, &name, reason))
    }

    /// The error about the value of this option, with its origin.
    pub fn refuse(&self, section: &str, name: &str, reason: String) -> ConfigError {
        let (shown, origin) = spec::find(section, name)
            .and_then(|spec| {
                let (mut texts, origin) = self.raw.resolve(spec).ok()?;
                Some((mask::value(spec, &texts.pop().unwrap_or_default()), origin))
            })
            .unwrap_or((String::new(), Origin::Default));
        Box::new(BadValue {
            section: section.to_owned(),
            name: name.to_owned(),
            shown,
            reason,
            origin,
        })
        .into()
    }
}

fn outside(min: i64, max: i64) -> String {
    format!("must be between {min} and {max}")
}

const MISSING: &str = "needs a value";
