//! Cuts long texts, so that a refusal does not repeat megabytes of a request.

use crate::cut::cut;

/// Cuts off a text after this many bytes.
pub fn cut_at(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(cut(&text, bytes).len());
        text.push('…');
    }
    text
}
