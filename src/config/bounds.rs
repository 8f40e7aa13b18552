//! A violated bound as a sentence.

use validator::{ValidationErrors, ValidationErrorsKind};

use super::error::ConfigError;
use super::reader::Reader;

/// The first violation, by section and name, as `[section] name = value: must be …`.
pub fn first(reader: &Reader, violations: &ValidationErrors) -> ConfigError {
    let mut found: Vec<(String, String, String)> = Vec::new();
    for (section, kind) in violations.errors() {
        let ValidationErrorsKind::Struct(fields) = kind else {
            continue;
        };
        for (name, errors) in fields.field_errors() {
            for error in errors {
                let bound = |end: &str| error.params.get(end).map(ToString::to_string);
                let reason = match (bound("min"), bound("max")) {
                    (Some(min), Some(max)) => format!("must be between {min} and {max}"),
                    (Some(min), None) => format!("must be at least {min}"),
                    (None, Some(max)) => format!("must be at most {max}"),
                    (None, None) => "is not allowed".to_owned(),
                };
                found.push((section.to_string(), name.to_string(), reason));
            }
        }
    }
    found.sort();
    let (section, name, reason) = found.into_iter().next().unwrap_or_default();
    reader.refuse(&section, &name, reason)
}
