//! The beginning of a text of unknown length. A request may have texts of many megabytes.

/// The first characters of a text, at most `bytes` in UTF-8.
pub fn cut(text: &str, bytes: usize) -> &str {
    let longest = text.len().min(bytes);
    let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (bytes, beginning) in [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (4, "aéb"), (9, "aéb")] {
            assert_eq!(cut("aéb", bytes), beginning);
        }
    }
}
