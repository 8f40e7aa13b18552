//! Parameters of the native API alone in a query for candidates: conditions on hosts and providers.

use std::sync::Arc;

use super::query::Query;
use super::uuid;
use crate::error::{Error, Result};
use crate::search::{Domain, Expression, HOST_DIMENSION, domain_path};

/// With a suffix, a condition on the provider of the group; without a suffix, a condition on the host.
pub const WHERE: &str = "where";
/// A domain of the host.
pub const IN_DOMAIN: &str = "in_domain";
/// A domain in which the host is not.
pub const NOT_IN_DOMAIN: &str = "not_in_domain";

/// The expression of the parameter with this name.
///
/// # Errors
/// [`Error::InvalidExpression`].
pub fn condition(name: &str, text: &str) -> Result<Arc<Expression>> {
    let expression = text.parse().map_err(|error| in_context(error, name))?;
    Ok(Arc::new(expression))
}

/// The error with the place of the expression.
fn in_context(mut error: Error, place: &str) -> Error {
    if let Error::InvalidExpression { context, .. } = &mut error {
        *context = format!("{place}: {context}");
    }
    error
}

/// The domain of a text `dimension:path`; `None` if the text has another form.
pub fn domain(text: &str) -> Option<Domain> {
    let (dimension, path) = text.split_once(':')?;
    let path = match dimension {
        HOST_DIMENSION => uuid::canonical(path)?,
        _ => domain_path(path).to_owned(),
    };
    let has_parts = !dimension.is_empty() && !path.is_empty();
    has_parts.then(|| Domain {
        dimension: dimension.into(),
        path: path.into(),
    })
}

/// Refuses a query string in which `&&` was meant to be part of an expression.
///
/// # Errors
/// [`Error::InvalidExpression`].
pub fn check_ampersands(raw: &str) -> Result<()> {
    let parts: Vec<&str> = raw.split('&').collect();
    for parts in parts.windows(3) {
        let [part, "", _] = parts else { continue };
        let Some((name, _)) = part.split_once('=').filter(|(name, _)| name.starts_with(WHERE)) else {
            continue;
        };
        let parsed = Query::parse(part)?;
        let column = parsed.last(name).map_or(0, |text| text.chars().count()) + 1;
        return Err(Error::InvalidExpression {
            context: format!("{name}: "),
            column,
            detail: "the expression ends here, because & separates parameters; write %26%26 for &&".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Request;
    use crate::wire::candidates::{GivenQuery, read_list};

    fn read_query(query: &str) -> Result<Request> {
        read_list(query).map(|list| list.request)
    }

    fn refusal(query: &str) -> String {
        read_query(&format!("resources=VCPU:1&{query}"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn where_without_a_suffix_is_for_the_host_and_with_one_for_its_group() {
        let request =
            read_query("resources=VCPU:1&where=a+==+1+%26%26+b==true&resources_D=DISK_GB:1&where_D=kind==ssd");
        let request = request.unwrap();
        assert_eq!(request.host.condition.to_string(), "a == 1 && b == true");
        let conditions = request
            .groups
            .iter()
            .map(|group| (&*group.suffix, group.condition.to_string()));
        assert_eq!(
            conditions.collect::<Vec<_>>(),
            [("", String::new()), ("_D", "kind == ssd".to_owned())]
        );
        assert!(request.host.only_up);
    }

    #[test]
    fn where_alone_adds_no_group() {
        let request = read_query("resources_A=VCPU:1&where=a==1").unwrap();
        assert_eq!(request.groups.len(), 1);
        assert!(refusal("where_B=a==1").contains("same_subtree"));
    }

    #[test]
    fn a_wrong_expression_is_refused_with_its_parameter_and_column() {
        let invalid = "Invalid expression at column";
        assert!(refusal("where=5+<=+a").starts_with(&format!("where: {invalid} 1: ")));
        assert!(refusal("resources_A=VCPU:1&where_A=a+==").starts_with(&format!("where_A: {invalid} 5: ")));
        assert_eq!(
            refusal("where=a&where=b"),
            "where occurs more than once; once is allowed."
        );
    }

    #[test]
    fn an_ampersand_that_is_not_encoded_is_explained() {
        let refused = refusal("where=a%20==%201&&b==2");
        assert!(
            refused.starts_with("where: Invalid expression at column 7: "),
            "{refused}"
        );
        assert!(refused.contains("%26%26"));
        assert!(read_query("resources=VCPU:1&where=a==1&").is_ok());
    }

    #[test]
    fn domains_have_a_dimension_and_a_path_and_may_be_repeated() {
        let query = "in_domain=fault:fd:/dc1/&in_domain=fault:fd:/dc2&not_in_domain=upgrade:UD1";
        let request = read_query(&format!("resources=VCPU:1&{query}")).unwrap();
        let domain = |dimension: &str, path: &str| Domain {
            dimension: dimension.into(),
            path: path.into(),
        };
        assert_eq!(
            request.host.in_domains,
            [domain("fault", "fd:/dc1"), domain("fault", "fd:/dc2")]
        );
        assert_eq!(request.host.not_in_domains, [domain("upgrade", "UD1")]);
        let host = "AAAAAAAA-0000-4000-8000-000000000001";
        let request = read_query(&format!("resources=VCPU:1&not_in_domain=host:{host}")).unwrap();
        assert_eq!(
            request.host.not_in_domains,
            [domain("host", &host.to_ascii_lowercase())]
        );
        for wrong in [
            "in_domain=",
            "in_domain=fault",
            "not_in_domain=:UD1",
            "in_domain=fault:",
            "in_domain=fault:/",
            "in_domain=host:first",
        ] {
            assert!(refusal(wrong).contains("dimension:path"), "{wrong}");
        }
    }

    #[test]
    fn an_object_has_plain_texts() {
        let object = r#"{"resources": "VCPU:1", "where": "a == 1 && b == \"x y\"", "in_domain": "fault:/a"}"#;
        let query: GivenQuery = serde_json::from_str(object).unwrap();
        let request = query.read::<1>("query").unwrap();
        assert_eq!(request.host.condition.to_string(), "a == 1 && b == \"x y\"");
    }

    #[test]
    fn routes_of_openstack_do_not_know_these_parameters() {
        for native in ["where=a==1", "in_domain=fault:/a", "not_in_domain=fault:/a"] {
            let query = format!("resources=VCPU:1&{native}");
            let refused = crate::wire::allocation_candidates::read_list(crate::version::Version::MAX, &query);
            assert!(matches!(refused, Err(Error::InvalidQuery(_))), "{native}");
        }
    }
}
