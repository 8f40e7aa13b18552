//! Cuts long texts, so that a refusal does not repeat megabytes of a request.

/// Cuts off a text after this many bytes.
pub fn cut_at(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        let end = (0..=bytes).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}
