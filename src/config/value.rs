//! Parses the text of a value into its type, with oslo.config's spellings. The errors are the ends of sentences: the
//! caller adds the option and the origin.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::mask;

/// A type for values of options.
pub trait OptionValue: Sized {
    /// The allowed values, for the documentation.
    const KIND: &'static str;
    /// Whether logs and terminals must not show the value.
    const SECRET: bool = false;
    /// Whether the values of a repeated option add up (oslo.config's `MultiStrOpt`). Otherwise the last value wins.
    const REPEATABLE: bool = false;

    /// Parses a text. `None` if the text is empty, so that the default holds.
    ///
    /// # Errors
    /// The requirement, as in `must be …`.
    fn from_text(text: &str) -> Result<Option<Self>, String>;

    /// Parses all texts of an option. There may be none.
    ///
    /// # Errors
    /// As of [`OptionValue::from_text`].
    fn from_texts(texts: &[String]) -> Result<Option<Self>, String> {
        Self::from_text(texts.last().map_or("", String::as_str))
    }
}

impl OptionValue for bool {
    const KIND: &'static str = "true, false";

    /// `true`, `1`, `on`, `yes` and their opposites, in upper or lower case; nothing is trimmed.
    fn from_text(text: &str) -> Result<Option<Self>, String> {
        match text.to_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Ok(Some(true)),
            "false" | "0" | "off" | "no" => Ok(Some(false)),
            _ => Err("must be one of true, 1, on, yes, false, 0, off, no".into()),
        }
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl OptionValue for $type {
            const KIND: &'static str = "whole number";

            fn from_text(text: &str) -> Result<Option<Self>, String> {
                integer(text)
            }
        })+
    };
}

whole_numbers!(i64, u32, u64, usize);

/// A whole number as Python's `int` reads numbers (sign, outer blanks, `_` between digits), if the number fits in `T`.
fn integer<T: TryFrom<i128>>(text: &str) -> Result<Option<T>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let parts: Vec<&str> = text.split('_').collect();
    let between_digits = parts.windows(2).all(|pair| {
        pair[0].ends_with(|c: char| c.is_ascii_digit()) && pair[1].starts_with(|c: char| c.is_ascii_digit())
    });
    let number = parts.concat().parse::<i128>().ok().filter(|_| between_digits);
    let number = number.ok_or("must be a whole number")?;
    T::try_from(number).map(Some).map_err(|_| {
        if number < 0 {
            "is too low".into()
        } else {
            "is too high".into()
        }
    })
}

/// The longest time of an option: a hundred years, which can be added to every moment.
const MAX_SECONDS: u64 = 100 * 365 * 86_400;

/// A number of seconds as a time. A longer time than placet can count is as good as a hundred years.
pub fn seconds(number: u64) -> Duration {
    Duration::from_secs(number.min(MAX_SECONDS))
}

/// A type with a few values, each with a word.
pub trait ChoiceValue: Copy + 'static {
    /// The words, separated by `, `.
    const WORDS: &'static str;
    /// The values, in the order of the words.
    const VALUES: &'static [Self];
}

impl<T: ChoiceValue> OptionValue for T {
    const KIND: &'static str = T::WORDS;

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        let found = T::WORDS.split(", ").zip(T::VALUES).find(|(word, _)| *word == text);
        found
            .map(|(_, value)| Some(*value))
            .ok_or_else(|| format!("must be one of {}", T::WORDS))
    }
}

impl OptionValue for String {
    const KIND: &'static str = "text";

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        Ok(Some(text.to_owned()))
    }
}

impl OptionValue for Vec<String> {
    const KIND: &'static str = "comma-separated list";

    /// The items between the commas. Trailing commas are ignored.
    fn from_text(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim().trim_end_matches(',');
        let items = text.split(',').map(|item| item.trim().to_owned());
        Ok(Some(items.filter(|_| !text.is_empty()).collect()))
    }
}

/// Every value of a repeatable option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated(pub Vec<String>);

impl OptionValue for Repeated {
    const KIND: &'static str = "text; may be repeated";
    const REPEATABLE: bool = true;

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        Ok(Some(Self(vec![text.to_owned()])))
    }

    fn from_texts(texts: &[String]) -> Result<Option<Self>, String> {
        Ok(Some(Self(texts.to_vec())))
    }
}

impl OptionValue for PathBuf {
    const KIND: &'static str = "path";

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

impl OptionValue for SocketAddr {
    const KIND: &'static str = "ADDRESS:PORT";

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        let localhost = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address = localhost.as_deref().unwrap_or(text).parse();
        address
            .map(Some)
            .map_err(|_| "must be ADDRESS:PORT, like 127.0.0.1:8778 or [::1]:8778".to_owned())
    }
}

/// A text that logs must not show: a database URL, which may contain a password, or a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<const IS_URL: bool>(String);

pub type DatabaseUrl = Secret<true>;
pub type Password = Secret<false>;

impl<const IS_URL: bool> Secret<IS_URL> {
    /// The text with its secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<const IS_URL: bool> fmt::Debug for Secret<IS_URL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(mask::MASK)
    }
}

impl<const IS_URL: bool> OptionValue for Secret<IS_URL> {
    const KIND: &'static str = if IS_URL { "URL" } else { "text" };
    const SECRET: bool = true;

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }
}

/// An option without a default. An empty text means no value.
impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: &'static str = T::KIND;
    const SECRET: bool = T::SECRET;
    const REPEATABLE: bool = T::REPEATABLE;

    fn from_text(text: &str) -> Result<Option<Self>, String> {
        if text.is_empty() {
            return Ok(Some(None));
        }
        T::from_text(text).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_spelled_as_in_oslo_config() {
        let read = |text: &str| bool::from_text(text);
        assert!(
            ["True", "YES", "on", "1"]
                .iter()
                .all(|text| read(text) == Ok(Some(true)))
        );
        assert!(
            ["false", "No", "OFF", "0"]
                .iter()
                .all(|text| read(text) == Ok(Some(false)))
        );
        assert!(["t", "", "2", " true"].iter().all(|text| read(text).is_err()));
    }

    #[test]
    fn whole_numbers_are_spelled_as_in_python() {
        for (text, number) in [("1_000", 1000), ("+5", 5), ("-3", -3), (" 7", 7)] {
            assert_eq!(i64::from_text(text), Ok(Some(number)), "{text}");
        }
        assert_eq!(i64::from_text(" "), Ok(None));
        assert!(
            ["0x10", "5.0", "1e3", "_1", "1__0", "x"]
                .iter()
                .all(|text| i64::from_text(text).is_err())
        );
        assert_eq!(u32::from_text("-1"), Err("is too low".into()));
        assert_eq!(u32::from_text("4294967296"), Err("is too high".into()));
    }

    #[test]
    fn an_empty_text_is_no_value_of_an_optional_number() {
        assert_eq!(Option::<u32>::from_text(""), Ok(Some(None)));
        assert_eq!(Option::<u32>::from_text("1"), Ok(Some(Some(1))));
        assert!(Option::<u32>::from_text("x").is_err());
    }
}
