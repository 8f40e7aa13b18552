//! From the text of a value to its type, with oslo.config's spellings. The errors are half sentences: the caller
//! knows the option and where it was set.

/// `true`, `1`, `on`, `yes` and their opposites, in any case; nothing is trimmed.
///
/// # Errors
/// Any other text, the empty one included.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err("must be one of true, 1, on, yes, false, 0, off, no".into()),
    }
}

/// A whole number as Python's `int` reads it (sign, blanks around, `_` between digits), that fits in `T`. Empty text
/// is no value.
///
/// # Errors
/// Text that is no whole number, and numbers that `T` cannot hold.
pub fn integer<T: TryFrom<i128>>(text: &str) -> Result<Option<T>, String> {
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

/// Items between commas, trimmed; commas at the end count for nothing, empty items in the middle stay.
pub fn list(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches(',');
    if text.is_empty() {
        Vec::new()
    } else {
        text.split(',').map(|item| item.trim().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans() {
        assert!(["True", "YES", "on", "1"].iter().all(|text| boolean(text) == Ok(true)));
        assert!(
            ["false", "No", "OFF", "0"]
                .iter()
                .all(|text| boolean(text) == Ok(false))
        );
        assert!(["t", "", "2", " true"].iter().all(|text| boolean(text).is_err()));
    }

    #[test]
    fn integers() {
        for (text, number) in [("1_000", 1000), ("+5", 5), ("-3", -3), (" 7", 7)] {
            assert_eq!(integer::<i64>(text), Ok(Some(number)), "{text}");
        }
        assert_eq!(integer::<i64>(" "), Ok(None));
        assert!(
            ["0x10", "5.0", "1e3", "_1", "1__0", "x"]
                .iter()
                .all(|text| integer::<i64>(text).is_err())
        );
        assert_eq!(integer::<u32>("-1"), Err("is too low".into()));
        assert_eq!(integer::<u8>("256"), Err("is too high".into()));
    }

    #[test]
    fn lists() {
        assert_eq!(list("a, b ,"), ["a", "b"]);
        assert_eq!(list("a,,b"), ["a", "", "b"]);
        assert_eq!(list("'a','b'"), ["'a'", "'b'"]);
        assert_eq!(list("a\nb,\nc"), ["a\nb", "c"]);
        assert!(list("").is_empty() && list(",").is_empty());
    }
}
