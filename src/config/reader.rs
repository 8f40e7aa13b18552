//! From the layers to typed values. Every error names the option, the value and where it was set.

use super::error::{BadValue, ConfigError, Result};
use super::known::{self, Known};
use super::layers::{Layers, Origin};
use super::{mask, value};

pub struct Reader<'a> {
    layers: &'a Layers,
}

impl<'a> Reader<'a> {
    pub fn new(layers: &'a Layers) -> Self {
        Self { layers }
    }

    pub fn unconfigured(&self) -> bool {
        self.layers.unconfigured()
    }

    /// The value as text, empty where there is none.
    pub fn text(&self, section: &'static str, name: &'static str) -> Result<String> {
        Ok(self.optional_text(section, name)?.unwrap_or_default())
    }

    pub fn optional_text(&self, section: &'static str, name: &'static str) -> Result<Option<String>> {
        Ok(self.one(row(section, name))?.0)
    }

    /// Every value of a repeatable option.
    pub fn multi(&self, section: &'static str, name: &'static str) -> Result<Vec<String>> {
        Ok(self.layers.resolve(row(section, name))?.0)
    }

    /// The items between the commas; commas at the end begin none.
    pub fn list(&self, section: &'static str, name: &'static str) -> Result<Vec<String>> {
        let text = self.text(section, name)?;
        let text = text.trim().trim_end_matches(',');
        let items = text.split(',').map(|item| item.trim().to_owned());
        Ok(items.filter(|_| !text.is_empty()).collect())
    }

    pub fn boolean(&self, section: &'static str, name: &'static str) -> Result<bool> {
        self.parsed(section, name, value::boolean)
    }

    /// A number that has a default, which holds for empty text too.
    pub fn number<T: TryFrom<i128> + Default>(&self, section: &'static str, name: &'static str) -> Result<T> {
        match self.optional_number(section, name)? {
            Some(number) => Ok(number),
            None => Ok(row(section, name)
                .default
                .and_then(|text| value::integer(text).ok().flatten())
                .unwrap_or_default()),
        }
    }

    pub fn optional_number<T: TryFrom<i128>>(&self, section: &'static str, name: &'static str) -> Result<Option<T>> {
        self.parsed(section, name, value::integer)
    }

    /// One of a few words, each with its meaning.
    pub fn choice<T: Copy>(&self, section: &'static str, name: &'static str, words: &[(&str, T)]) -> Result<T> {
        self.parsed(section, name, |text| {
            words
                .iter()
                .find(|(word, _)| *word == text)
                .map(|(_, meaning)| *meaning)
                .ok_or_else(|| {
                    format!(
                        "must be one of {}",
                        words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
                    )
                })
        })
    }

    /// The value as `parse` understands it; its error is what must hold, as in `must be …`.
    pub fn parsed<T>(
        &self,
        section: &'static str,
        name: &'static str,
        parse: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        let (text, _) = self.one(row(section, name))?;
        parse(&text.unwrap_or_default()).map_err(|reason| self.refuse(section, name, reason))
    }

    /// The error that the value of this option is wrong for `reason`.
    pub fn refuse(&self, section: &str, name: &str, reason: String) -> ConfigError {
        let (shown, origin) = known::find(section, name)
            .and_then(|known| {
                let (text, origin) = self.one(known).ok()?;
                Some((mask::value(known, &text.unwrap_or_default()), origin))
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

    fn one(&self, known: &Known) -> Result<(Option<String>, Origin)> {
        let (mut values, origin) = self.layers.resolve(known)?;
        Ok((values.pop(), origin))
    }
}

/// The row of an option that placet's own code asks for: a missing one is a mistake that every test finds.
fn row(section: &str, name: &str) -> &'static Known {
    // The names are literals of this room.
    known::find(section, name).unwrap_or_else(|| panic!("[{section}] {name} is not in the table of options"))
}
