//! Compares the formatting of values with Python's `repr` and `pprint`.

use super::super::json;
use super::*;

fn value(text: &str) -> Json {
    json::read(text.as_bytes(), |_| Ok(())).unwrap()
}

#[test]
fn texts_are_quoted_as_in_python() {
    for (text, expected) in [
        ("", "''"),
        ("it's", "\"it's\""),
        ("it's \"so\"", "'it\\'s \"so\"'"),
        ("tab\tnew\nline\\", "'tab\\tnew\\nline\\\\'"),
        ("é 日本 😀", "'é 日本 😀'"),
        (
            "\u{0}\u{7f}\u{a0}\u{200b}\u{e000}\u{1d173}",
            "'\\x00\\x7f\\xa0\\u200b\\ue000\\U0001d173'",
        ),
        ("a\u{301}\u{301}", "'a\u{301}\u{301}'"),
        ("\u{301}", "'\u{301}'"),
    ] {
        assert_eq!(repr_str(text), expected);
    }
}

#[test]
fn floats_are_printed_as_in_python() {
    for (number, expected) in [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (3.40282e38, "3.40282e+38"),
        (1.5e300, "1.5e+300"),
    ] {
        assert_eq!(repr(&Json::Float(number)), expected);
    }
}

#[test]
fn constants_have_pythons_names() {
    assert_eq!(
        repr(&value("{\"a\": [null, true, false, 1]}")),
        "{'a': [None, True, False, 1]}"
    );
    assert_eq!(repr_list(["", "_A"]), "['', '_A']");
}

/// Measured on `pprint.pformat` of Python 3.11.
#[test]
fn long_values_are_split_into_lines_as_pprint_does() {
    let long = "word ".repeat(20);
    assert_eq!(
        pretty(&value(&format!("{{\"name\": \"{long}\", \"n\": [1, 2]}}"))),
        "{'name': 'word word word word word word word word word word word word '
             'word word word word word word word word ',
     'n': [1, 2]}"
    );
    assert_eq!(
        pretty(&value(&format!("\"{long}\""))),
        "('word word word word word word word word word word word word word '\n     'word word word word word word word ')"
    );
}

#[test]
fn a_long_sentence_is_cut_off() {
    let huge = Json::Array(vec![Json::String("x".repeat(1000).into()); 100_000].into());
    assert!(cut(repr(&huge)).len() <= MAX_PART_BYTES + '…'.len_utf8());
    assert!(pretty(&huge).len() < 2 * MAX_PART_BYTES);
    assert!(cut("é".repeat(MAX_PART_BYTES)).ends_with("é…"));
    // A text is cut before it is quoted.
    for text in ["x".repeat(1_000_000), "é ".repeat(1_000_000), "\u{1}".repeat(1_000_000)] {
        assert!(repr_str(&text).len() < 5 * MAX_PART_BYTES);
        assert!(repr_list([&*text; 100]).len() < 5 * MAX_PART_BYTES);
        let value = Json::Object([(text.clone(), Json::String(text.into()))].into_iter().collect());
        assert!(repr(&value).len() < 10 * MAX_PART_BYTES);
        assert!(pretty(&value).len() < 2 * MAX_PART_BYTES);
    }
}
