//! Tests of the INI dialect. All expectations about oslo.config were measured with oslo.config.

use super::*;

fn read(text: &str) -> Result<Vec<IniEntry>, ConfigError> {
    let (entries, errors) = parse(Path::new("x.conf"), text);
    errors.into_iter().next().map_or(Ok(entries), Err)
}

#[test]
fn every_bad_line_is_reported_until_a_section_is_lost() {
    let lines = |text: &str| -> Vec<usize> {
        let line = |error| match error {
            ConfigError::Syntax { line, .. } => line,
            other => panic!("{other}"),
        };
        parse(Path::new("x.conf"), text).1.into_iter().map(line).collect()
    };
    assert_eq!(lines("[a]\nx\n= 1\ny = 1\nz"), [2, 3, 5]);
    assert_eq!(lines("[a]\nx\n[b\ny"), [2, 3]);
    assert_eq!(lines("x = 1\ny"), [1]);
}

fn values(text: &str) -> Vec<String> {
    read(&format!("[DEFAULT]\n{text}"))
        .unwrap()
        .into_iter()
        .map(|entry| entry.value)
        .collect()
}

#[test]
fn values_are_read_as_oslo_config_reads_them() {
    for (line, value) in [
        ("s : a=b", "a=b"),
        ("s = a:b", "a:b"),
        ("s:a", "a"),
        ("s=", ""),
        ("s = \"a b \"", "a b "),
        ("s = 'a'", "a"),
        ("s = \"", ""),
        ("s = \"a", "\"a"),
        ("s = a\"", "a\""),
        ("s = \"a'", "\"a'"),
        ("s = 'a' 'b'", "a' 'b"),
        ("s = a # c", "a # c"),
        ("s = a ; c", "a ; c"),
        ("s = a\n  b\n\tc", "a\nb\nc"),
        ("s =\n  b", "\nb"),
        ("s = a\n  # b", "a\n# b"),
        ("s = \"a\n b\"", "\"a\nb\""),
    ] {
        assert_eq!(values(line), [value], "{line:?}");
    }
}

#[test]
fn every_kind_of_newline_ends_a_line() {
    assert_eq!(values("s=a\rb=1\r\ni=2\r\n"), ["a", "1", "2"]);
}

#[test]
fn an_entry_has_its_section_and_first_line() {
    let entries = read("# c\n[Api]\nauth_strategy = noauth2\n; c\n[default]\ns = a\n b\ns = c\n").unwrap();
    let seen: Vec<_> = entries
        .iter()
        .map(|e| (e.section.as_str(), e.key.as_str(), e.line))
        .collect();
    assert_eq!(
        seen,
        [("api", "auth_strategy", 3), ("default", "s", 6), ("default", "s", 8)]
    );
}

#[test]
fn a_section_name_is_in_lower_case_except_default() {
    let entries = read("[DEFAULT]\na=1\n[ X ]\na=2").unwrap();
    assert_eq!(entries[0].section, "DEFAULT");
    assert_eq!(entries[1].section, " x ");
}

#[test]
fn what_oslo_config_refuses_is_refused_with_its_line() {
    for (text, line, part) in [
        ("[DEFAULT]\ns = a\n\n b", 4, "indented"),
        ("[DEFAULT]\ns = a\n# c\n b", 4, "indented"),
        ("[DEFAULT]\n  # x\ns = 1", 2, "indented"),
        ("[DEFAULT]\ns", 2, "neither"),
        ("[DEFAULT]\n= 3", 2, "name is missing"),
        ("\ns = 1", 2, "[section]"),
        ("[DEFAULT", 1, "end with ]"),
        ("[DEFAULT] # c", 1, "end with ]"),
        ("[]", 1, "needs a name"),
        ("\u{feff}[DEFAULT]", 1, "neither"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("x.conf:{line}: ")), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
