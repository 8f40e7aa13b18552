//! Reads options by name into their types, and keeps an error for each unfit value.

use validator::ValidateRange;

use super::error::ConfigError;
use super::option_spec::OptionSpec;
use super::raw::RawConfig;
use super::value::OptionValue;

/// Typed access to the values that are set.
pub struct OptionReader<'a> {
    pub raw: &'a RawConfig,
    /// For each unfit value so far: the option, the value, and the value's origin.
    pub errors: Vec<ConfigError>,
}

impl<'a> OptionReader<'a> {
    pub fn new(raw: &'a RawConfig) -> Self {
        Self {
            raw,
            errors: Vec::new(),
        }
    }

    /// The value of an option. The default stands for a missing value, for an empty text if the type allows none, and
    /// for an unfit value.
    pub fn value<T: OptionValue>(&mut self, section: &'static str, name: &'static str) -> T {
        let spec = self.raw.spec(section, name);
        // Every test reads every option, so a missing declaration is found at once.
        let spec = spec.unwrap_or_else(|| panic!("[{section}] {name} is not declared"));
        let resolved = self.raw.resolve(spec).and_then(|(texts, origin)| {
            let shown = texts.last().map_or("", String::as_str);
            read(spec, &texts).map_err(|reason| ConfigError::of_value(spec, shown, reason, origin))
        });
        let set = match resolved {
            Ok(value) => value,
            Err(error) => {
                self.errors.push(error);
                None
            }
        };
        let default = || T::from_text(spec.default.unwrap_or_default()).ok().flatten();
        set.or_else(default)
            .expect("every option has a default that fits, and every test reads every option")
    }
}

/// The value of all texts of an option; `None` for an empty text if the type allows none.
///
/// # Errors
/// The requirement, as in `must be …`.
fn read<T: OptionValue>(spec: &OptionSpec, texts: &[String]) -> Result<Option<T>, String> {
    let value = T::from_texts(texts)?;
    if let (Some((min, max)), Some(text)) = (spec.range, texts.last()) {
        let number = i64::from_text(text).map_err(|_| outside(min, max))?;
        if !number.validate_range(Some(min), Some(max), None, None) {
            return Err(outside(min, max));
        }
    }
    Ok(value)
}

fn outside(min: i64, max: i64) -> String {
    format!("must be between {min} and {max}")
}
