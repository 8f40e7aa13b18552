//! Recognises UUIDs in requests.

use super::bad_request;
use super::integer;
use super::python::repr_str;
use crate::error::Result;

/// The length of the database columns for uuids of consumers and aggregates, whose spelling is kept.
const MAX_CHARS: usize = 36;

/// The UUID in lower case with dashes. Accepts the API's spellings: with or without dashes, in braces, or as a URN.
pub fn canonical(text: &str) -> Option<String> {
    let hex = digits(text).to_ascii_lowercase();
    if hex.len() != 32 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// The digits of a spelling.
fn digits(text: &str) -> String {
    let bare = text.replace("urn:", "").replace("uuid:", "");
    bare.trim_matches(['{', '}']).replace('-', "")
}

/// Refuses a spelling too long for the column. `owner` names the kind of object in the message.
pub fn check_length(owner: &str, text: &str) -> Result<()> {
    if text.chars().count() <= MAX_CHARS {
        return Ok(());
    }
    bad_request(format!(
        "The uuid of {owner} has at most {MAX_CHARS} characters. Got: {}",
        repr_str(text)
    ))
}

/// Whether a schema accepts `text` as a UUID in a query. The text needs dashes in the usual positions. Without dashes,
/// Python's `int` must accept the text as hexadecimal. A text without a real UUID matches no row.
pub fn is_dashed(text: &str) -> bool {
    let dashed = |at| text.chars().nth(at) == Some('-');
    [8, 13, 18, 23].into_iter().all(dashed) && {
        let hex = digits(text);
        hex.chars().count() == 32 && integer::is_hexadecimal(&hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0123abcd-4567-89ab-cdef-0123456789ab";

    #[test]
    fn all_spellings_are_accepted() {
        for text in [
            UUID,
            "0123ABCD-4567-89AB-CDEF-0123456789AB",
            "0123abcd456789abcdef0123456789ab",
            "{0123abcd-4567-89ab-cdef-0123456789ab}",
            "urn:uuid:0123abcd-4567-89ab-cdef-0123456789ab",
            "0-1-2-3abcd456789abcdef0123456789ab",
        ] {
            assert_eq!(canonical(text).as_deref(), Some(UUID), "{text}");
        }
        for text in [
            "",
            "junk",
            "0123abcd",
            &UUID[1..],
            &format!("{UUID}\n"),
            &UUID.replace('a', "g"),
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn a_uuid_in_a_query_must_have_dashes() {
        assert!(is_dashed(UUID));
        assert!(is_dashed(&UUID.replace("01", "\u{661}1")), "a digit of another script");
        assert!(is_dashed(&UUID.replace("23a", "2_a")), "an underscore between digits");
        assert!(!is_dashed(&UUID.replace("23a", "__a")));
        assert!(!is_dashed("0123abcd456789abcdef0123456789ab"));
        assert!(!is_dashed("{0123abcd-4567-89ab-cdef-0123456789ab}"));
    }
}
