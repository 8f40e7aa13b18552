//! Parses integers as Python's `int` does: clients' tests depend on the spellings accepted by OpenStack Placement.

use std::sync::LazyLock;

use regex::Regex;

use super::python::{repr_str, strip};

/// Python's limit on the digits of a decimal number.
pub const MAX_DIGITS: usize = 4300;

static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{Nd}$").expect("the pattern is valid"));

/// `int(text)`: accepts surrounding blanks, a sign, single underscores between digits, and digits of any script.
/// Saturates at the limits of `i64`.
pub fn decimal(text: &str) -> Option<i64> {
    let (negative, digits) = digits(text, 10)?;
    if digits.len() > MAX_DIGITS {
        return None;
    }
    let magnitude: i64 = digits.parse().unwrap_or(i64::MAX);
    Some(if negative { -magnitude } else { magnitude })
}

/// Python's message if `int(text)` fails.
pub fn error_message(text: &str) -> String {
    match digits(text, 10) {
        Some((_, digits)) => too_long(digits.len()),
        None => format!("invalid literal for int() with base 10: {}", repr_str(text)),
    }
}

/// Python's message for a number with too many digits.
pub fn too_long(digits: usize) -> String {
    format!(
        "Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion: value has {digits} digits; use \
         sys.set_int_max_str_digits() to increase the limit"
    )
}

/// Whether `int(text, 16)` succeeds. The digits may follow a `0x`.
pub fn is_hexadecimal(text: &str) -> bool {
    digits(text, 16).is_some()
}

/// Whether the number is negative, and the digits converted to ASCII.
fn digits(text: &str, radix: u32) -> Option<(bool, String)> {
    let text = strip(text);
    let (negative, mut digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if radix == 16
        && let Some(rest) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
    {
        digits = rest.strip_prefix('_').unwrap_or(rest);
    }
    let mut plain = String::with_capacity(digits.len());
    for group in digits.split('_') {
        if group.is_empty() {
            return None;
        }
        for c in group.chars() {
            plain.push(ascii_digit(c).filter(|digit| digit.is_digit(radix))?);
        }
    }
    Some((negative, plain))
}

fn ascii_digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    // In Unicode the ten digits of a script are consecutive, beginning with zero.
    let is_digit = |code: &u32| char::from_u32(*code).is_some_and(|c| DIGIT.is_match(c.encode_utf8(&mut [0; 4])));
    let before = (0..u32::from(c)).rev().take_while(is_digit).count();
    is_digit(&u32::from(c)).then(|| char::from_digit(u32::try_from(before % 10).ok()?, 10))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_parsed_as_in_python() {
        for (text, number) in [
            (" +1_000\n", Some(1000)),
            ("-7", Some(-7)),
            ("\u{ff11}", Some(1)),
            ("\u{661}2\u{1d7ff}", Some(129)),
            ("\x1c5\u{a0}", Some(5)),
            ("99999999999999999999", Some(i64::MAX)),
            ("", None),
            ("1__0", None),
            ("_1", None),
            ("1.0", None),
            ("1e2", None),
            ("²", None),
            ("0x1", None),
        ] {
            assert_eq!(decimal(text), number, "{text:?}");
        }
        assert_eq!(decimal(&"9".repeat(MAX_DIGITS)), Some(i64::MAX));
        let long = "9".repeat(MAX_DIGITS + 1);
        assert_eq!(decimal(&long), None);
        assert!(
            error_message(&long)
                .ends_with("value has 4301 digits; use sys.set_int_max_str_digits() to increase the limit")
        );
        assert_eq!(error_message("x'"), "invalid literal for int() with base 10: \"x'\"");
    }

    #[test]
    fn a_hexadecimal_number_may_have_a_prefix() {
        for text in ["ff", "0xff", "0X_f", " F_f ", "\u{661}a", "+0"] {
            assert!(is_hexadecimal(text), "{text:?}");
        }
        for text in ["", "0x", "g", "f__f", "0x__f", "é"] {
            assert!(!is_hexadecimal(text), "{text:?}");
        }
    }
}
