//! Compares the parser with Python's: values and error messages.

use super::*;

fn parsed(body: &[u8]) -> Result<Json> {
    read(body, |_| Ok(()))
}

fn problem(body: impl AsRef<[u8]>) -> String {
    match parsed(body.as_ref()) {
        Err(Error::MalformedJson(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

/// All sentences were measured on Python 3.11.
#[test]
fn malformed_json_is_refused_with_pythons_message() {
    for (text, sentence) in [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("  ", "Expecting value: line 1 column 3 (char 2)"),
        (
            "{",
            "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("{\"a", "Unterminated string starting at: line 1 column 2 (char 1)"),
        ("{\"a\"", "Expecting ':' delimiter: line 1 column 5 (char 4)"),
        ("{\"a\":", "Expecting value: line 1 column 6 (char 5)"),
        ("{\"a\":1", "Expecting ',' delimiter: line 1 column 7 (char 6)"),
        (
            "{\"a\":1,}",
            "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)",
        ),
        ("[1,]", "Expecting value: line 1 column 4 (char 3)"),
        ("[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"),
        ("\"\\x\"", "Invalid \\escape: line 1 column 2 (char 1)"),
        ("\"\\u12g4\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"),
        ("\"\\u123", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"),
        ("\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"),
        ("01", "Extra data: line 1 column 2 (char 1)"),
        ("-", "Expecting value: line 1 column 1 (char 0)"),
        ("1.", "Extra data: line 1 column 2 (char 1)"),
        ("nul", "Expecting value: line 1 column 1 (char 0)"),
        (
            "\u{feff}{}",
            "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)",
        ),
        ("\n\n  {\"é\"", "Expecting ':' delimiter: line 3 column 7 (char 8)"),
    ] {
        assert_eq!(problem(text), sentence, "{text:?}");
    }
}

#[test]
fn invalid_utf8_is_refused_with_pythons_message() {
    for (bytes, sentence) in [
        (
            &b"\xff"[..],
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (
            b"ab\xc3",
            "'utf-8' codec can't decode byte 0xc3 in position 2: unexpected end of data",
        ),
        (
            b"\xe2\x82",
            "'utf-8' codec can't decode bytes in position 0-1: unexpected end of data",
        ),
        (
            b"\xe2\x28\xa1",
            "'utf-8' codec can't decode byte 0xe2 in position 0: invalid continuation byte",
        ),
        (
            b"\xf0\x9f\x92\x28",
            "'utf-8' codec can't decode bytes in position 0-2: invalid continuation byte",
        ),
        (
            b"\xc0\x80",
            "'utf-8' codec can't decode byte 0xc0 in position 0: invalid start byte",
        ),
    ] {
        assert_eq!(problem(bytes), sentence);
    }
}

#[test]
fn numbers_are_parsed_as_in_python() {
    let value = parsed(b"[0, -12, 1.0, 1e2, 12345678901234567890, 1e400, NaN, -Infinity]").unwrap();
    assert_eq!(
        super::super::python::repr(&value),
        "[0, -12, 1.0, 100.0, 12345678901234567890, inf, nan, -inf]"
    );
    assert_eq!(
        problem("9".repeat(4301)),
        "Exceeds the limit (4300 digits) for integer string conversion: value has 4301 digits; use \
         sys.set_int_max_str_digits() to increase the limit"
    );
}

#[test]
fn the_last_of_equal_keys_replaces_the_first_in_its_position() {
    let value = parsed(b"{\"a\": 1, \"b\": 2, \"a\": 3}").unwrap();
    assert_eq!(super::super::python::repr(&value), "{'a': 3, 'b': 2}");
}

#[test]
fn strings_are_unescaped() {
    assert_eq!(
        parsed(br#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#).unwrap().text(),
        "\"\\/\u{8}\u{c}\n\r\té😀"
    );
    assert_eq!(
        problem(r#""\ud83d""#),
        "Unpaired surrogate in a \\u escape: line 1 column 3 (char 2)"
    );
}

#[test]
fn very_deep_nesting_is_refused() {
    assert!(parsed(&[b"[".repeat(300), b"]".repeat(300)].concat()).is_ok());
    assert_eq!(
        problem("[".repeat(1_000_000)),
        "More than 300 levels of nesting: line 1 column 301 (char 300)"
    );
}

#[test]
fn millions_of_values_are_refused() {
    let values = |count: usize| format!("[{}0]", "0,".repeat(count - 2)).into_bytes();
    assert!(parsed(&values(4_000_000)).is_ok());
    assert_eq!(
        problem(String::from_utf8(values(4_000_001)).unwrap()),
        "More than 4000000 values: line 1 column 8000000 (char 7999999)"
    );
}

/// Measured on OpenStack Placement, except for the refusal of the lone surrogate itself.
#[test]
fn a_lone_surrogate_is_refused_after_all_other_errors() {
    let refuse = |value: &Json| Err(Error::InvalidBody(crate::wire::python::repr(value)));
    for (body, shown) in [
        (r#""a\ud800b""#, r"'a\ud800b'"),
        (r#"{"\udfff": 1}"#, r"{'\udfff': 1}"),
        (r#"["\ud83d\ud83d\ude00"]"#, "['\\ud83d\u{1f600}']"),
        (r#""\ud83d\u0041""#, r"'\ud83dA'"),
    ] {
        let refusal = read(body.as_bytes(), refuse).unwrap_err().to_string();
        assert_eq!(refusal, format!("JSON does not validate: {shown}"));
        assert!(
            problem(body).starts_with("Unpaired surrogate in a \\u escape"),
            "{body}"
        );
    }
    let overwritten = read(br#"{"name": "\ud800", "name": "x"}"#, |_| Ok(())).unwrap();
    assert_eq!(overwritten.field("name").text(), "x");
}
