//! The form of texts that name domains, types and workloads. Of texts that look alike only one is allowed, so that a
//! rack does not get two names.

use unicode_normalization::is_nfc;

use super::bad_request;
use super::native_keys::{IN_DOMAIN, NOT_IN_DOMAIN, WHERE, domain};
use super::query::Query;
use crate::error::{Error, Result};
use crate::search::{Domain, Expression};

/// The names of providers are OpenStack's, and may have any form.
const NAMES_OF_PROVIDERS: [&str; 2] = ["ProviderName", "NodeName"];

/// What is wrong with the form of a text. `None` if nothing is. MariaDB ignores spaces at the end of compared texts,
/// too.
pub fn mistake(text: &str) -> Option<&'static str> {
    if text.starts_with(is_blank) || text.ends_with(is_blank) {
        Some("begins or ends with white space")
    } else if text.contains(char::is_control) {
        Some("has a control character")
    } else if text.contains(is_invisible) {
        Some("has an invisible character")
    } else if !is_nfc(text) {
        Some("is not in normalization form C of Unicode")
    } else {
        None
    }
}

/// White space, and characters that look like none.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_invisible(c)
}

/// Soft hyphens, joiners, marks of the direction of writing, and spaces without a width.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
    )
}

/// The first mistake in a level of a domain's path.
pub fn mistake_of_path(path: &str) -> Option<&'static str> {
    path.split('/').find_map(mistake)
}

/// Refuses a text with a mistake. `member` is the path of the member, or the name of the parameter.
///
/// # Errors
/// [`Error::BadRequest`].
pub fn check(member: &str, text: &str) -> Result<()> {
    match mistake(text) {
        Some(mistake) => bad_request(format!("{member}: '{}' {mistake}.", text.escape_debug())),
        None => Ok(()),
    }
}

/// Checks the texts in the conditions of a query.
///
/// # Errors
/// [`Error::InvalidExpression`] with the column of the text, [`Error::BadRequest`] for a domain.
pub fn check_query(query: &Query) -> Result<()> {
    for (name, text) in query.pairs() {
        if name.starts_with(WHERE) {
            check_condition(name, text)?;
        } else if let (IN_DOMAIN | NOT_IN_DOMAIN, Some(domain)) = (name, domain(text))
            && let Some(mistake) = mistake_of_domain(&domain)
        {
            return bad_request(format!("{name}: '{}' {mistake}.", text.escape_debug()));
        }
    }
    Ok(())
}

/// The first mistake in the name of a dimension, or in a level of the path.
pub fn mistake_of_domain(domain: &Domain) -> Option<&'static str> {
    mistake(&domain.dimension).or_else(|| mistake_of_path(&domain.path))
}

/// Checks the texts in the condition of the parameter `name`.
///
/// # Errors
/// [`Error::InvalidExpression`] with the column of the text.
pub fn check_condition(name: &str, text: &str) -> Result<()> {
    let (expression, columns) = Expression::with_columns(text)?;
    for (comparison, column) in expression.comparisons().into_iter().zip(columns) {
        let is_of_name = NAMES_OF_PROVIDERS.contains(&&*comparison.name);
        let literal = comparison.text().filter(|_| !is_of_name);
        if let Some(mistake) = literal.and_then(mistake) {
            return Err(Error::InvalidExpression {
                context: format!("{name}: "),
                column,
                detail: format!("the text {mistake}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::candidates::read_list;

    #[test]
    fn found_p5_texts_that_look_alike_have_one_form() {
        for (text, wrong) in [
            ("fd:/a ", "white space"),
            ("\u{a0}a", "white space"),
            ("a\u{3000}", "white space"),
            ("a\u{200b}", "white space"),
            ("\u{feff}a", "white space"),
            ("a\u{ad}", "white space"),
            ("\u{180e}a", "white space"),
            ("a\u{ad}b", "invisible"),
            ("a\u{61c}b", "invisible"),
            ("a\u{180e}b", "invisible"),
            ("a\u{200b}b", "invisible"),
            ("a\u{200d}b", "invisible"),
            ("a\u{200f}b", "invisible"),
            ("a\u{202e}b", "invisible"),
            ("a\u{2060}b", "invisible"),
            ("a\u{2064}b", "invisible"),
            ("a\u{feff}b", "invisible"),
            ("a\tb", "control"),
            ("a\u{7f}", "control"),
            ("a\u{85}b", "control"),
            ("Ku\u{308}che", "normalization"),
            ("\u{212b}", "normalization"),
        ] {
            assert!(mistake(text).is_some_and(|found| found.contains(wrong)), "{text:?}");
        }
        for text in ["", "a b", "a\u{a0}b", "Küche", "東京", "fd:/dc1/r0", "\u{1f600}"] {
            assert_eq!(mistake(text), None, "{text:?}");
        }
        assert!(mistake_of_path("fd:/a /r0").is_some() && mistake_of_path("fd:/a/r0").is_none());
    }

    #[test]
    fn found_p5_a_query_with_such_a_text_is_refused_by_the_name_of_its_parameter() {
        for (query, start) in [
            (
                "where=Rack+==+%22a+%22",
                "where: Invalid expression at column 9: the text begins",
            ),
            (
                "where=a==1+%7C%7C+!(Rack+!=+%22Ku%CC%88che%22)",
                "where: Invalid expression at column 19: the text is not in",
            ),
            (
                "resources_D=DISK_GB:1&where_D=Rack==%22%C2%A0%22",
                "where_D: Invalid expression at column 7: the text begins",
            ),
            ("in_domain=fault:fd:/a+", "in_domain: 'fault:fd:/a ' begins"),
            ("in_domain=fault:fd:/a+/r0", "in_domain: 'fault:fd:/a /r0' begins"),
            ("not_in_domain=fault+:fd:/a", "not_in_domain: 'fault :fd:/a' begins"),
        ] {
            let refused = read_list(&format!("resources=VCPU:1&{query}")).unwrap_err();
            assert!(refused.to_string().starts_with(start), "{query}: {refused}");
        }
        // The name of a provider is OpenStack's.
        for query in [
            "where=NodeName+==+%22a+%22",
            "where=Rack+==+%22%22",
            "in_domain=fault:fd:/a/",
        ] {
            assert!(read_list(&format!("resources=VCPU:1&{query}")).is_ok(), "{query}");
        }
    }
}
