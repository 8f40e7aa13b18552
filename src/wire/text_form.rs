//! The form of texts that name domains, types and workloads. Of texts that look alike only one is allowed, so that a
//! rack does not get two names.

use unicode_normalization::is_nfc;

use super::bad_request;
use crate::error::{Error, Result};
use crate::search::{Comparison, Domain, Expression, Request};

/// The names of providers are OpenStack's, and may have any form.
const NAMES_OF_PROVIDERS: [&str; 2] = ["ProviderName", "NodeName"];

/// What is wrong with the form of a text. `None` if nothing is. MariaDB ignores spaces at the end of compared texts,
/// too.
pub fn mistake(text: &str) -> Option<&'static str> {
    if text.starts_with(is_blank) || text.ends_with(is_blank) {
        Some("begins or ends with white space")
    } else if text.contains(char::is_control) {
        Some("has a control character")
    } else if !is_nfc(text) {
        Some("is not in normalization form C of Unicode")
    } else {
        None
    }
}

/// White space, and spaces without a width.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
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
/// [`Error::BadQueryValue`] with the name of the parameter.
pub fn check_query(request: &Request) -> Result<()> {
    check_condition("", &request.host.condition)?;
    for group in &request.groups {
        check_condition(&group.suffix, &group.condition)?;
    }
    let domains = [
        ("in_domain", &request.host.in_domains),
        ("not_in_domain", &request.host.not_in_domains),
    ];
    for (name, domains) in domains {
        for Domain { dimension, path } in domains {
            if let Some(mistake) = mistake(dimension).or_else(|| mistake_of_path(path)) {
                return Err(refused(name, &format!("{dimension}:{path}"), mistake));
            }
        }
    }
    Ok(())
}

fn check_condition(suffix: &str, condition: &Expression) -> Result<()> {
    for comparison in condition.comparisons() {
        let text = comparison.text().filter(|_| !is_of_name(comparison));
        if let Some((text, mistake)) = text.and_then(|text| Some((text, mistake(text)?))) {
            return Err(refused(&format!("where{suffix}"), text, mistake));
        }
    }
    Ok(())
}

fn is_of_name(comparison: &Comparison) -> bool {
    NAMES_OF_PROVIDERS.contains(&&*comparison.name)
}

fn refused(name: &str, text: &str, mistake: &str) -> Error {
    Error::BadQueryValue {
        detail: format!("{name}: '{}' {mistake}.", text.escape_debug()),
    }
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
            ("where=Rack+==+%22a+%22", "where: 'a '"),
            ("where=a==1+%7C%7C+!(Rack+!=+%22Ku%CC%88che%22)", "where: 'Ku"),
            ("resources_D=DISK_GB:1&where_D=Rack==%22%C2%A0%22", "where_D: "),
            ("in_domain=fault:fd:/a+", "in_domain: 'fault:fd:/a '"),
            ("in_domain=fault:fd:/a+/r0", "in_domain: 'fault:fd:/a /r0'"),
            ("not_in_domain=fault+:fd:/a", "not_in_domain: 'fault :fd:/a'"),
        ] {
            let refused = read_list(&format!("resources=VCPU:1&{query}")).unwrap_err();
            assert!(matches!(refused, Error::BadQueryValue { .. }), "{query}: {refused:?}");
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
