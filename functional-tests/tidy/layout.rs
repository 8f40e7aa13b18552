//! The rules of files: the head comment of a file, and the place of tests.

use super::lexer;
use super::source::{File, test_attribute};

/// The first line of a file says what the file is for.
pub fn head(file: &File) -> Option<String> {
    let first = file.text.lines().next().unwrap_or_default();
    let purpose = first
        .strip_prefix("//!")
        .is_some_and(|rest| rest.contains(char::is_alphanumeric));
    (!purpose).then(|| format!("{}: the first line is `//!` and says what the file is for", file.path))
}

/// Tests are in the module `tests` of the module that they test: inline, in `x/tests.rs`, or below `x/tests/`.
/// Elsewhere only two kinds of items may be for tests alone: functions that read private state, and re-exported names.
pub fn test_places(file: &File) -> Vec<String> {
    let code = lexer::code(&file.text, &lexer::rust(&file.text));
    let line = |at: usize| format!("{}:{}", file.path, code[..at].matches('\n').count() + 1);
    let of_tests = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    let (mut complaints, mut inline, mut from) = (Vec::new(), None, 0);
    while let Some(attribute) = test_attribute(&code[from..]) {
        let at = from + attribute.start;
        from += attribute.end;
        let item = code[from..].trim_start();
        let item = match item.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, rest)| rest).trim_start(),
            Some(rest) => rest.trim_start(),
            None => item,
        };
        if item.starts_with("mod tests {") {
            inline = inline.or(Some(at));
        }
        let allowed = ["mod tests;", "mod tests {", "use ", "fn "];
        if of_tests || !allowed.iter().any(|allowed| item.starts_with(allowed)) {
            complaints.push(format!(
                "{}: code that only tests need is in their module `tests`, without an attribute of its own",
                line(at)
            ));
        }
    }
    for test in ["#[test]", "#[tokio::test", "#[actix_web::test", "proptest! {"] {
        for (at, _) in code.match_indices(test) {
            if !of_tests && inline.is_none_or(|inline| at < inline) {
                complaints.push(format!("{}: a test outside of the module `tests`", line(at)));
            }
        }
    }
    complaints
}
